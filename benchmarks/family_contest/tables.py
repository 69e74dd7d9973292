def markdown(record): return ""
