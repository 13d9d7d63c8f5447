"""`ToOutput` under its former name."""

import warnings

from augrecipes.interop.last_step import ToOutput

__all__ = ["ToOutput"]

warnings.warn(
    "augrecipes.bring.last_step is augrecipes.interop.last_step: eject the recipe again, or change the import",
    DeprecationWarning,
    stacklevel=2,
)
