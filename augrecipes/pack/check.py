"""What commands do with stores beside packing: comparing, converting, and clearing up what was never sent."""

import os

from augrecipes.sources.remote import place_of
from augrecipes.sources.store import index
from augrecipes.sources.store.convert import convert_store
from augrecipes.sources.store.disk import naming
from augrecipes.sources.store.sending import UNSENT, Unsent
from augrecipes.sources.store.verify import Fault, verify_store

__all__ = ["UNSENT", "Fault", "Unsent", "convert_store", "place_of", "remains", "verify_store"]


def remains(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder, here or elsewhere, holds anything by which a store is known, damaged as it may be."""
    place = place_of(folder)
    with naming(place):
        return any((place / name).exists() for name in (index.NAME, index.COLUMNS))
