"""All that a store holds, however its files are cut: what two stores are compared by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from augrecipes.store import open_store


def all_of(path: Any) -> Any:
    """Everything in the store at `path` but where its bytes lie."""
    store = open_store(path)
    columns = {name: list(column) if len(column) else [] for name, column in store.columns.items()}
    items = [[store.array(name, k).tobytes() for k in range(store.count(name))] for name in store.targets]
    rows = [[list(store.items(name, row)) for row in range(store.rows)] for name in store.targets]
    return store.about, store.format, store.kind, str(columns), items, rows


def files_in(folder: Path) -> dict[str, bytes]:
    """Every file in a folder and the folders in it."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
