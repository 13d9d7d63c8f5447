"""augrecipes' own transforms, by name, and where each lives. A module is imported when its class is asked for."""

from __future__ import annotations

OWN: dict[str, str] = {
    "ResizeToTarget": "augrecipes.ops.resize_to_target:ResizeToTarget",
    "StainJitter": "augrecipes.ops.stain:StainJitter",
}
