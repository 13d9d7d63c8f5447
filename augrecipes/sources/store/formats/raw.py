"""The samples themselves, one item after another, each at a multiple of 64 bytes: read by mapping the file."""

from augrecipes.sources.store.format import Format

FORMAT = Format(name="raw", suffix=".bin", alignment=64)
