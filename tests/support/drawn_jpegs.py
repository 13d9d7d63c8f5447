"""JPEGs of every kind that region decoding tells apart, small and full of detail."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from hypothesis import strategies as st
from PIL import Image

from support import encoded_pictures as pictures

SAMPLINGS = {"4:4:4": 0x111111, "4:2:2": 0x211111, "4:2:0": 0x221111, "4:4:0": 0x121111, "4:1:1": 0x411111}


@dataclass(frozen=True)
class Jpeg:
    """What is encoded, and how; `components` are 1 for grey, 3 for colour, 4 for CMYK."""

    height: int
    width: int
    seed: int = 0
    components: int = 3
    quality: int = 90
    sampling: str = "4:2:0"
    restart: int = 0
    progressive: bool = False
    turn: int = 1

    @property
    def data(self) -> bytes:
        draw = np.random.default_rng(self.seed)
        size = (self.width, self.height)
        coarse = draw.integers(0, 256, (self.height // 4 + 1, self.width // 4 + 1, 4), np.uint8)
        noise = draw.integers(0, 40, (self.height, self.width, 4), np.uint8)
        image = cv2.add(cv2.resize(coarse, size, interpolation=cv2.INTER_LINEAR), noise)
        if self.components == 4:
            data = pictures.encoded(Image.fromarray(image, "CMYK"), "JPEG", quality=self.quality)
        else:
            options = [cv2.IMWRITE_JPEG_QUALITY, self.quality, cv2.IMWRITE_JPEG_RST_INTERVAL, self.restart]
            options += [cv2.IMWRITE_JPEG_PROGRESSIVE, int(self.progressive)]
            if self.components == 3:
                options += [cv2.IMWRITE_JPEG_SAMPLING_FACTOR, SAMPLINGS[self.sampling]]
            image = np.ascontiguousarray(image[:, :, : self.components])
            data = cv2.imencode(".jpg", image, options)[1].tobytes()
        block = pictures.exif(self.turn)
        return data[:2] + b"\xff\xe1" + (len(block) + 2).to_bytes(2, "big") + block + data[2:]


JPEGS = st.builds(
    Jpeg,
    height=st.one_of(st.integers(1, 9), st.integers(1, 90)),
    width=st.one_of(st.integers(1, 9), st.integers(1, 90)),
    seed=st.integers(0, 2**16),
    components=st.sampled_from((3, 3, 3, 1, 4)),
    quality=st.sampled_from((10, 50, 90, 100)),
    sampling=st.sampled_from(sorted(SAMPLINGS)),
    restart=st.sampled_from((0, 0, 1, 2, 3, 5, 12)),
    progressive=st.sampled_from((False,) * 7 + (True,)),
    turn=st.integers(1, 8),
)
