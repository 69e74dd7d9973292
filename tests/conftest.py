"""Standing here, this file puts the shared strategies beside it on the import path."""
