"""Addresses of steps and values inside a recipe's nodes: `RandomCrop.height`, `vflip.p`, `OneOf#2`, `eval.Resize`,
`output.dtype`.

    [eval.] (ID | Class | Class#k) [.argument[.key ...]]     k counts the class in file order, groups looked into
    top-level key [.key ...]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from augrecipes.recipe import spelling
from augrecipes.recipe.nodes import Items, Node, Place, Scalar, Table
from augrecipes.recipe.problems import Problems

SECTIONS = ("steps", "eval")
SETTABLE = ("recipe", "about", "kind", "optimize", "inputs", "output", "scales", "bag", "allow_resampling")


@dataclass(slots=True)
class Found:
    """One step among the nodes: where it hangs, what it is called."""

    parent: Items
    item: Node
    name: str
    body: Node | None
    id: str | None
    section: str
    ordinal: int = 1

    @property
    def address(self) -> str:
        """The shortest address that names this step only."""
        prefix = "eval." if self.section == "eval" else ""
        return self.id or f"{prefix}{self.name}#{self.ordinal}"


def steps_of(top: Table) -> list[Found]:
    """Every step of both sections in file order, groups before what they hold. Shapes that are no step are skipped."""
    found: list[Found] = []
    for section in SECTIONS:
        counts: dict[str, int] = {}
        for step in _walk(top.entries.get(section), section):
            step.ordinal = counts[step.name] = counts.get(step.name, 0) + 1
            found.append(step)
    return found


def _walk(node: Node | None, section: str) -> Iterator[Found]:
    if not isinstance(node, Items):
        return
    for item in node.items:
        if isinstance(item, Scalar) and isinstance(item.value, str):
            yield Found(node, item, item.value, None, None, section)
        elif isinstance(item, Table) and len(item.entries) == 1:
            name, body = next(iter(item.entries.items()))
            own = body.entries.get("id") if isinstance(body, Table) else None
            label = own.value if isinstance(own, Scalar) and isinstance(own.value, str) else None
            yield Found(node, item, name, body, label, section)
            if isinstance(body, Table):
                yield from _walk(body.entries.get("steps"), section)


def find_step(steps: list[Found], address: str, place: Place, problems: Problems) -> tuple[Found, list[str]] | None:
    """The step of an address and what follows it; None, with the problem noted, where there is none."""
    words = address.split(".")
    section = None
    if words[0] == "eval" and len(words) > 1:
        section, words = "eval", words[1:]
    head, rest = words[0], words[1:]
    with_id = [step for step in steps if step.id == head and section in (None, step.section)]
    if with_id:
        return with_id[0], rest
    name, mark, number = head.partition("#")
    wanted = section or "steps"
    same = [step for step in steps if step.name == name and step.section == wanted]
    if mark:
        chosen = [step for step in same if str(step.ordinal) == number]
        if chosen:
            return chosen[0], rest
    elif len(same) == 1:
        return same[0], rest
    elif same:
        choices = ", ".join(step.address for step in same)
        problems.add("E506", place, f"several steps are {name}; write one of {choices}", address)
        return None
    problems.add("E505", place, f"no such step{_hint(steps, head, name, wanted, rest)}", address)
    return None


def _hint(steps: list[Found], head: str, name: str, section: str, rest: list[str]) -> str:
    elsewhere = [step for step in steps if step.name == name and step.section != section]
    if elsewhere and section == "steps":
        return f"; did you mean {'.'.join(['eval', head, *rest])!r}?"
    there = [step for step in steps if step.section == section]
    same = [step.address for step in there if step.name == name]
    if same:
        return f"; there {'is' if len(same) == 1 else 'are'} {', '.join(same)}"
    names = [step.id for step in there if step.id] + [step.name for step in there]
    near = spelling.nearest(name, names)
    if near:
        return f"; did you mean {near!r}?"
    return f"; the steps are {', '.join(dict.fromkeys(step.address for step in there))}" if there else ""


def assign(top: Table, steps: list[Found], address: str, *, place: Place, value: Node, problems: Problems) -> None:
    """Set the value at an address, or note why there is none."""
    words = address.split(".")
    is_key = words[0] in SETTABLE or words[0] in top.entries
    if is_key and words[0] not in SECTIONS and any(step.id == words[0] for step in steps):
        problems.add("E506", place, f"{words[0]!r} is a key of the recipe and the id of a step; rename the id", address)
    elif words[0] in SETTABLE:
        _put(top, words, place=place, value=value, address=address, problems=problems)
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


def _put(table: Table, words: list[str], *, place: Place, value: Node, address: str, problems: Problems) -> None:
    for word in words[:-1]:
        inner = table.entries.get(word)
        if inner is None or (isinstance(inner, Scalar) and inner.value is None):
            inner = Table({}, place)
            table.entries[word], table.at[word] = inner, place
        if not isinstance(inner, Table):
            problems.add("E505", place, f"{word!r} is no mapping, so nothing inside it can be set", address)
            return
        table = inner
    table.entries[words[-1]], table.at[words[-1]] = value, place


def _body(step: Found) -> Table:
    """The mapping of a step's arguments; made where the step is a bare name."""
    if isinstance(step.body, Table):
        return step.body
    body = Table({}, step.item.place)
    replaced = Table({step.name: body}, step.item.place, {step.name: step.item.place})
    step.parent.items[_index(step)] = replaced
    step.body, step.item = body, replaced
    return body


def remove(step: Found) -> None:
    """Take a step out of its list."""
    del step.parent.items[_index(step)]


def _index(step: Found) -> int:
    return next(index for index, item in enumerate(step.parent.items) if item is step.item)
