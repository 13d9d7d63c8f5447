"""The samples themselves, one item after another, each at a multiple of 64 bytes: read by mapping the file."""

from augrecipes.sources.store.format import StoreFormat

FORMAT = StoreFormat(name="raw", suffix=".bin", alignment=64)
