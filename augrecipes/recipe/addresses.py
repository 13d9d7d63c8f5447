"""Addresses of steps and values inside a recipe's nodes: `RandomCrop.height`, `vflip.p`, `OneOf#2`, `eval.Resize`,
`output.dtype`.

    [eval.] (ID | Class | Class#k) [.argument[.key ...]]     k counts the class in file order, groups looked into
    top-level key [.key ...]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from augrecipes.recipe.grammar import KEYS
from augrecipes.recipe.nodes import ListNode, MappingNode, Node, Place, Scalar
from augrecipes.recipe.problems import NO_HINT, Fix, Hint, Problems, meant, nearest

SECTIONS = ("steps", "eval")
SETTABLE = tuple(key for key in KEYS if key not in {*SECTIONS, "version", "extends", "set", "without"})


@dataclass(slots=True)
class FoundStep:
    """One step among the nodes: where it hangs, what it is called; `path`: such as `eval.1.steps.0`."""

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
        """Its arguments, where some are written."""
        return self.body if isinstance(self.body, MappingNode) else None

    @property
    def key(self) -> Place:
        """Where its name stands."""
        return self.item.at[self.name] if isinstance(self.item, MappingNode) else self.item.place

    @property
    def address(self) -> str:
        """The shortest address that names this step only."""
        prefix = "eval." if self.section == "eval" else ""
        return self.id or f"{prefix}{self.name}#{self.ordinal}"


class Steps:
    """Every step of both sections in file order, groups before what they hold. Shapes that are no step are skipped."""

    def __init__(self, top: MappingNode) -> None:
        self._of: dict[str, list[FoundStep]] = {}
        self._named: dict[tuple[str, str], list[FoundStep]] = {}
        self._ids: dict[str, list[FoundStep]] = {}
        for section in SECTIONS:
            self._of[section] = list(walk_steps(top.entries.get(section), section, section))
            for step in self._of[section]:
                same = self._named.setdefault((section, step.name), [])
                same.append(step)
                step.ordinal = len(same)
                if step.id is not None:
                    self._ids.setdefault(step.id, []).append(step)

    def of(self, section: str) -> list[FoundStep]:
        """The steps of one section."""
        return self._of[section]

    def named(self, section: str, name: str) -> list[FoundStep]:
        """The steps of one section that are called `name`, in order: the ordinal is the place, from 1."""
        return self._named.get((section, name), [])

    def with_id(self, label: str, section: str | None = None) -> FoundStep | None:
        """The first with an id, in one section or in any."""
        return next((step for step in self._ids.get(label, ()) if section in (None, step.section)), None)


def walk_steps(node: Node | None, section: str, path: str) -> Iterator[FoundStep]:
    """Every step of a list, groups before what they hold."""
    if not isinstance(node, ListNode):
        return
    for index, item in enumerate(node.items):
        here = f"{path}.{index}"
        if isinstance(item, Scalar) and isinstance(item.value, str):
            yield FoundStep(here, node, index, item, item.value, None, None, section)
        elif isinstance(item, MappingNode) and len(item.entries) == 1:
            name, body = next(iter(item.entries.items()))
            own = body.entries.get("id") if isinstance(body, MappingNode) else None
            label = own.value if isinstance(own, Scalar) and isinstance(own.value, str) else None
            yield FoundStep(here, node, index, item, name, body, label, section)
            if isinstance(body, MappingNode):
                yield from walk_steps(body.entries.get("steps"), section, f"{here}.steps")


def find_step(steps: Steps, address: str, place: Place, problems: Problems) -> tuple[FoundStep, list[str]] | None:
    """The step of an address and what follows it; None, with the problem noted, where there is none."""
    words = address.split(".")
    section = None
    if words[0] == "eval" and len(words) > 1:
        section, words = "eval", words[1:]
    head, rest = words[0], words[1:]
    with_id = steps.with_id(head, section)
    if with_id is not None:
        return with_id, rest
    name, mark, number = head.partition("#")
    wanted = section or "steps"
    same = steps.named(wanted, name)
    if mark:
        if _is_ordinal(number, len(same)):
            return same[int(number) - 1], rest
    elif len(same) == 1:
        return same[0], rest
    elif same:
        choices = ", ".join(step.address for step in same)
        problems.add("E506", place, f"several steps are {name}; write one of {choices}", address)
        return None
    problems.add("E505", place, "no such step", address, _hint(steps, head, name, wanted, rest))
    return None


def _is_ordinal(number: str, count: int) -> bool:
    """Whether `number` is written as 1 .. count are."""
    return number.isdecimal() and len(number) < 9 and str(int(number)) == number and 1 <= int(number) <= count


def _hint(steps: Steps, head: str, name: str, section: str, rest: list[str]) -> Hint:
    if section == "steps" and steps.named("eval", name):
        other = ".".join(["eval", head, *rest])
        return meant(other, repr(other))
    there = steps.of(section)
    if section == "eval" and not there:
        text = "`eval:` lists no steps (those of `eval: derived` follow the training steps: change them there)"
        return Hint(f"; {text}")
    same = [step.address for step in steps.named(section, name)]
    if same:
        return Hint(f"; there {'is' if len(same) == 1 else 'are'} {', '.join(same)}")
    names = [step.id for step in there if step.id] + [step.name for step in there]
    found = nearest(name, names)
    if found:
        return Hint(f"; did you mean {found!r}?", (Fix("word", ".".join([found, *rest])),))
    return Hint(f"; the steps are {', '.join(dict.fromkeys(step.address for step in there))}") if there else NO_HINT


def assign(top: MappingNode, steps: Steps, address: str, *, place: Place, value: Node, problems: Problems) -> None:
    """Set the value at an address, or note why there is none."""
    words = address.split(".")
    is_key = words[0] in SETTABLE or words[0] in top.entries
    if is_key and words[0] not in SECTIONS and steps.with_id(words[0]):
        problems.add("E506", place, f"{words[0]!r} is a key of the recipe and the id of a step; rename the id", address)
    elif words[0] in SETTABLE:
        _put(top, words, place=place, value=value, address=address, problems=problems)
    elif words == ["eval"] and isinstance(value, Scalar) and isinstance(value.value, str):
        _put(top, words, place=place, value=value, address=address, problems=problems)  # `derived`
    elif words in (["steps"], ["eval"], ["version"], ["extends"], ["set"], ["without"]):
        problems.add("E507", place, f"{address!r} cannot be set; write the key in the variant itself", address)
    else:
        found = find_step(steps, address, place, problems)
        if found is None:
            return
        step, rest = found
        if not rest:
            problems.add("E507", place, f"names a step; name its argument too, such as {address}.p", address)
            return
        _put(_body(step), rest, place=place, value=value, address=address, problems=problems)


def _put(table: MappingNode, words: list[str], *, place: Place, value: Node, address: str, problems: Problems) -> None:
    for word in words[:-1]:
        inner = table.entries.get(word)
        if inner is None or (isinstance(inner, Scalar) and inner.value is None):
            inner = MappingNode({}, place)
            table.entries[word], table.at[word] = inner, place
        if not isinstance(inner, MappingNode):
            problems.add("E505", place, f"{word!r} is no mapping, so nothing inside it can be set", address)
            return
        table = inner
    table.entries[words[-1]], table.at[words[-1]] = value, place


def _body(step: FoundStep) -> MappingNode:
    """The mapping of a step's arguments; made where the step is a bare name."""
    if isinstance(step.body, MappingNode):
        return step.body
    body = MappingNode({}, step.item.place)
    replaced = MappingNode({step.name: body}, step.item.place, {step.name: step.item.place})
    step.parent.items[step.index] = replaced
    step.body, step.item = body, replaced
    return body


def remove(gone: Iterable[FoundStep]) -> None:
    """Take steps out of their lists. Indexes of what is left no longer count."""
    by_parent: dict[int, tuple[ListNode, set[int]]] = {}
    for step in gone:
        by_parent.setdefault(id(step.parent), (step.parent, set()))[1].add(step.index)
    for parent, indexes in by_parent.values():
        parent.items[:] = [item for index, item in enumerate(parent.items) if index not in indexes]
