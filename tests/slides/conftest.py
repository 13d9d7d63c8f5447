"""Slides are tested where there are libraries that read and write them."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("openslide") and find_spec("tifffile") else ["test_*.py"]
