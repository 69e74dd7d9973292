"""The data of tasks: read from published files, checked, or generated where that is enough."""
