"""What classes make of the number that fills pixels."""

from __future__ import annotations

# Of one number they fill the first channel alone, and the others with 0.
FILL_FIRST = frozenset(
    {"ElasticTransform", "GridDistortion", "OpticalDistortion", "Perspective", "PiecewiseAffine", "ThinPlateSpline"}
)
