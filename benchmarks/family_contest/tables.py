def markdown(record):
    return ""
