"""Whole-slide images: windows of pyramids of gigabytes. Opening them needs the extra `slides`."""
