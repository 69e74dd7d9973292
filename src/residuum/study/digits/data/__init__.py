"""The images of the digits study, the sets drawn from them, and batches."""
