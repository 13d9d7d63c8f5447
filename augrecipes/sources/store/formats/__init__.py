"""One module a format, each with its `FORMAT`: a module put here is a format, and nothing else needs to know of it."""

from importlib import import_module
from pkgutil import iter_modules

from augrecipes.sources.store.format import StoreFormat

_MODULES = sorted(module.name for module in iter_modules(__path__))

FORMATS: dict[str, StoreFormat] = {
    found.name: found for found in (import_module(f"{__name__}.{module}").FORMAT for module in _MODULES)
}
