"""augrecipes' own transforms, by name, and where each lives. A module is imported when its class is asked for."""

from __future__ import annotations

OWN: dict[str, str] = {
    "ResizeToTarget": "augrecipes.ops.resize_to_target:ResizeToTarget",
    "StainJitter": "augrecipes.ops.stain:StainJitter",
}

# The groups of steps: albumentations' names, with defaults of our own.
GROUPS: tuple[str, ...] = ("OneOf", "SomeOf", "Sequential", "RandomOrder")

# Steps of pair recipes that no transform stands behind: the compiler carries them out on several targets at once.
PAIR_STEPS: tuple[str, ...] = ("Degrade",)
