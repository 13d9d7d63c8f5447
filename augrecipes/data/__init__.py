"""Torch Datasets over image files, and the loader that turns them into reproducible batches."""
