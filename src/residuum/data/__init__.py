"""Rule files and printed figures that ship with the package."""
