"""Test-time augmentation: splits an image into views, and merges predictions on them on the image's grid."""
