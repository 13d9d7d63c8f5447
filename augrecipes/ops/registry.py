"""Every class that can be a step: albumentations', augrecipes' own, and registered ones."""

from collections.abc import Callable, Mapping
from functools import cache, lru_cache, partial
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

from augrecipes.compat.guard import albumentations, collected, is_validated
from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.ops import catalog, readable
from augrecipes.ops.catalog import Schema, class_schema
from augrecipes.ops.constants import to_name, to_number
from augrecipes.ops.groups import GROUPS, ONE_OF, PAIR_STEPS, POLICIES
from augrecipes.ops.record import OpRecord
from augrecipes.ops.records import op_record
from augrecipes.ops.refused import REFUSED
from augrecipes.ops.step import Step

RESERVED = ("p", "id", "target", "at", "share", "channels", "steps")

_Registered = TypeVar("_Registered", bound=Callable[..., Any])
_registered: dict[str, type] = {}
_foregrounds: dict[str, Callable[..., Any]] = {}


def register(cls: _Registered) -> _Registered:
    """Make a transform class usable as a step, by its class name; also works as a decorator.

    A function becomes usable by its name as `bag: {tissue: NAME}`; it takes a thumbnail, uint8 H×W×3, and returns the
    mask of tissue, bool H×W.

    Args:
        cls: a subclass of `albumentations.BasicTransform` (DualTransform, ImageOnlyTransform) whose constructor takes
            `p`, or a function. An `InitSchema`, as albumentations' classes have, lets recipes check its arguments.

    Returns:
        `cls` itself.

    Raises:
        TypeError: `cls` is neither a transform class nor a function.
        ValueError: its name is taken, or an argument has the name of a reserved key of steps.

    >>> import albumentations as A
    >>> @register
    ... class KeepTopLeft(A.ImageOnlyTransform):
    ...     def apply(self, img, **params):
    ...         return img[:32, :32]
    >>> "KeepTopLeft" in registered()
    True
    """
    if isinstance(cls, FunctionType):
        if cls.__name__ in ("otsu", "none", "recipe"):
            raise ValueError(f"cannot register {cls.__name__!r}: in `tissue:` the name means something else")
        _foregrounds[cls.__name__] = cls
        return cls
    if not isinstance(cls, type) or not issubclass(cls, albumentations().BasicTransform):
        raise TypeError(f"register takes a subclass of albumentations.BasicTransform, got {cls!r}")
    name = cls.__name__
    if _is_ours(name):
        raise ValueError(f"cannot register {name!r}: the name belongs to a class that recipes know already")
    clashes = sorted(set(class_schema(cls)["properties"]) & set(RESERVED) - {"p"})
    if clashes:
        raise ValueError(f"cannot register {name!r}: argument {clashes[0]!r} is a reserved key of a step; rename it")
    before = _registered.get(name, cls)
    # A second definition replaces the first, as when a notebook's cell runs again.
    if (before.__module__, before.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(f"cannot register {name!r}: {before.__module__} has registered a class of this name")
    _registered[name] = cls
    _live_schema.cache_clear()
    return cls


def foregrounds() -> dict[str, Callable[..., Any]]:
    """Registered functions that find tissue, by name."""
    return dict(_foregrounds)


def registered() -> dict[str, type]:
    """Registered classes by name."""
    return dict(_registered)


def is_registered(name: str) -> bool:
    """Whether a class of this name was registered."""
    return name in _registered


def is_image_only(name: str) -> bool:
    """Whether a registered class changes images only, and so must leave pixels in place as it does masks."""
    return is_registered(name) and any(base.__name__ == "ImageOnlyTransform" for base in get_class(name).__mro__)


def _is_ours(name: str) -> bool:
    """Whether recipes know the name already."""
    return name in (*GROUPS, *POLICIES) or name in catalog.shipped() or name in REFUSED


def names() -> tuple[str, ...]:
    """Every class name that can be a step (groups not included), sorted. Imports no albumentations.

    >>> "RandomCrop" in names(), "Lambda" in names()
    (True, False)
    """
    return tuple(sorted({*catalog.shipped(), *_registered}))


def get_class(name: str) -> type:
    """The class behind a step's name.

    Raises:
        KeyError: no step has this name.

    >>> get_class("HorizontalFlip").__name__
    'HorizontalFlip'
    """
    if name in _registered:
        return _registered[name]
    if module := op_record(name).module:
        return getattr(import_module(module), name)
    if name not in catalog.shipped() or name in PAIR_STEPS:
        raise KeyError(name)
    return getattr(albumentations(), name)


def arguments(name: str) -> Schema | None:
    """The JSON Schema of the arguments of the class `name`, with `p`; None for an unknown name."""
    shipped = catalog.shipped().get(name)
    if shipped is not None:
        return shipped
    return _live_schema(name) if is_registered(name) else None


def takes(name: str) -> Schema:
    """The schema of each argument of the class `name`, by name; empty for an unknown one."""
    return (arguments(name) or {"properties": {}})["properties"]


@cache
def _live_schema(name: str) -> Schema:
    return class_schema(get_class(name))


def default_p(name: str) -> float:
    """The probability of a step without `p`: its class's default, 1 for groups.

    >>> default_p("HorizontalFlip"), default_p("RandomCrop"), default_p("OneOf")
    (0.5, 1.0, 1.0)
    """
    return float(takes(name).get("p", {}).get("default", 1.0))


def chance(step: Step) -> float:
    """The effective probability of a step or group; 0 for a OneOf whose steps all have weight 0."""
    if step.name == ONE_OF and step.steps and not any(map(chance, step.steps)):
        return 0.0
    return default_p(step.name) if step.p is None else float(step.p)


def draw_period(step: Step) -> int:
    """The epochs in which an alternating step draws each outcome once; 1: the step does not alternate."""
    return op_record(step.name).draw_period if step.args.get("draws") == "alternate" else 1


def effective(step: Step) -> dict[str, Any]:
    """The step's arguments with defaults merged, constants by name, `p` last.

    >>> from augrecipes.ops.step import Arguments
    >>> from augrecipes.ops.step import Step
    >>> effective(Step("VerticalFlip"))
    {'p': 0.5}
    >>> effective(Step("Rotate", Arguments({"limit": 20, "border_mode": 4})))["border_mode"]
    'reflect_101'
    """
    values = {name: part["default"] for name, part in takes(step.name).items() if "default" in part}
    values |= {name: to_name(name, value) for name, value in step.args.plain().items()}
    return {**{name: value for name, value in values.items() if name != "p"}, "p": chance(step)}


def record_of(step: Step) -> OpRecord:
    """The record of a step under its arguments.

    >>> from augrecipes.ops.step import Step
    >>> record_of(Step("ColorJitter")).statistics
    'the mean (for its contrast)'
    """
    return _under(op_record(step.name), step)


@lru_cache(maxsize=4096)
def _under(record: OpRecord, step: Step) -> OpRecord:
    record = record.under(effective(step))
    return record.of_some_channels if step.channels else record


def construct(step: Step, *mixins: type) -> Any:
    """Construct the transform of one step, no group, with albumentations' errors corrected.

    What albumentations only warns of (unknown arguments, corrected values) is an error. `mixins` come right in front of
    albumentations' class.

    Raises:
        RecipeError: the class does not take these arguments, or the step's name has no class.

    >>> from augrecipes.ops.step import Arguments
    >>> from augrecipes.ops.step import Step
    >>> construct(Step("RandomCrop", Arguments({"height": 64, "width": 64}))).p
    1.0
    """
    from augrecipes.ops.places import right_class  # imports numpy, which reading a recipe does not need

    transform = _built(step, lambda cls: right_class(cls, *mixins))
    from augrecipes.compat.albumentations import apply_to_copy, check_result, require_channels, wrap_apply
    from augrecipes.ops.on_channels import limit_to_channels

    record = op_record(step.name)
    if record.overwrites is not None and record.overwrites(effective(step)):
        wrap_apply(transform, apply_to_copy)
    if record.channels_of is not None and (channels := record.channels_of(effective(step))):
        wrap_apply(transform, require_channels, channels)
    if is_registered(step.name):
        wrap_apply(transform, check_result)
    if record.forgets is not None:
        transform.get_params = partial(dict, record.forgets)  # defaults, which later draws override
    if step.channels:
        limit_to_channels(transform, step.channels)
    if (period := draw_period(step)) > 1:
        transform.draw_turn = (1 << 64) // period
    return transform


def plain(step: Step) -> Any:
    """Construct a step's transform without corrections."""
    return _built(step, lambda _: plain_class(step))


def plain_class(step: Step) -> type:
    """The class of `plain`: albumentations' own, unless the step uses an argument that only ours has.

    >>> from augrecipes.ops.step import Arguments
    >>> [plain_class(Step("ImageCompression", Arguments(given))).__module__.partition(".")[0]
    ...  for given in ({}, {"subsampling": "4:4:4"})]
    ['albumentations', 'augrecipes']
    """
    adds = op_record(step.name).adds
    return get_class(step.name) if not adds or adds in step.args else getattr(albumentations(), step.name)


def _built(step: Step, variant: Callable[[type], type] | None = None) -> Any:
    try:
        cls = get_class(step.name)
    except KeyError:
        raise _error(step, "E302", "", f"no transform of this name can be built: {step.name!r}") from None
    try:
        return build(cls if variant is None else variant(cls), keywords(step))
    except readable.Refusal as refusal:
        raise _error(step, "E308", refusal.argument, refusal.message) from refusal.__cause__


def corrected(step: Step) -> Any:
    """Construct as `plain`, but accept values that the class corrects with a warning.

    Raises:
        ValueError, TypeError: the class does not take the arguments.

    >>> from augrecipes.ops.step import Arguments
    >>> corrected(Step("MotionBlur", Arguments({"blur_limit": [10, 20]}))).blur_limit
    (11, 21)
    """
    with collected():
        return _strict(get_class(step.name), keywords(step))


def keywords(step: Step) -> dict[str, Any]:
    """The keyword arguments for a step's class: tuples, constants as OpenCV's integers, paths of files; no `draws`.

    >>> from augrecipes.ops.step import Arguments
    >>> keywords(Step("Rotate", Arguments({"limit": [-5, 5], "border_mode": "reflect"}), p=1))
    {'limit': (-5, 5), 'border_mode': 2, 'p': 1.0}
    """
    arguments = {name: to_number(name, value) for name, value in tuples(step.args.plain()).items()}
    if op_record(step.name).draw_period > 1:
        arguments.pop("draws", None)
    if step.files:
        reads, paths = op_record(step.name).reads, tuple(str(Path(step.folder, name)) for name in step.files)
        arguments[reads] = paths[0] if isinstance(arguments[reads], str) and len(paths) == 1 else paths
    return arguments if step.p is None else {**arguments, "p": float(step.p)}


def build(cls: type, arguments: Mapping[str, Any]) -> Any:
    """Construct a `cls`; whatever it raises or warns of becomes a Refusal with one readable line."""
    with collected() as messages:
        try:
            transform = _strict(cls, arguments)
        except Exception as error:
            raise readable.from_exception(error, tuple(arguments)) from error
    for message in messages:
        if not readable.is_advice(message):
            raise readable.from_warning(message, tuple(arguments))
    return transform


def _strict(cls: type, arguments: Mapping[str, Any]) -> Any:
    return cls(**arguments, **({"strict": True} if is_validated(cls) else {}))


def _error(step: Step, code: str, argument: str, message: str) -> RecipeError:
    place = step.places.get(argument) or step.position
    name = f"{step.name}.{argument}" if argument else step.name
    return RecipeError(problems=[Diagnostic(message, place.line, place.col, code, name)])


def tuples(value: Any) -> Any:
    """Turn lists into tuples, as albumentations' annotations and defaults have them."""
    if isinstance(value, list):
        return tuple(tuples(item) for item in value)
    return {key: tuples(item) for key, item in value.items()} if isinstance(value, dict) else value
