"""Kernels in C: `build.py` builds them, `library.py` loads them; each stands beside the Python that defines it."""
