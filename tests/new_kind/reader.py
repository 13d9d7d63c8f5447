"""The files of views are those of images."""

from augrecipes.kinds.image.reader import TABLE, alone, find

__all__ = ["TABLE", "alone", "find"]
