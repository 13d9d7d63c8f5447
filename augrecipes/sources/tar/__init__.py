"""Tar archives of samples in WebDataset's layout; see `augrecipes.sources.tar.shards`."""
