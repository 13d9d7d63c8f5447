"""Recipes of kind views: several views of one image, for self-supervised learning by comparison."""
