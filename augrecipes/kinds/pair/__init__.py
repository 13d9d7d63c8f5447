"""Recipes of kind pair: one scene on several grids."""
