"""Describe steps in words: facts and arguments of a class, labels, and the random parameters of a sample."""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from numbers import Real
from pathlib import Path
from typing import Any

from augrecipes.errors import harmless
from augrecipes.mixtures.families import MIXTURES
from augrecipes.ops import constants, ranges, records, registry
from augrecipes.ops.groups import DEGRADE, GROUPS, POLICIES
from augrecipes.ops.registry import effective
from augrecipes.ops.schedule import is_schedule
from augrecipes.recipe import arguments, grammar, model, sections

_MOST = 5  # facts that are shown of one step
_TABLES = json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))


_AS_CALL, _INNER = "in Python, as a call of its class", "as its steps run"
_RUNS = {"host-drawn": "natively, with parameters drawn in Python", "opaque": _AS_CALL}


def text(value: Any, levels: int = 20) -> str:
    """A value as recipes write it, without outer braces; at most `levels` deep, because forged input may be endless.

    >>> text({"size": (224, 224), "pad": None})
    'size: [224, 224], pad: null'
    """
    if not levels:
        return "…"
    if is_schedule(value):
        return in_epochs(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {text(part, levels - 1)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return f"[{', '.join(text(part, levels - 1) for part in value)}]"
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    return harmless(str(value))


def in_epochs(schedule: Mapping[str, Any]) -> str:
    """A schedule in words.

    >>> in_epochs({"from": 0, "to": 30, "epochs": 10}), in_epochs({"by_epoch": [3, 5]})
    ('0 to 30 in 10 epochs', '3, 5 by epoch')
    """
    if "by_epoch" in schedule:
        return f"{', '.join(map(str, schedule['by_epoch']))} by epoch"
    curve = f", {schedule['curve']}" if schedule.get("curve", "linear") != "linear" else ""
    return f"{schedule['from']} to {schedule['to']} in {schedule['epochs']} epochs{curve}"


def brief(description: Mapping[str, Any]) -> str:
    """A step, as `compiler.prefix.described` gives it, in one line: what differs from its class's defaults.

    >>> brief({"step": "CenterCrop", "height": 8, "width": 8, "p": 1.0})
    'CenterCrop(height: 8, width: 8)'
    """
    name = description["step"]
    defaults = json.loads(json.dumps(effective(model.Step(name)), default=str))
    parts = [
        text({key: value})
        for key, value in description.items()
        if key not in ("step", "steps", "site") and value != defaults.get(key)
    ]
    parts += [brief(child) for child in description.get("steps", ())]
    return f"{name}({', '.join(parts)})" if parts else str(name)


def short_label(label: str, longest: int) -> str:
    """A stage's label in at most `longest` characters; a joined step shows its first part and a count.

    >>> short_label("JoinedWarps(Rotate#1 + RandomCrop#1 + HorizontalFlip#1)", 28)
    'JoinedWarps(Rotate#1 + 2)'
    """
    kernel, _, parts = label.rstrip(")").partition("(")
    if len(label) > longest and parts:
        first, *others = parts.split(" + ")
        label = f"{kernel}({first}{f' + {len(others)}' if others else ''})"
    return label if len(label) <= longest else f"{label[: longest - 1]}…"


def in_words(params: Mapping[str, Any], *, whole: bool = False) -> str:
    """Random parameters in words: an angle of 17.3°, brightness × 1.08, a window of 224×224 at (30, 12).

    The parameters' names decide the wording, whatever the class. `whole`: all of them, interpolation and compression
    included.

    >>> in_words({"brightness": 1.0834, "hue": -0.012, "shape": (3, 4)})
    'brightness × 1.08, hue −0.012'
    >>> in_words({"crop_coords": (30, 12, 254, 236)})
    'window 224×224 at (30, 12)'
    """
    left_out = {*_TABLES["left_out"]} - ({"interpolation", "image_type"} if whole else set())
    known = {name: value for name, value in params.items() if name not in left_out and value is not None}
    if "rotate" in known or "angle" in known:
        known.pop("matrix", None)  # follows from the angle
    if "side" in known:
        known.pop("kernel", None)  # follows from the side
    if not {"alpha", "beta"} <= known.keys():  # only together they are contrast and brightness
        known = {{"alpha": "α", "beta": "β"}.get(name, name): value for name, value in known.items()}
    facts = [fact for name, value in known.items() if (fact := _fact(name, value))]
    shown = facts if whole or len(facts) <= _MOST else [*facts[:_MOST], "…"]
    return ", ".join(shown)[: None if whole else 300]


def _fact(name: str, value: Any) -> str:
    if (special := _SPECIAL.get(name)) is not None:
        return special(value)
    called, times = _TABLES["called"].get(name, name.replace("_", " ")), "× " if name in _TABLES["times"] else ""
    if isinstance(value, Mapping):
        parts = {key: _number(part) for key, part in value.items() if isinstance(part, Real)}
        if name == "scale":
            sizes = " and ".join(f"× {part}" for part in dict.fromkeys(parts.values()))
            return f"scale {sizes}" if sizes != "× 1" else ""
        return f"{called} {', '.join(f'{key} {part}' for key, part in parts.items())}" if parts else ""
    import numpy as np  # late: whoever only reads arguments does not wait for it

    array = np.asarray(value)
    if isinstance(value, str) or array.dtype.kind not in "biuf":
        return f"{called} {value}" if isinstance(value, str) else f"{called}: {len(value)}" if array.ndim else ""
    if array.ndim == 0:
        number = float(array)
        if name in ("angle", "rotate", "slant") or name.startswith("pad_"):
            unit = " px" if name.startswith("pad_") else "°"
            return f"{called} {_number(number)}{unit}" if number else ""
        sign = "+" if number > 0 and (name in _TABLES["signed"] or "shift" in name) else ""
        return f"{called} {times}{sign}{_number(number) if array.dtype.kind == 'f' or times else int(number)}"
    if "kernel" in name and array.dtype.kind == "f":
        return f"{called} {'×'.join(map(str, array.shape))}"
    if array.ndim == 1 and 0 < array.size <= 4:
        return f"{called} {times}{', '.join(map(_number, array))}"
    if array.size == 0:
        return f"no {called}"
    if array.dtype.kind == "b":
        return f"{called} {100 * float(array.mean()):.3g} % of it"
    return f"{called}: {len(array)}" if array.dtype.kind in "iu" else f"{called} σ {_number(np.std(array))}"


def _matrix(value: Any) -> str:
    """Angle, scale and shear of an affine map."""
    import numpy as np

    m = np.asarray(value, float)
    if m.shape != (3, 3) or not np.isfinite(m).all():
        return ""
    if abs(m[2, :2]).max() > 1e-9:
        return "corners moved"
    size = math.sqrt(abs(np.linalg.det(m[:2, :2])))
    shear = math.degrees(math.atan2(float(m[:2, 0] @ m[:2, 1]), size * size)) if size else 0.0
    angle = math.degrees(math.atan2(m[1, 0], m[0, 0]))
    facts = [(angle, 5e-3, f"angle {_number(angle)}°"), (size - 1, 5e-4, f"scale × {_number(size)}")]
    facts.append((shear, 0.05, f"shear {_number(shear)}°"))
    return ", ".join(words for value, least, words in facts if abs(value) > least)


def _window(value: Any) -> str:
    x0, y0, x1, y1 = map(int, value)
    return f"window {x1 - x0}×{y1 - y0} at ({x0}, {y0})"


def _channels(value: Any) -> str:
    return f"channels {', '.join(str(int(channel)) for channel in (value if hasattr(value, '__len__') else [value]))}"


_SPECIAL: dict[str, Callable[[Any], str]] = {
    "crop_coords": _window,
    "matrix": _matrix,
    "map_x": lambda _: "a field of shifts",
    "dxy": lambda _: "a field of shifts",
    "holes": lambda value: f"{len(value)} hole{'' if len(value) == 1 else 's'}",
    "channels_to_drop": lambda value: f"without {_channels(value)}",
    "channels_shuffled": lambda value: f"order of {_channels(value)}",
    "group_element": lambda value: str(_TABLES["symmetries"].get(str(value), value)),
    "factor": lambda value: f"rotated by {90 * int(value)}°" if int(value) else "unchanged",
    "temperature": lambda value: f"{value} K",
    "kind": str,
    "side": lambda value: f"{value} px",
    "interpolation": lambda value: str(constants.to_name("interpolation", value)),
    "image_type": lambda value: str(value).strip("."),
}


def _number(value: Any) -> str:
    """Three significant digits, with a true minus.

    >>> _number(-0.0123), _number(1234.5)
    ('−0.0123', '1234')
    """
    return (f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}").replace("-", "−")


def step_names() -> list[str]:
    """The names of all steps, groups and policies, those of `batch:` and registered ones, sorted.

    >>> {"RandomCrop", "StainJitter", "OneOf", "RandAugment", "Degrade", "CutMix"} <= set(step_names())
    True
    """
    return sorted({*registry.names(), *GROUPS, *POLICIES, *MIXTURES})


def step_facts(name: str) -> dict[str, Any]:
    """The facts of a step, by its name in `step_names`.

    >>> facts = step_facts("StainJitter")
    >>> list(facts)
    ['step', 'about', 'runs', 'masks, boxes, keypoints', '16 bits', 'fast may change', 'arguments']
    >>> {key: facts["arguments"][3][key] for key in ("argument", "takes", "default")}
    {'argument': 'white_threshold', 'takes': 'number or null, between 0 and 1', 'default': '0.85'}
    """
    groups = {**sections.step_schemas(), **grammar.GROUPS, **grammar.POLICIES, DEGRADE: grammar.DEGRADE}
    schema: Any = groups.get(name) or registry.arguments(name)
    about = {"step": name, "about": schema["description"].removesuffix(".")}
    facts = dict(_mixture_facts(name) if name in MIXTURES else _class_facts(name))
    return about | {key: fact for key, fact in facts.items() if fact} | {"arguments": [*_argument_facts(name, schema)]}


def _mixture_facts(name: str) -> Iterator[tuple[str, str]]:
    record = MIXTURES[name]
    yield "acts on", "batches" + {None: "", True: " of pairs", False: " of images"}[record.scales] + ", under `batch:`"
    yield "p decides", f"for each {'sample' if record.each else 'batch'}"
    yield "needs", " or ".join(record.needs)
    yield "cannot mix", ", ".join(record.bars)


def _class_facts(name: str) -> Iterator[tuple[str, str]]:
    if (record := records.op_record(name)).is_known:
        runs = _RUNS.get(record.runs, f"natively{record.runs.removeprefix('native')}")
        yield "runs", f"{runs}, with {record.native_when}" if record.native_when else runs
        yield "masks, boxes, keypoints", record.annotation_effect
        use = f"; use {record.deep}" if record.deep else ""
        yield (
            "16 bits",
            f"no: it works on 256 levels{use}" if record.in_levels else "no" * record.changes_dtype or "yes",
        )
        yield "fast may change", record.fast_changes
    else:
        yield "runs", _AS_CALL if registry.is_registered(name) else _INNER


def _argument_facts(name: str, schema: arguments.Schema) -> Iterator[dict[str, str]]:
    for key, part in schema["properties"].items():
        takes = ", ".join(filter(None, (re.sub(r"\ba ", "", arguments.expected(part)), _range(part))))
        default = text(part["default"]) if "default" in part else "required" * (key in schema.get("required", ()))
        alone = _TABLES["of_one_number"].get(ranges.meaning_of(name, key)) if "pair" in takes else None
        about = part.get("description", "").removesuffix(".") + (f"; a number s alone: {alone}" if alone else "")
        if part != grammar.STEP_KEYS.get(key):  # which every step has
            yield {"argument": key, "default": default, "takes": takes, "meaning": about}


def _range(schema: arguments.Schema) -> str:
    """The bounds of a schema's numbers, in words; empty without bounds.

    >>> _range({"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}}]})
    'greater than 0'
    """
    parts = [*schema.get("anyOf", ()), *schema.get("prefixItems", ()), schema.get("items", {})] if schema else ()
    return " or ".join(dict.fromkeys(filter(None, (arguments.bounds(schema), *map(_range, parts)))))
