"""Rule files that ship with the package."""
