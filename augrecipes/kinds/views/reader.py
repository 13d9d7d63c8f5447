"""The files of views are those of images, and are looked at as these."""

from augrecipes.kinds.image.reader import TABLE, check, find

__all__ = ["TABLE", "check", "find"]
