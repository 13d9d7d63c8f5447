"""One file a picture format: what its header says, and how its pixels are had. See `augrecipes.sources.headers`."""
