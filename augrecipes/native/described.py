"""Describes the native code that runs on this machine, in a few words for people and records."""

from augrecipes.native.build import processor
from augrecipes.native.kernels import library
from augrecipes.native.libjpeg import codec

# Common names of the instruction sets; on ARM the base set includes NEON.
_NAMES = {"v3": "AVX2", "v4": "AVX-512"} | ({"base": "NEON"} if processor() == "arm64" else {})


def described() -> str:
    """Which kernels run, and which libjpeg-turbo decodes parts of JPEGs, if one does.

    `native AVX-512, libjpeg-turbo 2.1.5`, `native NEON`, `native base`, or `no native kernels`.

    >>> described().partition(" ")[0] in ("native", "no")
    True
    """
    kernels, jpegs = library(), codec()
    text = "no native kernels" if kernels is None else f"native {_NAMES.get(kernels.isa, kernels.isa)}"
    return text if jpegs is None else f"{text}, libjpeg-turbo {jpegs.version}"
