"""The files of views are those of images."""

from augrecipes.kinds.image.reader import TABLE, find

__all__ = ["TABLE", "find"]
