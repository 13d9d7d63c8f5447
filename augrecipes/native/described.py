"""What of augrecipes runs as native code here, in a few words for people and records."""

from __future__ import annotations

from augrecipes.native.build import processor
from augrecipes.native.kernels import library
from augrecipes.native.libjpeg import codec

# What people call the instruction sets; on ARM the least one has NEON.
_NAMES = {"v3": "AVX2", "v4": "AVX-512"} | ({"base": "NEON"} if processor() == "arm64" else {})


def described() -> str:
    """Which kernels run, and what decodes parts of JPEGs where libjpeg-turbo does.

    `native AVX-512, libjpeg-turbo 2.1.5`, `native NEON`, `native base`, or `no native kernels`.

    >>> described().partition(" ")[0] in ("native", "no")
    True
    """
    found, jpegs = library(), codec()
    kernels = "no native kernels" if found is None else f"native {_NAMES.get(found.isa, found.isa)}"
    return kernels if jpegs is None else f"{kernels}, libjpeg-turbo {jpegs.version}"
