"""What a compiled rule can be asked beside its penalty."""
