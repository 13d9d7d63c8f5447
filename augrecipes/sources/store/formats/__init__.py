"""One module a format, each with its `FORMAT`: a module put here is a format, and nothing else needs to know of it."""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules

from augrecipes.sources.store.format import Role, StoreFormat

_MODULES = sorted(module.name for module in iter_modules(__path__))

FORMATS: dict[str, StoreFormat] = {
    found.name: found for found in (import_module(f"{__name__}.{module}").FORMAT for module in _MODULES)
}


def formats_of(format: str, targets: Mapping[str, Role]) -> dict[str, StoreFormat]:
    """What each target is kept in. Raises ValueError for names and roles that there are not."""
    if format not in FORMATS:
        raise ValueError(f"format {format!r} is unknown; there are {', '.join(FORMATS)}")
    for name, role in targets.items():
        if not name.isidentifier() or role not in ("image", "mask"):
            raise ValueError(f"target {name!r}: {role!r}; names are identifiers, roles are image and mask")
    if not targets:
        raise ValueError("a store has at least one target")
    return {name: FORMATS[format].of(role) for name, role in targets.items()}
