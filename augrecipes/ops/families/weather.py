"""Light, shadow and weather, drawn over an image."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from augrecipes.native.op_numbers import DRAWS, EFFECTS, LIMITS
from augrecipes.ops.amplify import illumination
from augrecipes.ops.checks import Arguments, Fault, region
from augrecipes.ops.families.base import RGB, of_values
from augrecipes.ops.native_op import UpTo, encoder, flat


def _check_color(a: Arguments) -> Fault:
    color = a["color"]
    return None if color is None or len(color) == 3 else ("color", f"must be three numbers (RGB), got {len(color)}")


def _polygons(params: Mapping[str, Any]) -> tuple[float, ...]:
    polygons = [*zip(params["intensities"].tolist(), params["vertices_list"], strict=True)]
    return (float(len(polygons)), *(number for polygon in polygons for part in polygon for number in flat(part)))


_weather = partial(of_values, channels=RGB, in_levels=True)

RECORDS = (
    of_values("Illumination", grids="alike", gain=illumination, mend="pixel_mends:SteadyCorner"),
    of_values(
        "PlasmaBrightnessContrast",
        statistics="the mean (for its contrast)",
        neutral={"brightness_range": 0, "contrast_range": 0},
    ),
    of_values("PlasmaShadow", gain=1.0),
    _weather("RandomFog", gain=1.0, fast="weather:random_fog"),
    _weather("RandomGravel", limits={"number_of_patches": (1, 1000)}, check=region("gravel_roi")),
    _weather("RandomRain", gain=1.0, limits={"blur_value": (1, 1001), "drop_width": (1, 1000)}),
    of_values(
        "RandomShadow",
        gain=1.0,
        in_levels=True,
        limits={"num_shadows_limit": (1, 1000), "shadow_dimension": (3, 1000)},
        check=region("shadow_roi"),
        native=encoder(
            EFFECTS.CASTS_SHADOWS,
            DRAWS.SHADOWS,
            ["shadow_roi", "num_shadows_limit", "shadow_dimension", "shadow_intensity_range"],
            _polygons,
            ["shadow_dimension"],
        ),
        native_with={
            "num_shadows_limit": UpTo(LIMITS.MOST_SHADOWS),
            "shadow_dimension": UpTo(LIMITS.MOST_CORNERS),
        },
    ),
    _weather("RandomSnow", grids="same", when={"grids": lambda a: a.get("method") == "bleach"}),
    _weather(
        "RandomSunFlare",
        limits={"num_flare_circles_range": (1, 1000), "src_color": (0, 255), "src_radius": (2, 10_000)},
        check=region("flare_roi"),
        fast="weather:sun_flare",
    ),
    of_values("Spatter", channels=RGB, gain=1.0, limits={"gauss_sigma": (0, 250)}, check=_check_color),
)
