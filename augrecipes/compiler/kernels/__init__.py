"""Fused transforms: what plain albumentations would do, with fewer passes over the pixels."""
