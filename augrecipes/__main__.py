"""`python -m augrecipes`."""

from __future__ import annotations

from augrecipes.cli import main

if __name__ == "__main__":
    main()
