"""Pictures and masks without loss, about as large as PNGs: tiles that are compressed, and read one by one."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from augrecipes.errors import DataError, StoreError
from augrecipes.images import lossless
from augrecipes.sources.store.format import StoreFormat


def _encode(array: NDArray[Any], quality: int) -> bytes:
    del quality  # nothing is lost
    try:
        return lossless.encode(array)
    except ImportError as error:
        raise StoreError(f"{error}: pip install 'augrecipes[lossless]'") from None


def _decode(data: memoryview, channels: int) -> NDArray[Any]:
    del channels  # it says them itself
    try:
        return lossless.LosslessPicture(data, checked=True).array()
    except ImportError as error:
        raise StoreError(f"{error}: pip install 'augrecipes[lossless]'") from None
    except DataError as error:
        raise ValueError(error.reason) from None


FORMAT = StoreFormat(
    name="lossless",
    suffix=".tiles",
    alignment=1,
    encode=_encode,
    decode=_decode,
    lossless=True,
    undecoded=lossless.LosslessPicture,
)
