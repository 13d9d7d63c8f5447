"""How many batches may be read ahead: as many as fit into so many bytes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

# What is read ahead at most unless `prefetch_bytes` says otherwise: eight batches of 256 float32 pictures of 224².
MOST_BYTES = 1 << 30
# ... and at most this part of the machine's memory, or of what a container may use.
_PART_OF_MEMORY = 1 / 16
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


class Budget:
    """Says how many batches may be under way: being read, or waiting to be handed out.

    Before the first batch is seen that is `first`; then as many as fit into `limit` bytes, were each as large as the
    largest so far, but at least one, and at most `most`.

    Args:
        limit: bytes.
        most: batches.
        first: batches, while none has been seen.

    Attributes:
        largest: bytes of the largest batch so far.

    >>> budget = Budget(1000, most=8)
    >>> budget.allowed()
    1
    >>> budget.saw({"image": torch.zeros(300, dtype=torch.uint8)})
    >>> budget.allowed()
    3
    """

    def __init__(self, limit: int, most: int, *, first: int = 1) -> None:
        self.limit, self.most, self.first = limit, most, first
        self.largest: int | None = None

    def allowed(self) -> int:
        """Batches that may be under way now."""
        if self.largest is None:
            return min(self.first, self.most)
        return max(1, min(self.most, self.limit // max(self.largest, 1)))

    def saw(self, batch: Any) -> None:
        """A batch has arrived."""
        self.largest = max(self.largest or 0, size_of(batch))


def size_of(batch: Any) -> int:
    """Bytes of the tensors and arrays in a batch, however they are nested.

    >>> size_of({"image": torch.zeros(2, 3), "more": [np.zeros(4, np.uint8)], "path": ["a"]})
    28
    """
    if isinstance(batch, torch.Tensor):
        return batch.element_size() * batch.nelement()
    if isinstance(batch, np.ndarray):
        return batch.nbytes
    if isinstance(batch, Mapping):
        return sum(map(size_of, batch.values()))
    if isinstance(batch, str | bytes | int | float) or not isinstance(batch, Sequence):
        return 0
    if batch and isinstance(batch[0], str) and isinstance(batch[-1], str):  # names of files: of a few bytes, but many
        return 0
    return sum(map(size_of, batch))


def default_bytes() -> int:
    """What may be read ahead where the user does not say: little beside what the machine, or the container, has."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return MOST_BYTES
    for name in _LIMITS:
        try:
            text = Path(name).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if text.isdigit():
            memory = min(memory, int(text))
    return min(MOST_BYTES, int(memory * _PART_OF_MEMORY))
