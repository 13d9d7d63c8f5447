"""Bytes of image files in, arrays out: headers, pixels, windows of pixels, masks. Without torch."""
