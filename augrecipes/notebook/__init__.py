"""Notebook displays of this package's objects: self-contained HTML pages, and sheets of images."""
