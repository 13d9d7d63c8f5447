"""What resampling costs on uint8 RGB, in nanoseconds: enough to choose between two ways to the same image.

The constants were measured once, and are the same everywhere, so that a sample is.
"""

from __future__ import annotations

# cv2.resize weighs rows, then columns: each row of the image that is needed once, each pixel of the result once.
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
