"""The experiments of the paper: their data, and later their networks, protocols and measures."""
