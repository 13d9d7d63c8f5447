"""Objects of albumentations: a Compose that the caller has made, or a single transform."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from augrecipes.bring.calls import Call
from augrecipes.bring.compose import fill
from augrecipes.bring.concise import saved_of, shorten, taken
from augrecipes.bring.dialect import Dialect
from augrecipes.bring.draft import RecipeDraft
from augrecipes.bring.naming import name_of
from augrecipes.bring.reading import Document
from augrecipes.bring.source.found import calls_of
from augrecipes.compat.guard import albumentations
from augrecipes.errors import RecipeError
from augrecipes.ops import registry
from augrecipes.ops.frozen import Arguments
from augrecipes.ops.groups import COMPOSE, GROUPS, ONE_OR_OTHER
from augrecipes.ops.outputs import OUTPUTS
from augrecipes.ops.step import Step

# What groups of albumentations keep of their arguments.
_OF_GROUPS = ("p", "n", "replace")
_OF_COMPOSE = ("p", "is_check_shapes", "strict", "seed", "additional_targets")


def owns(document: Document) -> bool:
    """Whether the document is an object of albumentations."""
    if document.value is None:
        return False
    A = albumentations()  # noqa: N806 - as everybody calls it
    given = document.value if isinstance(document.value, list | tuple) else [document.value]
    return bool(given) and all(isinstance(each, A.BaseCompose | A.BasicTransform) for each in given)


def draft(document: Document) -> RecipeDraft:
    """What an object does, as a recipe."""
    value = document.value
    made = RecipeDraft(name_of(document.file), f"a {type(value).__name__} in Python", document.place)
    reader = _LiveCalls(document, made)
    if isinstance(value, list | tuple):
        fill(made, Call(COMPOSE, {}, tuple(map(reader.call, value)), document.place))
    else:
        fill(made, reader.call(value))
    for line in made.lines():
        if line.steps is None:
            shorten(line)
    return made


class _LiveCalls:
    """Objects as calls, with arguments that their classes left out as the file has them."""

    def __init__(self, document: Document, draft: RecipeDraft) -> None:
        self.place, self.draft, self.document = document.place, draft, document
        given = document.value if isinstance(document.value, list | tuple) else [document.value]
        self.short = [each for each in _walk(given) if _ignored(each)]
        self._written: list[Call] | None = None

    def call(self, made: Any) -> Call:
        """One transform or group, and what is in it."""
        cls = type(made)
        name, place = cls.__name__, self.place
        A = albumentations()  # noqa: N806
        if cls in (A.Compose, A.ReplayCompose):
            args = {key: getattr(made, key) for key in _OF_COMPOSE if getattr(made, key, None) is not None}
            for key, name_of_targets in (("bbox_params", "bboxes"), ("keypoint_params", "keypoints")):
                processor = made.processors.get(name_of_targets)
                if processor is not None:
                    args[key] = {key: value for key, value in vars(processor.params).items() if not key.startswith("_")}
            return Call(COMPOSE, args, tuple(map(self.call, made.transforms)), place, "albumentations")
        if name in (*GROUPS, ONE_OR_OTHER) and cls is getattr(A, name):
            args = {key: getattr(made, key) for key in _OF_GROUPS if hasattr(made, key)}
            return Call(name, args, tuple(map(self.call, made.transforms)), place, "albumentations")
        found = saved_of(made) if _is_known(cls) else {}
        args = self.whole(made, found) if found else {}
        takes = (registry.arguments(name) or {"properties": {}})["properties"]
        args = {key: taken(value, args) if key in takes else value for key, value in args.items()}
        return Call(name, args, None, place, cls.__module__)

    def whole(self, made: Any, found: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a transform; those that its class left out as the file has them, or named as lost."""
        ignored = _ignored(made)
        if not ignored:
            return found
        name = type(made).__name__
        alike = [
            each
            for each in self.short
            if type(each) is type(made) and _ignored(each) == ignored and saved_of(each) == found
        ]
        calls = [
            call
            for call in self.written()
            if call.name == name and ignored <= call.args.keys() and _is_made_by(call, ignored, found)
        ]
        values = [{key: call.args[key] for key in ignored} for call in calls]
        if values and all(each == values[0] for each in values):
            index = 0
        else:
            index = next(k for k, each in enumerate(alike) if each is made)
            if len(values) != len(alike):
                for key in sorted(ignored):
                    why = "albumentations 2.0.8 has no such argument and leaves it out, and the file does not tell what"
                    self.draft.refuse(f"{name}.{key}", f"{why} it was here: write the step", self.place)
                return found
        args = {key: found.get(key, value) for key, value in calls[index].args.items()}
        return args if "p" in args or "always_apply" in args else {**args, "p": found["p"]}

    def written(self) -> list[Call]:
        """The transforms that the file writes, those under the name that was asked for where it is known."""
        if self._written is None:
            try:
                found = calls_of(self.document.code, self.place.file) if self.document.code else []
            except RecipeError:
                found = []
            asked = self.document.file.rpartition(":")[2]
            named = [each for each in found if each.name == asked or each.name.startswith(f"{asked}.")]
            self._written = [call for each in named or found for call in each.call.walk() if not call.unread]
        return self._written


def _walk(made: Sequence[Any]) -> Iterator[Any]:
    for each in made:
        yield each
        yield from _walk(getattr(each, "transforms", None) or ())


def _ignored(made: Any) -> frozenset[str]:
    """Arguments that a transform was given, and that its class does not know."""
    ignored = frozenset(getattr(made, "invalid_args", None) or ())
    # What A.save writes of a parent's arguments comes back as unknown ones, and says nothing that is lost.
    return ignored - saved_of(made).keys() if ignored else ignored


def _is_made_by(call: Call, ignored: frozenset[str], found: dict[str, Any]) -> bool:
    """Whether a call, without the arguments that its class does not know, makes such a transform."""
    args = {key: value for key, value in call.args.items() if key not in {"p", *ignored}}
    try:
        return saved_of(registry.corrected(Step(call.name, Arguments(args), p=call.args.get("p")))) == found
    except (RecipeError, KeyError, TypeError, ValueError):
        return False


def _is_known(cls: type) -> bool:
    """Whether a recipe's step, or output, of the class's name is this class, and no other one."""
    name = cls.__name__
    if name in OUTPUTS:
        return cls is getattr(albumentations(), name, None)
    try:
        return registry.arguments(name) is not None and registry.get_class(name) is cls
    except KeyError:
        return False


DIALECT = Dialect("an A.Compose, given as MODULE:NAME or FILE.py:NAME", owns, draft)
