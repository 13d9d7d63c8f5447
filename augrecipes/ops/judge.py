"""The last word on a step's arguments, after the schema: our rules, and where there are none the class's constructor.

Only a few classes need their constructor, and importing albumentations takes longer than everything else that a check
does, so verdicts of constructors are kept in a small file between runs.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

from augrecipes.ops import bounds, registry, verdicts
from augrecipes.ops.constants import to_number
from augrecipes.ops.own import OWN
from augrecipes.ops.readable import Refusal
from augrecipes.ops.rules import RULES
from augrecipes.ops.step import Step


def verdict(step: Step, max_bytes: int | None = bounds.MOST_BYTES) -> Refusal | None:
    """Why the class of `step` refuses its arguments, or None where it takes them. The schema has accepted them.

    `max_bytes`: of the largest picture that it may make.

    >>> from augrecipes.ops.frozen import Arguments
    >>> from augrecipes.ops.step import Step
    >>> verdict(Step("Crop", Arguments({"x_min": 9, "x_max": 5}))).argument
    'x_max'
    """
    schema = registry.arguments(step.name) or {}
    arguments = step.args.plain()
    registered = registry.is_registered(step.name)
    if not registered and schema:
        merged = {name: part.get("default") for name, part in schema["properties"].items()} | arguments
        rule = RULES.get(step.name)
        # Bounds first: a rule reckons with numbers that make sense.
        fault = bounds.fault(step.name, merged, max_bytes) or (None if rule is None else rule(merged))
        if fault is not None or rule is not None:
            return None if fault is None else Refusal(fault[1], fault[0])
    judged = schema.get("x-judge", ())
    if not registered and not any(name in arguments for name in judged) and "*" not in judged:
        return None
    if registered:
        return _ask(step, arguments)  # its code may change from run to run
    key = verdicts.key(step.name, arguments, step.p, _edition(step.name))
    known = verdicts.look_up(key)
    if known is not None:
        return known.refusal
    refusal = _ask(step, arguments)
    verdicts.remember(key, refusal)
    return refusal


def _ask(step: Step, arguments: dict[str, Any]) -> Refusal | None:
    keywords = {name: to_number(name, registry.tuples(value)) for name, value in arguments.items()}
    if step.p is not None:
        keywords["p"] = step.p
    try:
        registry.build(registry.get_class(step.name), keywords)
    except Refusal as refusal:
        return Refusal(refusal.message, refusal.argument)  # without the traceback's frames
    return None


def _edition(name: str) -> str:
    """Something that changes when a class of our own does: verdicts are kept by release, and sources change sooner."""
    if name not in OWN:
        return ""
    spec = importlib.util.find_spec(OWN[name].partition(":")[0])
    if spec is None or spec.origin is None:
        return ""
    seen = Path(spec.origin).stat()
    return json.dumps([seen.st_mtime_ns, seen.st_size])
