"""torch Datasets over image files and other sources, and the loader that makes reproducible batches of them."""
