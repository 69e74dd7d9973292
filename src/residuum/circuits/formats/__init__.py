"""The files that knowledge compilers write: one reader for each format."""
