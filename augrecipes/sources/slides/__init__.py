"""Whole-slide images: pyramids of gigabytes, of which windows are read. The extra `slides` brings what opens them."""
