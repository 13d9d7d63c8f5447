"""What runs on the machines of a Ray cluster: one part of a packing.

Ray imports this before it calls anything, so nothing large is imported here: torch, which no part needs, would come
along and take longer than all the rest.
"""

from __future__ import annotations

import os
import pickle
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from augrecipes.data.tables.packed_table import Unreadable
    from augrecipes.pack.packing import Packing
    from augrecipes.pack.store_plan import StorePlan


class Sent(NamedTuple):
    """What every task is sent.

    Attributes:
        pickled: the packing of all parts; opened once in each process, for as many parts as it writes.
        here: the folder that relative paths begin in.
        on_error: `skip` or `raise`.
    """

    pickled: bytes
    here: str
    on_error: str


def get_ready() -> None:
    """Import what a part needs, so that a process has it when its first part comes."""
    from augrecipes.compat.guard import albumentations, without_torch

    without_torch()
    albumentations()
    import cv2

    import augrecipes.pack.run  # noqa: F401

    cv2.setNumThreads(0)


def write_one(sent: Sent, number: int, of: int) -> tuple[Unreadable, ...]:
    """Write one part; its inputs without pixels."""
    get_ready()
    from dataclasses import replace

    from augrecipes.pack.part import PackPart
    from augrecipes.pack.write import write_part

    if os.path.isdir(sent.here):  # noqa: PTH112
        os.chdir(sent.here)  # paths of data may be relative
    packing, whole = _opened(sent.pickled)
    part = PackPart(number, of)
    return write_part(replace(packing, part=part), whole, part, 0, sent.on_error, None)


@lru_cache(maxsize=1)
def _opened(pickled: bytes) -> tuple[Packing, StorePlan]:
    """The packing, and what its store will say, for which all data are looked through."""
    from augrecipes.pack.store_plan import store_plan_of

    packing: Packing = pickle.loads(pickled)
    return packing, store_plan_of(packing)
