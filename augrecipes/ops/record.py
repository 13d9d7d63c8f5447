"""The record of a class of steps: all that the compiler may know of it. What is not written down is not assumed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain, compress
from typing import Any, Literal

from augrecipes.ops.checks import Check
from augrecipes.ops.eval_windows import Settled, Window
from augrecipes.ops.intervals import Meaning
from augrecipes.ops.native_op import Encoder, NativeOp, condition_text, meets
from augrecipes.ops.sizes import Bounds, to_sides

Action = Literal["identity", "window", "dihedral", "padding", "warp", "lookup", "matrix", "pointwise", "opaque"]

# How one draw serves images of one scene on several grids.
Grids = Literal["same", "alike", "never"]

Resizes = Literal["whole", "window", "target"]
Crops = Literal["centre", "anywhere", "placed"]
Effect = Literal["field", "padding", "compression", "noise"]

_ON_LEVELS = frozenset({"from_lab", "inpaint_ns", "inpaint_telea"})
# What holds where the arguments are not those of a fact.
_UNLESS: Mapping[str, Mapping[str, Any]] = {
    "action": {"action": "opaque", "recolours": False, "joins_warps": None},
    "random": {"random": True},
    "statistics": {"statistics": ""},
    "grids": {"grids": "never"},
    "own_noise": {"own_noise": ""},
    "resizes": {"resizes": "whole"},
}
IMAGE_ONLY = frozenset({"image"})
NOTHING: frozenset[str] = frozenset()
EVERYTHING = frozenset({"image", "mask", "boxes", "keypoints"})


@dataclass(frozen=True, slots=True, eq=False)
class OpRecord:
    """What is known of one class.

    Attributes:
        name: the class's name.
        action: `identity`: changes nothing. `window`: keeps a sub-rectangle, pixels unchanged. `dihedral`: a flip,
            quarter turn or transposition. `padding`: adds a border, pixels unchanged. `warp`: one 3×3 matrix,
            resampled. `lookup`: uint8 → uint8 through one table a channel, the same everywhere in the image. `matrix`:
            one 3×4 colour matrix. `pointwise`: each output pixel from its own input pixel. `opaque`: anything else;
            never moved, never joined.
        random: makes draws beyond the one behind `p`.
        statistics: what it reads of the whole image, so that a crop before it changes its result: such as `the mean`.
        resamples: interpolates between pixels.
        channels: channel counts it accepts, or None for any.
        targets: what it changes; a mask, boxes or keypoints that it does not name stay as they are.
        when: the arguments (defaults merged) under which some of these facts hold, by the fact's name; see `under`.
            With `action` go `recolours` and `joins_warps`.
        changes_dtype: the image's dtype after it is not the dtype before it.
        pixels: the arguments that count pixels of windows and sizes; a pair scales them to each target.
        grids: one draw on images of one scene at several scales. `same`: the same change of the scene on each (of
            geometry: once the window, or the matrix, is scaled). `alike`: the draws fit each, but the change is sized
            in pixels, interpolates or reads each image's statistics. `never`: the draws are places or maps in pixels
            of one image. None becomes `never` of opaque steps, and `same` of the others.
        overwrites: the arguments (defaults merged) under which albumentations writes into the image that it is given,
            instead of a new one; None: never.
        channels_of: for how many channels the arguments (defaults merged) have a value each, where the class does not
            look whether the image has as many; None: for any.
        forgets: parameters that the class at times leaves out of its draws, and then lacks; what stands in for them.
        mend: of one whose pixels depend on where memory lies or on how many threads OpenCV has, or that fails on some
            images: the class in front of it that puts that right; module and name in ops.
        recolours: it changes colours by little more than a matrix: `fast` joins it with others that do.
        colour_error: the levels by which it may differ then, and how hard it amplifies, or a function of the arguments
            (defaults merged); None: two levels, and `gain`.
        jumps: of one that goes by pixels: two levels side by side may become very different ones.
        draws_from: the targets whose values decide what it draws: of a count of photons in each pixel, say, the number
            of random bits that were used depends on the image, and so does all that is drawn after. None: not known.
        gain: how hard it amplifies: two images that differ by so much at most (on uint8 a level more, for rounding)
            come out as different as that times `gain`. A number, or a function of the arguments (defaults merged).
            None: there is no such number, because thresholds or statistics of the image decide, and then a level may
            become a hundred; or it is not known.
        in_levels: float32 images are rounded to levels of 255 on the way, so that the last bit may become a level; so
            are those of what OpenCV does on uint8 alone.
        deep: what to use instead where images have more than 256 levels, of one that acts `in_levels`.
        in_place: it changes masks, too, and puts no pixel elsewhere.
        hides: it puts something else in the place of some pixels, so that what lies under them cannot be seen.
        displaces: it puts pixels of the image elsewhere, and what lies on the image stays.
        size: from the arguments (defaults merged) and what is known of the size before it to what is known behind it.
            None: the size stays.
        resizes: what to which size: `whole` images, or a `window` of them, to what the arguments say; whole ones to
            the size of a `target` that Degrade makes.
        crops: which part of an image it keeps: its `centre`; a window `anywhere` in it; one that is `placed` by a box
            of the sample or between strips that are cut off. None: it is no crop.
        turns: the arguments that say how far it turns, shears or tilts the image, so that corners show what lies
            outside of it.
        symmetry: of a flip or transposition that draws nothing: `h`, `v` or `t`.
        is_rotation: of one that turns without mirroring.
        draw_period: epochs in which `draws: alternate` comes to each outcome of its draws once; 1: it cannot alternate.
        needs: the target without which it raises.
        effect: what no kernel of several steps does: it bends the image by a `field` of displacements, paints a
            border (`padding`), loses detail all over it (`compression`), or draws each pixel for itself (`noise`).
        channels_after: from the arguments (defaults merged) to how many channels it makes; None: as many as before.
        wide: the arguments whose default is far wider than that of the same step elsewhere.
        instead: what stands for it in an evaluation that is written by hand.
        neutral: the value of each range at which it changes nothing.
        only_draws: the ranges that are all it draws, if there are such: with each of one value, it draws nothing.
        meanings: what one number means for an argument whose validator is written for this class; of the others the
            schema says it.
        limits: least and greatest number of an argument that is carried out: beyond, memory or time runs out on the
            smallest image, or a formula breaks.
        above_zero: ranges that a formula divides by: 0 may be drawn, next to never, but not always.
        rising: pairs whose second number must be as large as the first or, at 1, larger.
        unsigned: ranges of which a single number must not be below 0.
        check: what else its constructor checks.
        asks: the constructor itself is asked: of a class that is rare, for albumentations is imported for it.
        in_eval: what stands for it in evaluation, and why; None and why: nothing can. None: what holds for every class.
        settled: of a step that stays in evaluation, from the arguments that take effect to those that leave nothing to
            draw; None: the middles of `neutral`, where these are all that it draws.
        module: of one of our own, where it lives.
        adds: the argument that albumentations' class of the name lacks, which is the same where it is not given.
        reads: the argument that names image files and folders, counted from the recipe's file.
        reference_names: words that may stand there instead.
        joins_warps: a field that `fast` samples together with warps behind it.
        fast: of a class without a native op, what does its work faster, bit for bit: module and name in
            compiler/kernels.
        native: what makes it a part of plans that run without Python, from a transform to its numbers.
        host_drawn: the kernels do what it does, and Python draws it, by boxes or the stains of a bag.
        native_with: the values of arguments with which alone it is one: `UpTo` a bound, or the value itself.
        native_note: what else arguments must be for that, in words for people.
        native_joined: the same where `fast` joins its colours with others: its pass alone is no part of plans.
        own_noise: the class in front of it by which `fast` counts its noise, or makes its field of displacements:
            module and name in compiler/kernels.
    """

    name: str
    action: Action = "opaque"
    random: bool = True
    statistics: str = ""
    resamples: bool = False
    channels: tuple[int, ...] | None = None
    targets: frozenset[str] = IMAGE_ONLY
    when: Mapping[str, Callable[[Mapping[str, Any]], bool]] = field(default_factory=dict)
    changes_dtype: bool = False
    pixels: tuple[str, ...] = ()
    grids: Grids | None = None
    forgets: Mapping[str, Any] | None = None
    mend: str = ""
    recolours: bool = False
    colour_error: Any = None
    jumps: bool = False
    draws_from: frozenset[str] | None = None
    gain: Any = None
    in_levels: bool = False
    deep: str = ""
    overwrites: Callable[[Mapping[str, Any]], bool] | None = None
    channels_of: Callable[[Mapping[str, Any]], int | None] | None = None
    in_place: bool = False
    hides: bool = False
    displaces: bool = False
    size: Bounds | None = None
    resizes: Resizes | None = None
    crops: Crops | None = None
    turns: tuple[str, ...] = ()
    symmetry: Literal["h", "v", "t"] | None = None
    is_rotation: bool = False
    draw_period: int = 1
    needs: Literal["boxes", "mask"] | None = None
    effect: Effect | None = None
    channels_after: Callable[[Mapping[str, Any]], int] | None = None
    wide: tuple[str, ...] = ()
    instead: str = ""
    neutral: Mapping[str, float] = field(default_factory=dict)
    only_draws: tuple[str, ...] = ()
    meanings: Mapping[str, Meaning] = field(default_factory=dict)
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    above_zero: tuple[str, ...] = ()
    rising: Mapping[str, int] = field(default_factory=dict)
    unsigned: tuple[str, ...] = ()
    check: Check | None = None
    asks: bool = False
    in_eval: tuple[Window | None, str] | None = None
    settled: Settled | None = None
    module: str = ""
    adds: str = ""
    reads: str = ""
    reference_names: tuple[str, ...] = ()
    joins_warps: Literal["always", "where it leaves fewer pixels"] | None = None
    fast: str = ""
    native: Encoder | None = None
    native_with: Mapping[str, Any] = field(default_factory=dict)
    native_note: str = ""
    native_joined: Encoder | None = None
    host_drawn: bool = False
    own_noise: str = ""

    @property
    def is_known(self) -> bool:
        """Whether anything is known of the class: one that a program registered has no record."""
        return bool(self.name)

    @property
    def moves(self) -> bool:
        """Whether it may put pixels elsewhere, on everything that is told by their place."""
        return "mask" in self.targets and not self.in_place

    @property
    def resamples_targets(self) -> bool:
        """Whether it interpolates the image together with what lies on it."""
        return self.resamples and "mask" in self.targets

    @property
    def scales(self) -> bool:
        """Whether it brings images to another size by whole rows and columns."""
        return self.resizes is not None or (self.effect == "padding" and self.resamples)

    @property
    def is_corrected(self) -> bool:
        """Whether boxes, keypoints or masks go otherwise through it than in albumentations: see docs/DIFFERENCES.md."""
        return self.effect in ("field", "padding") or self.hides or self.scales or self.action == "warp"

    @property
    def is_matrix(self) -> bool:
        """Whether it leaves pixels in their place, or moves them by a 3×3 matrix that its draws alone tell."""
        known = self.action != "opaque" or self.effect == "padding"
        return not self.moves or (known and not self.host_drawn)

    @property
    def has_matrix(self) -> bool:
        """Whether a 3×3 matrix says where it moves pixels, once it has drawn by whatever lies on the image."""
        return self.moves and (self.is_matrix or self.crops is not None)

    @property
    def cuts_sides(self) -> bool:
        """Whether it cuts a window of `height` × `width`, and keeps its pixels."""
        return self.crops is not None and self.resizes is None and self.size is to_sides

    @property
    def runs(self) -> str:
        """How it runs with the arguments of `native_when`: `native`, `host-drawn`, `opaque`, or native in part."""
        if self.native is not None:
            return "host-drawn" if self.host_drawn else "native"
        return "opaque" if self.native_joined is None else "native in `fast`, if its colours are merged"

    @property
    def native_when(self) -> str:
        """The arguments with which it is native, in words for people; "": with any."""
        return "; ".join(filter(None, (*map(condition_text, self.native_with.items()), self.native_note)))

    def encode(self, step: Any, *, joined: bool = False) -> NativeOp | None:
        """A transform as numbers, joined with others or alone; None where programs do not know it, or not like this."""
        native = self.native_joined if joined else self.native
        known = joined or all(meets(getattr(step, name), value) for name, value in self.native_with.items())
        return native(step) if native is not None and known else None

    @property
    def draws_strength(self) -> bool:
        """Whether it draws nothing but how much it does."""
        return bool(self.neutral) and {*self.only_draws} == {*self.neutral}

    @property
    def annotation_effect(self) -> str:
        """What becomes of masks, boxes and keypoints."""
        return "stay" if "mask" not in self.targets else "change in place" if self.in_place else "move with the pixels"

    @property
    def fast_changes(self) -> str:
        """What `fast` may change of it; empty for nothing."""
        may = self.action == "warp", self.recolours, bool(self.own_noise)
        return ", ".join(compress(("resampling", "levels", "noise"), may))

    def __post_init__(self) -> None:
        if self.grids is None:
            object.__setattr__(self, "grids", "never" if self.action == "opaque" else "same")

    def under(self, arguments: Mapping[str, Any]) -> OpRecord:
        """What holds of a step with `arguments` (defaults merged); see `registry.record_of`.

        >>> record = OpRecord("Blur", statistics="the mean", when={"statistics": lambda a: a["contrast"] != 0})
        >>> record.under({"contrast": 0}).statistics, record.under({"contrast": 1}).statistics
        ('', 'the mean')
        >>> OpRecord("Blur", gain=lambda a: a["scale"]).under({"scale": 2.0}).gain
        2.0
        >>> OpRecord("ToGray").under({"method": "from_lab"}).in_levels
        True
        """
        unmet = tuple(fact for fact, holds in self.when.items() if not holds(arguments))
        record = _without(self, unmet) if unmet else self
        drawn = {name: fact(arguments) for name in ("gain", "colour_error") if callable(fact := getattr(record, name))}
        if not _ON_LEVELS.isdisjoint(map(str, arguments.values())):
            drawn["in_levels"] = True
        return replace(record, **drawn) if drawn else record

    @property
    def of_some_channels(self) -> OpRecord:
        """What holds where it changes some channels alone: no rule knows that, and no kernel does it."""
        return _without(self, ("action", "own_noise"))

    @property
    def joined_error(self) -> tuple[float, float]:
        """Levels by which it may differ where it is joined, and its gain; of a record `under` some arguments."""
        error: tuple[float, float] = (2, self.gain or 1.0) if self.colour_error is None else self.colour_error
        return error


@cache
def _without(record: OpRecord, facts: tuple[str, ...]) -> OpRecord:
    """The record of steps of which some facts do not hold; made once, as it has many fields."""
    return replace(record, **dict(chain.from_iterable(_UNLESS[fact].items() for fact in facts)))
