"""The chunking study: chunk tags of words, from labels and from rules between neighbours."""
