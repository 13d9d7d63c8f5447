"""The pipelines of a config, wherever they stand, and which of them a recipe is made of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from augrecipes.bring.configs.forms import call_of, names_class
from augrecipes.bring.mm.names import NAMES as OF_MM
from augrecipes.bring.torchvision.signatures import PARAMETERS as OF_TORCHVISION
from augrecipes.bring.torchvision.signatures import TELLING
from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.ops import registry
from augrecipes.ops.groups import COMPOSE, GROUPS
from augrecipes.ops.outputs import OUTPUTS
from augrecipes.ops.refused import REFUSED
from augrecipes.recipe.history import CLASSES
from augrecipes.recipe.nodes import ListNode, MappingNode, Node, Place

ALBUMENTATIONS, TORCHVISION, MM = "albumentations", "torchvision", "mm"
_PACKAGES = {"albumentations": ALBUMENTATIONS, "torchvision.transforms": TORCHVISION}
_EVAL = re.compile(r"(?:^|[_.])(?:val|valid|validation|test|eval|evaluation|predict|inference|tta)(?:[_.]|$)")
_TRAIN = re.compile(r"(?:^|[_.])(?:train|training|fit)(?:[_.]|$)")
_ORDER = "order"  # a list of the names of those beside it
_USUAL = "train_pipeline"


@dataclass(frozen=True, slots=True)
class Found:
    """A pipeline of a config.

    Attributes:
        path: keys that lead to it, joined by dots.
        node: the list, the mapping, or the Compose.
        items: its transforms, in order.
        holder: the mapping that holds it, for what stands beside it.
    """

    path: str
    node: Node
    items: tuple[MappingNode, ...]
    holder: MappingNode | None

    @property
    def place(self) -> Place:
        """Where it starts."""
        return self.node.place


def family(items: tuple[MappingNode, ...]) -> str | None:
    """Whose transforms these are; None: of nobody that is known."""
    calls = [call_of(item) for item in items]
    for call in calls:
        for package, whose in _PACKAGES.items():
            if f"{call.package}.".startswith(f"{package}."):
                return whose
    bare = {call.name for call in calls if not call.package}
    if bare & OF_MM:
        return MM
    if bare & TELLING:
        return TORCHVISION
    if any(_of_albumentations(name) for name in bare):
        return ALBUMENTATIONS
    return TORCHVISION if bare & OF_TORCHVISION.keys() else None


def _of_albumentations(name: str) -> bool:
    known = name in CLASSES or name in REFUSED or name in GROUPS or name in OUTPUTS or name == COMPOSE
    return known or registry.arguments(name) is not None


def pipelines(top: Node) -> list[Found]:
    """Every pipeline of a config once, those that are part of another left out."""
    found = list(_walk(top, "", None, set()))
    inside: set[int] = set()
    for each in found:
        for item in each.items:
            _note(item, inside, own=item is each.node)
    return [each for each in found if id(each.node) not in inside]


def _walk(node: Node, path: str, holder: MappingNode | None, seen: set[int]) -> Iterator[Found]:
    if id(node) in seen:  # a name that is used again
        return
    seen.add(id(node))
    if isinstance(node, MappingNode) and names_class(node):
        # Beside a lone name anything may be meant: only a package tells that it is a transform.
        if call_of(node).package and family((node,)):
            yield Found(path, node, (node,), holder)
            return
    elif (items := _items(node)) and family(items) and not _side_by_side(items):
        yield Found(path, node, items, holder)
        return
    inner = node.entries.items() if isinstance(node, MappingNode) else []
    if isinstance(node, ListNode):
        inner = [(str(index), item) for index, item in enumerate(node.items)]
    for key, value in inner:
        holder = node if isinstance(node, MappingNode) else holder
        yield from _walk(value, f"{path}.{key}" if path else key, holder, seen)


def _side_by_side(items: tuple[MappingNode, ...]) -> bool:
    """Whether these are several pipelines: views of a sample, or stages of its way."""
    return len(items) > 1 and all(call_of(item).name == COMPOSE for item in items)


def _items(node: Node) -> tuple[MappingNode, ...]:
    """The transforms of a list, or of a mapping whose values they are."""
    if isinstance(node, ListNode):
        values: list[Node] = node.items
    elif isinstance(node, MappingNode):
        order = node.entries.get(_ORDER)
        names = [getattr(item, "value", None) for item in order.items] if isinstance(order, ListNode) else None
        keys = names if names is not None and set(names) <= node.entries.keys() else node.entries
        values = [node.entries[str(key)] for key in keys if key != _ORDER]
    else:
        values = []
    found = tuple(value for value in values if isinstance(value, MappingNode) and names_class(value))
    return found if len(found) == len(values) else ()


def _note(node: Node, seen: set[int], *, own: bool = False) -> None:
    """Note a node, unless it is a pipeline's own, and everything inside it."""
    if id(node) in seen:
        return
    if not own:
        seen.add(id(node))
    for value in node.items if isinstance(node, ListNode) else getattr(node, "entries", {}).values():
        _note(value, seen)


def chosen(found: list[Found], key: str, file: str) -> tuple[Found, Found | None]:
    """The pipeline for training, and the one for validation where there is one.

    Args:
        found: all of them.
        key: the path that the user named; empty: none.
        file: for messages.

    Raises:
        RecipeError: several could be meant, or none has the name.
    """
    if key:
        named = [each for each in found if each.path == key or each.path.startswith(f"{key}.")]
        if len(named) == 1:
            return named[0], None
        raise _error(
            f"{'several pipelines' if named else 'no pipeline'} at {key!r}; there {_listed(named or found)}", file
        )
    evaluation = [each for each in found if _EVAL.search(each.path.lower())]
    others = [each for each in found if each not in evaluation]
    training = [each for each in others if _TRAIN.search(each.path.lower())] or others or evaluation
    training = [each for each in training if each.path == _USUAL] or training
    if len(training) > 1:
        raise _error(f"several pipelines; name one, as in `--key {training[0].path}`: there {_listed(training)}", file)
    rest = [each for each in evaluation if each is not training[0]]
    rest = [each for each in rest if "val" in each.path.lower()] or rest
    return training[0], rest[0] if rest else None


def _listed(found: list[Found]) -> str:
    return "are " + ", ".join(f"{each.path or 'the file itself'} (line {each.place.line})" for each in found)


def _error(message: str, file: str) -> RecipeError:
    return RecipeError(problems=[Diagnostic(message, 1, 1, "E601", "import", file)])
