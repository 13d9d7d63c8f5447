"""What the parts of the language share while one recipe is built."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from augrecipes.kinds import Facts, Kind, facts
from augrecipes.recipe.arguments import Schema, check_value, expected
from augrecipes.recipe.model import NOWHERE, Position
from augrecipes.recipe.nodes import MappingNode, Node, Place, Scalar, describe, plain
from augrecipes.recipe.problems import NO_HINT, Problems, near

# What is between the brackets ends at either bracket: else each of many that are opened looks for the end of the line.
_IGNORE = re.compile(r"#\s*augrecipes:\s*ignore\[([^\[\]]*)\]")


@dataclass
class Context:
    """One recipe on its way.

    Attributes:
        problems: where findings go.
        lines: the lines of every file that took part, by file name; comments are read from them.
        file: the file that was asked for; others take part where it extends them.
        extends: where it says so.
        kind: of the recipe.
        scales: relative grid by target (kind pair).
        max_bytes: of the largest image that a step may make; None: of any.
        ids: where each id was given first.
        steps: how many there are so far, groups and what is in them.
        runs_plugins: packages may be imported that announce what the recipe names.
        translated: a name was met that only older albumentations knows: the recipe was a pipeline of it.
    """

    problems: Problems
    lines: Mapping[str, Sequence[str]] = field(default_factory=dict)
    file: str = "<recipe>"
    extends: Position = NOWHERE
    kind: Kind = "image"
    scales: dict[str, int] = field(default_factory=dict)
    max_bytes: int | None = None
    ids: dict[str, Place] = field(default_factory=dict)
    steps: int = 0
    runs_plugins: bool = True
    translated: bool = False
    _ignored: dict[Place, frozenset[str]] = field(default_factory=dict)

    @property
    def facts(self) -> Facts:
        """What is known of the recipe's kind."""
        return facts(self.kind)

    def ignored(self, place: Place) -> frozenset[str]:
        """Lint codes that a comment on the line of `place` silences."""
        line = Place(place.file, place.line)
        if line not in self._ignored:  # many steps may share a long line
            self._ignored[line] = self._codes(line)
        return self._ignored[line]

    def _codes(self, place: Place) -> frozenset[str]:
        lines = self.lines.get(place.file, ())
        if not 0 < place.line <= len(lines):
            return frozenset()
        match = _IGNORE.search(lines[place.line - 1])
        return frozenset(code.strip() for code in match[1].split(",") if code.strip()) if match else frozenset()

    def value(self, node: Node, schema: Schema, code: str, name: str) -> bool:
        """Check one value; True when it is fine."""
        found = check_value(schema, node)
        for finding in found:
            self.problems.add(code, finding.place, finding.message, name, finding.hint)
        return not found

    def keys(self, table: MappingNode, valid: Sequence[str], code: str, name: str) -> None:
        """Note the keys of `table` that are not among `valid`."""
        for key, place, _ in table.pairs():
            if key not in valid:
                message = f"unknown key {key!r}; it takes {', '.join(valid)}"
                self.problems.add(code, place, message, name, near(key, valid))

    def fields(self, node: Node | None, mapping: Schema, code: str, name: str) -> dict[str, Any]:
        """The values of a mapping that are fine, by key."""
        if node is None:
            return {}
        properties = mapping["properties"]
        if not isinstance(node, MappingNode):
            message = f"must be a mapping of {', '.join(properties)}; got {describe(node)}"
            self.problems.add(code, node.place, message, name)
            return {}
        self.keys(node, tuple(properties), code, name)
        for key in mapping.get("required", ()):
            if key not in node.entries:
                self.problems.add(code, node.place, f"key {key!r} is missing", name)
        return {
            key: plain(value)
            for key, _, value in node.pairs()
            if key in properties and self.value(value, properties[key], code, f"{name}.{key}")
        }

    def word_or_fields(self, node: Node, union: Schema, code: str, name: str) -> str | dict[str, Any] | None:
        """One of the words that stand for a mapping, or the values of the mapping that are fine; None for neither."""
        words, mapping = union["anyOf"]
        if isinstance(node, MappingNode):
            return self.fields(node, mapping, code, name)
        if not check_value(words, node):
            return str(plain(node))
        text = node.value if isinstance(node, Scalar) else None
        hint = near(text, words["enum"]) if isinstance(text, str) else NO_HINT
        self.problems.add(code, node.place, f"must be {expected(union)}, got {describe(node)}", name, hint)
        return None

    def at(self, node: Node, key: str) -> Place:
        """Where a key of a mapping stands."""
        return node.at.get(key, node.place) if isinstance(node, MappingNode) else node.place

    def position(self, place: Place) -> Position:
        """A place as the model has it: in the file that was asked for. Steps of other files stand at `extends`."""
        if place.file == self.file:
            return Position(place.line, place.col)
        return Position(self.extends.line, self.extends.col, (place.file, place.line, place.col))

    def place(self, position: Position) -> Place:
        """A place of the model, with the file that it really stands in."""
        return Place(*position.origin) if position.origin else Place(self.file, position.line, position.col)
