"""Kernels in C: `build.py` builds them, `kernels.py` loads them; each stands beside the Python that defines it."""
