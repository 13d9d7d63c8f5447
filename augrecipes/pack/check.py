"""A store compared with its checksums, for the command line."""

from pathlib import Path

from augrecipes.sources.store import index
from augrecipes.sources.store.verify import Fault, verify_store

__all__ = ["Fault", "remains", "verify_store"]


def remains(folder: Path) -> bool:
    """Whether a folder holds anything by which a store is known, damaged as it may be."""
    return any((folder / name).exists() for name in (index.NAME, index.COLUMNS))
