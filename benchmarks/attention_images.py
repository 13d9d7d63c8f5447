"""Draws the picture of attention in docs/SLIDES.md, by the page's code: `python benchmarks/attention_images.py`."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from images import DOCS, write_cells

_SECTION, _LONGEST = "### Multiple-instance learning", 720


def main() -> None:
    page = (DOCS / "SLIDES.md").read_text(encoding="utf-8")
    section = re.split(r"\n### ", page[page.index(_SECTION) + 4 :])[0]
    names: dict[str, Any] = {}
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            head = "from pathlib import Path\nimport augrecipes as ar\n"
            exec(head + "\n".join(re.findall(r"```python\n(.*?)```", section, re.DOTALL)), names)
            rows = [[*slide(names, *result)] for result in names["results"][:2][::-1]]
        finally:
            os.chdir(here)
    write_cells(DOCS / "attention.jpg", "Where a model of labels alone looks", rows)


def slide(names: dict[str, Any], bag: dict[str, Any], logits: Any, attention: Any) -> Any:
    """A slide with the tiles that were read, and with the attention that each of them has."""
    picture, level, side = names["slides"].table.overview(bag["index"], _LONGEST)
    scale, tiles, weights = picture.shape[1] / level.width, picture.copy(), np.zeros(picture.shape[:2], np.float32)
    for (x, y), weight in zip(bag["coords"].tolist(), attention.tolist(), strict=True):
        (left, top), (right, bottom) = ((round(x * scale), round(y * scale)) for x, y in ((x, y), (x + side, y + side)))
        cv2.rectangle(tiles, (left, top), (right - 1, bottom - 1), (40, 60, 120), 1, cv2.LINE_AA)
        weights[top:bottom, left:right] = weight * len(attention)
    # The scale goes from twice a tile's share of attention to eight times that.
    level_of = cv2.GaussianBlur(np.clip((weights - 2) / 6, 0, 1), (0, 0), 0.2 * side * scale)[..., None]
    colours = cv2.applyColorMap(np.uint8(255 * level_of), cv2.COLORMAP_INFERNO)[..., ::-1]
    grey = cv2.cvtColor(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB)
    heat = np.uint8(grey * (1 - 0.85 * level_of) + colours * 0.85 * level_of)
    chance = float(logits.softmax(0)[1])
    label = names["slides"].classes[bag["label"]]
    yield f"{bag['bag']}: {label}, {len(attention)} tiles", tiles
    yield f"attention; tumour with {chance:.0%}", heat


if __name__ == "__main__":
    main()
