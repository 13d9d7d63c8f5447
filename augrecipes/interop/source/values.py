"""Values of expressions in Python source, as far as they are known without running it.

Known values are plain Python: numbers, text, None, tuples, lists and mappings. The classes for all others are here.
"""

import ast
import math
from collections import ChainMap
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from augrecipes.interop import budget, draft
from augrecipes.ops.constants import BORDER, INTERPOLATION
from augrecipes.recipe.nodes import NOWHERE, Place

MISSING = object()  # no value yet
Scope = ChainMap[str, Any]  # names of a module, function or class, and of the enclosing ones


class NotKnown(Exception):  # noqa: N818 - not an error: the value is unknown
    """The value of an expression is unknown, because of these values."""


@dataclass(frozen=True, slots=True)
class Test:
    """A test of unknown value, without its negations.

    Attributes:
        text: the source text.
        label: a name for the true branch.
        at: its place.
        negated: whether the source has an odd number of negations.
        roots: the unknown names in it, which decide it.
    """

    text: str
    label: str
    at: Place
    negated: bool = False
    roots: tuple[str, ...] = ()

    def branch(self, holds: bool) -> str:
        """The name of one of the two branches.

        >>> Test("phase == 'train'", "train", Place()).branch(False)
        'not_train'
        """
        return self.label if holds else f"not_{self.label}"


@dataclass(frozen=True, slots=True)
class UnknownValue:
    """A value that is unknown without running the source.

    Attributes:
        text: the expression.
        at: its place.
        roots: the unknown names in it, which decide it.
        why: the reason, if it is another than these names.
    """

    text: str
    at: Place = NOWHERE
    roots: tuple[str, ...] = ()
    why: str = ""


class Listed(list[Any]):
    """A list with its place."""

    def __init__(self, items: Any = (), at: Place = NOWHERE) -> None:
        super().__init__(items)
        self.at = at


class Mapped(dict[Any, Any]):
    """A mapping with its place, and known places of its keys."""

    def __init__(self, items: Any = (), at: Place = NOWHERE, keys_at: Mapping[Any, Place] = {}) -> None:
        super().__init__(items)
        self.at, self.keys_at = at, dict(keys_at)


@dataclass(frozen=True, slots=True)
class OutsideName:
    """The name of a module, or of something in one: `albumentations.pytorch.ToTensorV2`."""

    path: str
    bound: bool = True  # by an import; else the name is undefined in the file

    @property
    def last(self) -> str:
        """The name without its module."""
        return self.path.rpartition(".")[2]


@dataclass(slots=True, eq=False)
class Created:
    """The object that a call of another module's class would create."""

    path: str
    args: list[Any]
    named: dict[str, Any]
    node: ast.Call
    at: Place
    extra: Any = None  # unknown arguments, from `**`

    @property
    def name(self) -> str:
        """The class without its module."""
        return self.path.rpartition(".")[2]


@dataclass(slots=True, eq=False)
class Function:
    """A function or a lambda of the file."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: Scope
    name: str
    at: Place
    defaults: dict[str, Any]
    owner: Any = None  # the instance or class that it is bound to

    @property
    def parameters(self) -> list[str]:
        """Names of its arguments."""
        args = self.node.args
        return [each.arg for each in (*args.posonlyargs, *args.args, *args.kwonlyargs)]

    @property
    def decorators(self) -> list[str]:
        """Names of its decorators, without their modules."""
        return [getattr(each, "id", getattr(each, "attr", "")) for each in getattr(self.node, "decorator_list", [])]


@dataclass(slots=True, eq=False)
class Partial:
    """A functools.partial."""

    function: Any
    args: list[Any]
    named: dict[str, Any]


@dataclass(slots=True, eq=False)
class Class:
    """A class of the file, or an object (`is_object`), whose base is its class."""

    name: str
    names: dict[str, Any]  # its attributes
    bases: list[Any]
    node: ast.ClassDef
    is_object: bool = False

    def get(self, name: str, depth: int = 8) -> Any:
        """An attribute, its own or of a base; MISSING if none is known."""
        budget.spend()
        if name in self.names:
            return self.names[name]
        for base in self.bases if depth else []:
            if isinstance(base, Class) and (match := base.get(name, depth - 1)) is not MISSING:
                return match
        return MISSING


class Parser(Mapped):
    """An argparse.ArgumentParser: the defaults of its arguments."""


def walk(value: Any) -> Iterator[Any]:
    """Yield a value and everything in its lists and mappings, depth first, each container once."""
    left, seen = [value], set[int]()
    while left:
        each = left.pop()
        budget.spend()
        yield each
        inner = [*each.values()] if isinstance(each, dict) else each if isinstance(each, list | tuple) else []
        if inner and id(each) not in seen:
            seen.add(id(each))
            left += inner[::-1]


_PYTHON = draft.FOREIGN["python"]
USUAL_MODULES: dict[str, str] = _PYTHON["modules"]  # modules by their usual aliases, for snippets without imports
_CONSTANTS: dict[str, Any] = _PYTHON["constants"] | {
    **{f"cv2.INTER_{name.upper()}": number for name, number in INTERPOLATION.items()},
    **{f"cv2.BORDER_{name.upper()}": number for name, number in BORDER.items()},
    **{f"{module}.{name}": getattr(math, name) for module in ("math", "numpy") for name in ("pi", "e", "tau")},
}
_TIMM_CONSTANTS: dict[str, list[float]] = _PYTHON["of_timm"]  # by the last name, in any of timm's modules
_PRESETS: dict[str, Any] = draft.FOREIGN["rfdetr"]  # of RF-DETR 1.11
_ENUMERATIONS = tuple(_PYTHON["enumerations"])  # prefixes of enum members, which are kept by name
# Members of an enum in albumentations' ImageCompression.
_COMPRESSIONS = (".ImageCompressionType.JPEG", ".ImageCompressionType.WEBP")


def constant(path: str, bound: bool = True) -> Any:
    """The value of a module's constant; an OutsideName if it is unknown.

    >>> constant("cv2.BORDER_REFLECT_101"), constant("torch.float32"), constant("cv2.imread").last
    (4, 'torch.float32', 'imread')
    """
    last = path.rpartition(".")[2]
    if path in _CONSTANTS:
        return _CONSTANTS[path]
    if last in _TIMM_CONSTANTS and (path.startswith("timm.") or path == last):
        return tuple(_TIMM_CONSTANTS[last])
    if last in _PRESETS and path.startswith("rfdetr."):
        return deepcopy(_PRESETS[last])
    if path.endswith(_COMPRESSIONS) and path.startswith("albumentations."):
        return last.lower()
    if path.startswith(_ENUMERATIONS):
        return path.removeprefix("torchvision.transforms.") if "InterpolationMode" in path else path
    return OutsideName(path, bound)
