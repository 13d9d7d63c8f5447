"""Pipelines of torchvision.transforms, version 2 or 1, as recipes with the same meaning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from augrecipes.errors import RecipeError
from augrecipes.interop.draft import Call, Item, LeftOut, Line, RecipeDraft, acting, name_of, takes_of
from augrecipes.interop.reading import Document
from augrecipes.interop.sample import Args, SampleState, Unheld, lines_by
from augrecipes.interop.torchvision import signatures
from augrecipes.interop.torchvision.signatures import MAKERS, PARAMETERS
from augrecipes.ops.groups import COMPOSE, NO_OP, ONE_OF, RANDOM_ORDER, SEQUENTIAL
from augrecipes.recipe import suggest
from augrecipes.recipe.model import Recipe

# What has no step of the same meaning: why, and what comes nearest.
APART: dict[str, str] = {
    "LinearTransformation": "whitening needs a matrix, which a recipe cannot hold: apply it to the batch",
    "RandomAdjustSharpness": "Sharpen works by another kernel: for factors above 1 write "
    "`Sharpen: {alpha: [0.2, 0.5], p: 0.5}`, below 1 a weak `GaussianBlur`",
    "RandomIoUCrop": "its windows keep a share of some box: write `AtLeastOneBBoxRandomCrop` or "
    "`RandomSizedBBoxSafeCrop`, which keep boxes in their own ways",
    "RandomPerspective": "it shrinks the image into a random quadrangle, where Perspective enlarges one: for like "
    "strength write `Perspective: {scale: [0.05, 0.1], p: 0.5}`",
    "RandomZoomOut": "it puts the image on a larger canvas: for a like effect at one size write "
    "`Affine: {scale: [0.25, 1.0], keep_ratio: true, p: 0.5}`",
    "Lambda": "a recipe holds no code: write a class and make it known with augrecipes.register(cls)",
    "SanitizeKeyPoints": "write `inputs: {keypoints: {remove_invisible: true}}`",
}
_GROUPS = frozenset({"RandomApply", "RandomChoice", "RandomOrder"})


def from_torchvision(transform: Any, name: str = "imported") -> Recipe:
    """A recipe with the meaning of a torchvision pipeline: the same ranges and chances, draws of its own.

    Args:
        transform: a `Compose` of torchvision.transforms, version 2 or 1, or a single transform.
        name: of the recipe, `[a-z0-9-]`.

    Raises:
        RecipeError: parts of it have no place in a recipe; `problems` names each with the way out.
        TypeError: it is no pipeline of torchvision.
    """
    document = Document(name, value=transform)
    if not is_object(document):
        raise TypeError(f"from_torchvision takes a transform of torchvision, got {transform!r:.200}")
    made = draft_of_object(document)
    if left := made.left_out():
        raise RecipeError(problems=left)
    return made.recipe()


def is_object(document: Document) -> bool:
    """Whether the document is an object of torchvision."""
    return signatures.is_torchvision(document.value)


def draft_of_object(document: Document) -> RecipeDraft:
    """What the object does, as a recipe."""
    made = RecipeDraft(name_of(document.file), "a pipeline of torchvision", document.place)
    fill(made, signatures.read(document.value, document.file))
    return made


def fill(draft: RecipeDraft, call: Call) -> None:
    """Put what a Compose of torchvision does into a draft; a lone transform is a Compose of itself."""
    picture = SampleState(draft, {"dtype": "uint8", "layout": "hwc"})
    picture.finish(lines(call.children or () if call.name == COMPOSE else (call,), picture))


def lines(calls: Sequence[Call], picture: SampleState) -> list[Item]:
    """The calls as lines; what has no place in a recipe is among them as left out."""
    return lines_by(_made, calls, picture)


def _made(call: Call, picture: SampleState) -> list[Item]:
    call = call.by_name([key for key in PARAMETERS.get(call.name, ()) if key != "transforms"])
    if call.unread:
        raise Unheld(APART.get(call.name) or call.unread)
    args = {key: value for key, value in call.args.items() if key != "transforms"}
    unknown = [key for key in args if key not in PARAMETERS.get(call.name, args)]
    if call.package and not call.package.startswith("torchvision"):
        raise Unheld(_hint(call))
    if call.name == COMPOSE:
        return lines(call.children or (), picture)
    if call.name in MAKERS or call.name in _GROUPS:
        if unknown:
            raise Unheld(f"torchvision's {call.name} has no argument {unknown[0]!r}")
        return _group(call, args, picture) if call.name in _GROUPS else MAKERS[call.name][1](args, picture)
    raise Unheld(APART.get(call.name) or _hint(call))


def _hint(call: Call) -> str:
    foreign = bool(call.package) and not call.package.startswith("torchvision")
    if foreign or call.name not in PARAMETERS:
        where = f" of {call.package}" if foreign else ""
        return (
            f"no transform{where} that augrecipes knows: write it as a class for albumentations and make it known with "
            "augrecipes.register(cls)"
        )
    return suggest.step(call.name, call.args, ()).text.removeprefix("; ") or "nothing in a recipe has the same meaning"


def _group(call: Call, args: Args, picture: SampleState) -> list[Item]:
    children = call.children or ()
    if not children:
        return []
    sides = picture.sides
    if call.name == "RandomApply":
        inside = lines(children, picture)
        picture.sides = sides
        return _applied(call, inside, float(args.get("p", 0.5)))
    if call.name == "RandomChoice":
        weights = args.get("p") or [1 / len(children)] * len(children)
        if len(weights) != len(children):
            raise Unheld(f"{len(weights)} probabilities for {len(children)} transforms")
        total = sum(weights)
        chosen = [_weighed(each, weight / total, picture) for each, weight in zip(children, weights, strict=True)]
        picture.sides = None
        return acting(Line(ONE_OF, {}, call.place, chosen))
    inside = [_whole(lines([each], picture), each) for each in children]
    picture.sides = None
    return acting(Line(RANDOM_ORDER, {}, call.place, inside))


def _applied(call: Call, inside: list[Item], p: float) -> list[Item]:
    """Steps that act together or not at all; one that always acts takes the probability itself."""
    if len(inside) == 1 and isinstance(inside[0], Line) and _acts_always(inside[0]):
        inside[0].args["p"] = p
        return inside
    return acting(Line(SEQUENTIAL, {"p": p}, call.place, inside))


def _weighed(call: Call, weight: float, picture: SampleState) -> Item:
    """A transform that is drawn with that weight: in OneOf a step's `p` is its weight, and it acts for sure."""
    whole = _whole(lines([call], picture), call)
    if isinstance(whole, LeftOut):
        return whole
    if _acts_always(whole):
        whole.args["p"] = round(weight, 6)
        return whole
    return Line(SEQUENTIAL, {"p": round(weight, 6)}, call.place, [whole])


def _whole(made: list[Item], call: Call) -> Item:
    """Several lines as one."""
    if len(made) == 1:
        return made[0]
    if made and not any(isinstance(item, Line) for item in made):
        why = "; ".join(f"{item.name}: {item.why}" for item in made if isinstance(item, LeftOut))
        return LeftOut(call.name, why, call.place)
    return Line(SEQUENTIAL, {"p": 1.0}, call.place, made) if made else Line(NO_OP, {"p": 1.0}, call.place)


def _acts_always(line: Line) -> bool:
    if line.steps is not None:
        return line.args.get("p", 1.0) == 1
    return bool(line.args.get("p", takes_of(line.name).get("p", {}).get("default")) == 1)
