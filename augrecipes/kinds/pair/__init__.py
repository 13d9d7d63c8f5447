"""Recipes of kind pair: one scene on several grids, such as low and high resolution."""
