"""For those peers that take a batch at once, as float32 tensors of images of one size."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import torch
from comparison import BATCH, Batch, Side

# Larger arrays come fresh from the system, page by page, however glibc's allocator is tuned: more at once is slower.
_KEPT_BYTES = 32 * 2**20


def in_parts(
    chain: Callable[[torch.Tensor], torch.Tensor],
    read: Callable[[int], np.ndarray],
    count: int,
    at_once: int | None = None,
) -> Side:
    """A pass is one batch, in parts; a part is gathered as uint8, then turned to floats as a whole.

    Args:
        chain: what makes a part of the batch of N×C×H×W floats, 0..1.
        read: an image by its number, uint8 H×W×C.
        count: how many images there are.
        at_once: images in a part; without it, as many as memory that is kept can hold.
    """
    turn = itertools.count()
    at_once = at_once or min(BATCH, 1 << int(np.log2(max(1, _KEPT_BYTES // (4 * read(0).size)))))

    @torch.no_grad()
    def part() -> torch.Tensor:
        pixels = np.stack([read(next(turn) % count) for _ in range(at_once)])
        return chain(torch.from_numpy(pixels).permute(0, 3, 1, 2).to(torch.float32).mul_(1 / 255))

    def run() -> Iterator[Batch]:
        yield {"image": torch.cat([part() for _ in range(BATCH // at_once)])}

    return Side("", f"{at_once} at once", run)
