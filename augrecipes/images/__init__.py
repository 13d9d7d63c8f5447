"""Readers for image files: headers, pixels, windows, masks. Free of torch."""
