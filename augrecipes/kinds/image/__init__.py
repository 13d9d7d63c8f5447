"""Recipes of kind image: one picture, and what lies on it."""
