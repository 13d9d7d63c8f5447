"""Recipes of kind image: one image with its mask, boxes and keypoints."""
