"""Pipelines of torchvision.transforms, version 2 or 1: objects, what they print, and configs that name them."""
