"""Test-time augmentation: an image split into views, and predictions on them merged on the image's own grid."""
