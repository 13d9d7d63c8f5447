"""Recipes of kind image: one image, and what lies on it."""
