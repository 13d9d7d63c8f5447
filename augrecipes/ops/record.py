"""The record of a class of steps: all that the compiler knows of it. Nothing else is assumed."""

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

# What one draw means for images of one scene on several grids.
Grids = Literal["same", "alike", "never"]

Resizes = Literal["whole", "window", "target"]
Crops = Literal["centre", "anywhere", "placed"]
Effect = Literal["field", "padding", "compression", "noise"]

_ON_LEVELS = frozenset({"from_lab", "inpaint_ns", "inpaint_telea"})
# The facts of a step whose arguments do not meet the condition of a fact.
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
    """The facts of one class.

    Attributes:
        name: the class's name.
        action: `identity`: changes nothing. `window`: keeps a sub-rectangle, pixels unchanged. `dihedral`: a flip,
            quarter turn or transposition. `padding`: adds a border, pixels unchanged. `warp`: one 3×3 matrix,
            resampled. `lookup`: uint8 → uint8 by one table per channel, the same everywhere in the image. `matrix`:
            one 3×4 colour matrix. `pointwise`: each output pixel from its own input pixel. `opaque`: anything else;
            never moved, never joined.
        random: it draws more than whether it acts.
        statistics: what it reads of the whole image, such as `the mean`, so that a crop before it changes its result.
        resamples: it interpolates between pixels.
        channels: the numbers of channels that it accepts; None: any.
        targets: the targets that it changes; other masks, boxes or keypoints stay as they are.
        when: by fact, the condition on the arguments (defaults merged) under which it holds; see `under`. `recolours`
            and `joins_warps` hold with `action`.
        changes_dtype: it changes the image's dtype.
        pixels: the arguments that count pixels of windows and sizes; a pair scales them to each target.
        grids: the meaning of one draw on images of one scene at several scales. `same`: the same change of the scene on
            each, once windows or matrices are scaled. `alike`: the draw fits each image, but the change is sized in
            pixels, interpolates or reads each image's statistics. `never`: the draw is positions or maps in pixels of
            one image. None: `never` for opaque steps, `same` for others.
        overwrites: the condition on the arguments (defaults merged) under which albumentations writes into its input
            image; None: it never does.
        channels_of: the number of channels for which the arguments (defaults merged) have a value each, where the class
            does not check that the image has as many; None: any.
        forgets: defaults for drawn parameters that the class sometimes leaves out and then lacks.
        mend: the mixin, module and name in ops, for a class whose pixels depend on alignment or OpenCV's threads, or
            that fails on some images.
        recolours: it changes colours by little more than a matrix, so that `fast` joins it with others.
        colour_error: its error in levels and its gain where it is joined, or a function of the arguments (defaults
            merged); None: two levels, and `gain`.
        jumps: neighbouring levels may become very different ones.
        draws_from: the targets whose values its draws depend on. A count of photons per pixel, say, uses a number of
            random bits that depends on the image, and so do all later draws. None: not known.
        gain: the factor by which it may amplify the largest difference of two images (uint8: plus one level for
            rounding), or a function of the arguments (defaults merged). None: unbounded, because thresholds or
            statistics of the image decide; or not known.
        in_levels: it rounds float32 images to 255 levels, so that a last bit may become a level, as steps do that
            OpenCV has for uint8 only.
        deep: for steps `in_levels`, the step to use where images have more than 256 levels.
        in_place: it changes masks, too, but moves no pixel.
        hides: it replaces some pixels, so that whatever is under them cannot be seen.
        displaces: it moves pixels of the image, but not masks, boxes and keypoints.
        size: (arguments with defaults, size bounds before it) → size bounds after it; None: the size stays.
        resizes: `whole` images or a `window` of them to a size by the arguments, or whole images to the size of the
            `target` of a Degrade; None: it does not resize.
        crops: the part that a crop keeps: the `centre`; a window `anywhere`; one `placed` by a box of the sample or
            between strips that are cut off. None: it is no crop.
        turns: the arguments by which it rotates, shears or tilts the image, so that corners show the outside.
        symmetry: `h`, `v` or `t` for a flip or transposition that draws nothing.
        is_rotation: it rotates without mirroring.
        draw_period: the epochs in which `draws: alternate` draws each outcome once; 1: it cannot alternate.
        needs: the target without which it raises.
        effect: it warps by a `field` of displacements, paints a border (`padding`), loses detail everywhere
            (`compression`), or draws for each pixel (`noise`).
        channels_after: the number of channels after it by the arguments (defaults merged); None: as before.
        wide: the arguments whose default is far wider than in other libraries.
        instead: the steps that replace it in a hand-written evaluation.
        neutral: the value of each range at which it changes nothing.
        only_draws: the ranges that are all it draws, if any: where each is a single value, it draws nothing.
        meanings: the meaning of a single number for arguments with validators of this class; the schema has the others.
        limits: bounds of arguments, beyond which memory or time runs out on the smallest image, or a formula breaks.
        above_zero: ranges that a formula divides by, which must reach beyond 0.
        rising: pairs whose second number must be at least the first, or (1) larger.
        unsigned: ranges for which a single number must not be below 0.
        check: the further checks of its constructor.
        asks: its constructor checks the arguments, although albumentations must be imported; for rare classes.
        in_eval: its replacement in evaluation, and why; (None, why): there is none. None: the rule for every class.
        settled: for a step that stays in evaluation: arguments with defaults → arguments that leave nothing to draw;
            None: the middles of `neutral`, where these are all that it draws.
        module: the module of a class of our own.
        adds: the argument that albumentations' class of the same name lacks.
        reads: the argument that names image files and folders, relative to the recipe's file.
        reference_names: names that this argument also takes.
        joins_warps: when `fast` samples its field together with later warps.
        fast: for a class without a native op, a faster implementation with the same bits: module and name in
            compiler/kernels.
        native: the encoder of its native op.
        host_drawn: kernels apply it, and Python draws it, by boxes or the stains of a bag.
        native_with: the arguments for which it has a native op: their values, or `UpTo` a bound.
        native_note: further conditions of its native op, in words for people.
        native_joined: the encoder of its op among joined colours of `fast`.
        own_noise: the mixin, module and name in compiler/kernels, by which `fast` takes its noise or its field from the
            counter-based generator.
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
        """Whether the class has a record; registered classes have none."""
        return bool(self.name)

    @property
    def moves(self) -> bool:
        """Whether it may move pixels, and with them masks, boxes and keypoints."""
        return "mask" in self.targets and not self.in_place

    @property
    def resamples_targets(self) -> bool:
        """Whether it interpolates the image and its mask."""
        return self.resamples and "mask" in self.targets

    @property
    def scales(self) -> bool:
        """Whether it scales images along rows and columns."""
        return self.resizes is not None or (self.effect == "padding" and self.resamples)

    @property
    def is_corrected(self) -> bool:
        """Whether it moves boxes, keypoints or masks differently from albumentations: see docs/DIFFERENCES.md."""
        return self.effect in ("field", "padding") or self.hides or self.scales or self.action == "warp"

    @property
    def is_matrix(self) -> bool:
        """Whether it moves no pixels, or moves them by a 3×3 matrix that follows from its draws alone."""
        has_geometry = self.action != "opaque" or self.effect == "padding"
        return not self.moves or (has_geometry and not self.host_drawn)

    @property
    def has_matrix(self) -> bool:
        """Whether it moves pixels by a 3×3 matrix, perhaps drawn from boxes or masks."""
        return self.moves and (self.is_matrix or self.crops is not None)

    @property
    def cuts_sides(self) -> bool:
        """Whether it cuts a window of `height` × `width` with unchanged pixels."""
        return self.crops is not None and self.resizes is None and self.size is to_sides

    @property
    def runs(self) -> str:
        """How it runs with the arguments of `native_when`: `native`, `host-drawn`, `opaque`, or native in part."""
        if self.native is not None:
            return "host-drawn" if self.host_drawn else "native"
        return "opaque" if self.native_joined is None else "native in `fast`, if its colours are merged"

    @property
    def native_when(self) -> str:
        """The arguments with which it is native, in words; empty: any."""
        return "; ".join(filter(None, (*map(condition_text, self.native_with.items()), self.native_note)))

    def encode(self, step: Any, *, joined: bool = False) -> NativeOp | None:
        """Encode a transform, joined with others or by itself; None where kernels lack its class or its arguments."""
        native = self.native_joined if joined else self.native
        fits = joined or all(meets(getattr(step, name), value) for name, value in self.native_with.items())
        return native(step) if native is not None and fits else None

    @property
    def draws_strength(self) -> bool:
        """Whether it draws nothing but its strength."""
        return bool(self.neutral) and {*self.only_draws} == {*self.neutral}

    @property
    def annotation_effect(self) -> str:
        """What it does to masks, boxes and keypoints, in words."""
        return "stay" if "mask" not in self.targets else "change in place" if self.in_place else "move with the pixels"

    @property
    def fast_changes(self) -> str:
        """What `fast` may change in it, in words; empty: nothing."""
        allowed = self.action == "warp", self.recolours, bool(self.own_noise)
        return ", ".join(compress(("resampling", "levels", "noise"), allowed))

    def __post_init__(self) -> None:
        if self.grids is None:
            object.__setattr__(self, "grids", "never" if self.action == "opaque" else "same")

    def under(self, arguments: Mapping[str, Any]) -> "OpRecord":
        """The facts of a step with `arguments` (defaults merged); see `registry.record_of`.

        >>> record = OpRecord("Blur", statistics="the mean", when={"statistics": lambda a: a["contrast"] != 0})
        >>> record.under({"contrast": 0}).statistics, record.under({"contrast": 1}).statistics
        ('', 'the mean')
        >>> OpRecord("Blur", gain=lambda a: a["scale"]).under({"scale": 2.0}).gain
        2.0
        >>> OpRecord("ToGray").under({"method": "from_lab"}).in_levels
        True
        """
        unmet = tuple(fact for fact, holds in self.when.items() if not holds(arguments))
        record = _drop_facts(self, unmet) if unmet else self
        facts = {name: fact(arguments) for name in ("gain", "colour_error") if callable(fact := getattr(record, name))}
        if not _ON_LEVELS.isdisjoint(map(str, arguments.values())):
            facts["in_levels"] = True
        return replace(record, **facts) if facts else record

    @property
    def of_some_channels(self) -> "OpRecord":
        """The facts of a step limited to some channels, which no rule and no kernel takes."""
        return _drop_facts(self, ("action", "own_noise"))

    @property
    def joined_error(self) -> tuple[float, float]:
        """Its error in levels and its gain where it is joined, for a record `under` some arguments."""
        return (2, self.gain or 1.0) if self.colour_error is None else self.colour_error


@cache
def _drop_facts(record: OpRecord, facts: tuple[str, ...]) -> OpRecord:
    """The record without some facts; cached, because it has many fields."""
    return replace(record, **dict(chain.from_iterable(_UNLESS[fact].items() for fact in facts)))
