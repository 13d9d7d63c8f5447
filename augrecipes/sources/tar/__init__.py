"""Tar archives whose files are samples, as WebDataset lays them out; `augrecipes.sources.tar.shards` is the way in."""
