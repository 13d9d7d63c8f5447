"""`python -m augrecipes`."""

from augrecipes.cli import main

if __name__ == "__main__":
    main()
