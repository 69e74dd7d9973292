"""`python -m residuum`: the same as the `residuum` command."""

from residuum.cli import main

if __name__ == "__main__":
    main()
