"""Recipes of kind views: several views of one image, for networks that learn by comparing them."""
