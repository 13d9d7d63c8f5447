"""The files of views are looked at as those of images."""

from augrecipes.kinds.image.audit import check

__all__ = ["check"]
