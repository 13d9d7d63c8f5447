"""Names of tar archives, told from others for the command line, before anything that takes long is imported."""

from augrecipes.sources.tar.named import is_archive

__all__ = ["is_archive"]
