"""Views are made of image files: listing and checks are those of kind image."""

from augrecipes.kinds.image.reader import TABLE, check, find

__all__ = ["TABLE", "check", "find"]
