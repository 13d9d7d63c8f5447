"""What resampling costs on uint8 RGB, in nanoseconds: enough to choose between two ways to the same picture.

The constants are what `benchmarks/resampling.py` measures. They are the same everywhere, so that a sample is.
"""

from __future__ import annotations

# cv2.resize weighs rows, then columns: each row of the picture that is needed once, each pixel of the result once.
_ROW, _COLUMN = 0.67, 0.7
_HALVED = 1.1  # a pixel of the result, at 2 : 1 exactly
# cv2.warpAffine on four channels, and what is read made RGBA, and the result RGB again.
_WARPED, _READ = 2.6, 0.25
# Labels: one channel, the nearest pixel.
_LABEL_RESIZED, _LABEL_WARPED = 0.4, 3.4
_CALL = 3000.0
CONSTANTS = _ROW, _COLUMN, _HALVED, _WARPED, _READ, _CALL
OF_LABELS = 0.0, _LABEL_RESIZED, _LABEL_RESIZED, _LABEL_WARPED, 0.0, _CALL  # the same of labels
DECODED = 3.0  # a pixel of a JPEG, in all rows down to the last that is needed


def of_resize(rows: int, columns: int, height: int, width: int, *, labels: bool = False) -> float:
    """`rows` × `columns` px resized to `height` × `width`; of a mask, where they are labels.

    >>> of_resize(512, 512, 256, 256) < of_resize(500, 500, 256, 256)
    True
    """
    if labels:
        return _CALL + _LABEL_RESIZED * height * width
    if rows == 2 * height and columns == 2 * width:
        return _CALL + _HALVED * height * width
    return _CALL + width * (_ROW * min(rows, 2 * height) + _COLUMN * height)


def of_warp(rows: int, columns: int, height: int, width: int, *, labels: bool = False) -> float:
    """`height` × `width` px sampled from a part of `rows` × `columns`.

    >>> of_resize(300, 300, 200, 200) < of_warp(300, 300, 200, 200)
    True
    """
    if labels:
        return _CALL + _LABEL_WARPED * height * width
    return _CALL + _WARPED * height * width + _READ * rows * columns
