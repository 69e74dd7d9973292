"""Text chunking on CoNLL-2000: corpora, tags and their rules, taggers, scores, printed figures."""
