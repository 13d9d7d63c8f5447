"""What an expression of Python source is, as far as it can be told without running anything.

Known values are themselves: numbers, text, None, tuples, lists and mappings. The rest is here.
"""

from __future__ import annotations

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
Scope = ChainMap[str, Any]  # names of a module, a function or a class, and of what is around it


class NotKnown(Exception):  # noqa: N818 - a finding: the value cannot be told
    """What an expression is cannot be told, because of these values."""


@dataclass(frozen=True, slots=True)
class Test:
    """A condition that cannot be told, without what negates it.

    Attributes:
        text: as it is written.
        label: a name for the branch where it holds.
        at: where it stands.
        negated: whether the source asks for the opposite.
        roots: names in it that are not known; with these it could be told.
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
    """A value that only running the source would tell.

    Attributes:
        text: the expression.
        at: where it stands.
        roots: names in it that are not known either; with these the value could be told.
        why: what else there is to say of it.
    """

    text: str
    at: Place = NOWHERE
    roots: tuple[str, ...] = ()
    why: str = ""


class Listed(list[Any]):
    """A list, and where it stands."""

    def __init__(self, items: Any = (), at: Place = NOWHERE) -> None:
        super().__init__(items)
        self.at = at


class Mapped(dict[Any, Any]):
    """A mapping, where it stands, and where its keys do, as far as that is known."""

    def __init__(self, items: Any = (), at: Place = NOWHERE, keys_at: Mapping[Any, Place] = {}) -> None:
        super().__init__(items)
        self.at, self.keys_at = at, dict(keys_at)


@dataclass(frozen=True, slots=True)
class OutsideName:
    """A name of a module, or of what is in one: `albumentations.pytorch.ToTensorV2`."""

    path: str
    bound: bool = True  # by an import; else nothing in the file says what it is

    @property
    def last(self) -> str:
        """The name without its module."""
        return self.path.rpartition(".")[2]


@dataclass(slots=True, eq=False)
class Created:
    """What calling a class of a module would create."""

    path: str
    args: list[Any]
    named: dict[str, Any]
    node: ast.Call
    at: Place
    extra: Any = None  # arguments that are spread in from what is not known

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
    owner: Any = None  # the instance or class that it is taken from

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
    """A call some of whose arguments are given."""

    function: Any
    args: list[Any]
    named: dict[str, Any]


@dataclass(slots=True, eq=False)
class Class:
    """A class of the file, or an object of one: that has the class as its base."""

    name: str
    names: dict[str, Any]  # its attributes
    bases: list[Any]
    node: ast.ClassDef
    is_object: bool = False

    def get(self, name: str, depth: int = 8) -> Any:
        """An attribute, its own or that of a base; MISSING where there is none that is known."""
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
    """A value, and everything in its lists and mappings, in order, each of them once."""
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
USUAL: dict[str, str] = _PYTHON["modules"]  # by the names that people give them: a snippet may have no import
_CONSTANTS: dict[str, Any] = _PYTHON["constants"] | {
    **{f"cv2.INTER_{name.upper()}": number for name, number in INTERPOLATION.items()},
    **{f"cv2.BORDER_{name.upper()}": number for name, number in BORDER.items()},
    **{f"{module}.{name}": getattr(math, name) for module in ("math", "numpy") for name in ("pi", "e", "tau")},
}
_OF_TIMM: dict[str, list[float]] = _PYTHON["of_timm"]  # under whatever module: by the last name
_PRESETS: dict[str, Any] = draft.FOREIGN["rfdetr"]  # of RF-DETR 1.11
_ENUMERATIONS = tuple(_PYTHON["enumerations"])  # what is written as its own name, for those who translate it
# Of albumentations' ImageCompression, which carried its enumeration about.
_COMPRESSIONS = (".ImageCompressionType.JPEG", ".ImageCompressionType.WEBP")


def constant(path: str, bound: bool = True) -> Any:
    """What a name of a module stands for; the name itself where that is not known.

    >>> constant("cv2.BORDER_REFLECT_101"), constant("torch.float32"), constant("cv2.imread").last
    (4, 'torch.float32', 'imread')
    """
    last = path.rpartition(".")[2]
    if path in _CONSTANTS:
        return _CONSTANTS[path]
    if last in _OF_TIMM and (path.startswith("timm.") or path == last):
        return tuple(_OF_TIMM[last])
    if last in _PRESETS and path.startswith("rfdetr."):
        return deepcopy(_PRESETS[last])
    if path.endswith(_COMPRESSIONS) and path.startswith("albumentations."):
        return last.lower()
    if path.startswith(_ENUMERATIONS):
        return path.removeprefix("torchvision.transforms.") if "InterpolationMode" in path else path
    return OutsideName(path, bound)
