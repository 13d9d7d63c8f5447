"""Addresses of steps and values inside a recipe's nodes: `RandomCrop.height`, `vflip.p`, `OneOf#2`, `eval.Resize`,
`output.dtype`.

    [eval.|batch.|VIEW.] (ID | Class | Class#k) [.argument[.key ...]]   k counts the class in file order, groups too
    top-level key [.key ...]
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from augrecipes.errors import NO_HINT, Fix, Hint
from augrecipes.recipe.model import KEYS
from augrecipes.recipe.nodes import ListNode, MappingNode, Node, Place, Scalar
from augrecipes.recipe.problems import Problems, hint_at, nearest

SECTIONS = ("steps", "shared", "eval", "batch")
SETTABLE = tuple(name for name, key in KEYS.items() if key.field and name not in SECTIONS)


@dataclass(slots=True)
class StepNode:
    """One step among the nodes: its list, its place there and its name; `path`: such as `eval.1.steps.0`."""

    path: str
    parent: ListNode
    index: int
    item: Node
    name: str
    body: Node | None
    id: str | None
    section: str
    ordinal: int = 1

    @property
    def arguments(self) -> MappingNode | None:
        """The mapping of its arguments; None where none are written."""
        return self.body if isinstance(self.body, MappingNode) else None

    @property
    def key(self) -> Place:
        """The place of its name."""
        return self.item.at[self.name] if isinstance(self.item, MappingNode) else self.item.place

    @property
    def address(self) -> str:
        """The shortest address that names only this step."""
        prefix = "" if self.section == "steps" else f"{self.section}."
        return self.id or f"{prefix}{self.name}#{self.ordinal}"


class Steps:
    """Every step of all sections in file order, groups before their children; nodes that are no steps are skipped.

    Attributes:
        listed: the steps of each section.
        named: by section and class name, the steps in order.
        addressed: a step by section and its id or `Class#k`; by None and an id the first step with it in any section.
    """

    def __init__(self, top: MappingNode) -> None:
        self.listed: dict[str, list[StepNode]] = {}
        self.named: defaultdict[tuple[str, str], list[StepNode]] = defaultdict(list)
        self.addressed: dict[tuple[str | None, str], StepNode] = {}
        for section, path, node in sections(top):
            self.listed[section] = list(walk_steps(node, section, path))
            for step in self.listed[section]:
                same = self.named[section, step.name]
                same.append(step)
                step.ordinal = len(same)
                self.addressed[section, f"{step.name}#{step.ordinal}"] = step
                for where in () if step.id is None else (section, None):
                    self.addressed.setdefault((where, step.id or ""), step)


def sections(top: MappingNode) -> list[tuple[str, str, Node | None]]:
    """The lists of steps of a recipe: name in addresses, path, and node.

    The training steps are `steps`, even where they are `shared:` by views; the steps of a view have its name.
    """
    key = "shared" if "shared" in top.entries else "steps"
    views = top.entries.get("views")
    named_views = views.entries if isinstance(views, MappingNode) else {}
    lists = [("steps", key, top.entries.get(key)), *((name, name, top.entries.get(name)) for name in ("eval", "batch"))]
    for name, view in named_views.items():
        if isinstance(view, MappingNode) and name not in ("steps", "eval", "batch"):
            lists.append((name, f"views.{name}.steps", view.entries.get("steps")))
    return lists


def walk_steps(node: Node | None, section: str, path: str) -> Iterator[StepNode]:
    """Every step of a list, groups before their children."""
    if not isinstance(node, ListNode):
        return
    for index, item in enumerate(node.items):
        here, body = f"{path}.{index}", None
        if isinstance(item, MappingNode) and len(item.entries) == 1:
            name, body = next(iter(item.entries.items()))
        elif isinstance(item, Scalar) and isinstance(item.value, str):
            name = item.value
        else:
            continue
        entries = body.entries if isinstance(body, MappingNode) else {}
        own = entries.get("id")
        label = own.value if isinstance(own, Scalar) and isinstance(own.value, str) else None
        yield StepNode(here, node, index, item, name, body, label, section)
        yield from walk_steps(entries.get("steps"), section, f"{here}.steps")


def find_step(steps: Steps, address: str, place: Place, problems: Problems) -> tuple[StepNode, list[str]] | None:
    """The step at an address, and the rest of the address; None, with the problem noted, where there is none."""
    words = address.split(".")
    section = words[0] if words[0] in steps.listed and words[0] != "steps" and len(words) > 1 else None
    head, *rest = words[1:] if section else words
    wanted, (name, mark, _) = section or "steps", head.partition("#")
    step = steps.addressed.get((section, head)) or steps.addressed.get((wanted, head))
    same = steps.named[wanted, name] if step is None and not mark else []
    if step is None and not mark and not same and section is None:  # the views' steps
        same = [step for view in steps.listed if view not in ("steps", "eval") for step in steps.named[view, name]]
    if step or len(same) == 1:
        return step or same[0], rest
    if same:
        choices = ", ".join(step.address for step in same)
        problems.add("E506", place, f"several steps are {name}; write one of {choices}", address)
    else:
        problems.add("E505", place, "no such step", address, _hint(steps, head, name, wanted, rest))
    return None


def _hint(steps: Steps, head: str, name: str, section: str, rest: list[str]) -> Hint:
    if section == "steps" and steps.named["eval", name]:
        other = ".".join(["eval", head, *rest])
        return hint_at(other, repr(other))
    present = steps.listed[section]
    if section == "eval" and not present:
        return Hint("; `eval:` lists no steps (those of `eval: derived` follow the training steps: change them there)")
    same = [step.address for step in steps.named[section, name]]
    if same:
        return Hint(f"; there {'is' if len(same) == 1 else 'are'} {', '.join(same)}")
    names = [step.id for step in present if step.id] + [step.name for step in present]
    likely = nearest(name, names)
    if likely:
        return Hint(f"; did you mean {likely!r}?", (Fix("word", ".".join([likely, *rest])),))
    return Hint(f"; the steps are {', '.join(dict.fromkeys(step.address for step in present))}") if present else NO_HINT


def assign(top: MappingNode, steps: Steps, address: str, *, place: Place, value: Node, problems: Problems) -> None:
    """Set the value at an address, or note why that cannot be."""
    words = rest = address.split(".")
    key, table = words[0], top
    if key not in SECTIONS and (key in SETTABLE or key in top.entries) and (None, key) in steps.addressed:
        problems.add("E506", place, f"{key!r} is a key of the recipe and the id of a step; rename the id", address)
        return
    derives = words == ["eval"] and isinstance(value, Scalar) and isinstance(value.value, str)
    if key in KEYS and key not in SETTABLE and len(words) == 1 and not derives:
        problems.add("E507", place, f"{address!r} cannot be set; write the key in the variant itself", address)
        return
    if key not in SETTABLE and not derives:
        addressed = find_step(steps, address, place, problems)
        if addressed is None:
            return
        step, rest = addressed
        if not rest:
            problems.add("E507", place, f"names a step; name its argument too, such as {address}.p", address)
            return
        table = _body(step)
    for word in rest[:-1]:
        inner = table.entries.get(word)
        if inner is None or (isinstance(inner, Scalar) and inner.value is None):
            inner = MappingNode({}, place)
            table.entries[word], table.at[word] = inner, place
        if not isinstance(inner, MappingNode):
            problems.add("E505", place, f"{word!r} is not a mapping, so nothing inside it can be set", address)
            return
        table = inner
    table.entries[rest[-1]], table.at[rest[-1]] = value, place


def _body(step: StepNode) -> MappingNode:
    """The mapping of a step's arguments; a step that is a bare name gets an empty one."""
    if isinstance(step.body, MappingNode):
        return step.body
    body = MappingNode({}, step.item.place)
    replaced = MappingNode({step.name: body}, step.item.place, {step.name: step.item.place})
    step.parent.items[step.index] = replaced
    step.body, step.item = body, replaced
    return body


def remove(removed: Iterable[StepNode]) -> None:
    """Remove steps from their lists; the indexes of later steps become invalid."""
    for step in sorted(removed, key=lambda step: step.index, reverse=True):
        del step.parent.items[step.index]
