"""Pipelines of MMDetection, MMSegmentation and the other MM frameworks: their own transforms around `Albu`."""
