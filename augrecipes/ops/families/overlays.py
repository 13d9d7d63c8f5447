"""Overlays: light, shadow, weather and holes."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from augrecipes.native.op_numbers import DRAWS, EFFECTS, LIMITS
from augrecipes.ops.amplify import holes, illumination
from augrecipes.ops.checks import Arguments, Fault, region
from augrecipes.ops.families.base import RGB, geometric, of_values
from augrecipes.ops.native_op import UpTo, encoder, flat


def _polygons(params: Mapping[str, Any]) -> tuple[float, ...]:
    polygons = [*zip(params["intensities"].tolist(), params["vertices_list"], strict=True)]
    return (float(len(polygons)), *(number for polygon in polygons for part in polygon for number in flat(part)))


_weather = partial(of_values, channels=RGB, in_levels=True)


_MASK = frozenset({"mask"})
_COVERS = "`fill` of levels"
_MOST_LEVEL = 255
_HOLES = ("num_holes_range", "hole_height_range", "hole_width_range")
_PLACES = [1 << LIMITS.CORNER_BITS * place for place in (3, 2, 1, 0)]  # factors that pack four corners in one number


def _check_holes(a: Arguments) -> Fault:
    # Stricter: the class takes widths in the unit of the heights. A width of 0 is 0 in either.
    height, width = a["hole_height_range"][1], a["hole_width_range"][1]
    if height < 1 < width or 0 < width < 1 <= height:
        what = "hole_height_range and hole_width_range both count pixels, or both are fractions of the image"
        return "hole_width_range", f"{what}, got {a['hole_height_range']} and {a['hole_width_range']}"
    return None


def _grid(step: Any) -> tuple[Any, ...]:
    return step.holes_number_xy or (0, 0), step.unit_size_range or (0, 0)


def _fill(step: Any) -> tuple[float, ...] | None:
    """The number of levels that fill holes, 0 for one for all channels, and the levels; None: another kind of fill."""
    levels = step.fill if isinstance(step.fill, tuple | list) else (step.fill,)
    if any(isinstance(v, str) or not 0 <= v <= _MOST_LEVEL for v in levels) or len(levels) > LIMITS.MOST_CHANNELS:
        return None
    return (len(levels) if isinstance(step.fill, tuple | list) else 0, *map(int, levels))


def _corners(params: Mapping[str, Any]) -> tuple[float, ...]:
    """The number of holes, and the four corners of each packed in one number."""
    words = params["holes"].astype("int64").reshape(-1, 4) @ _PLACES
    return tuple(map(float, (len(words), *words.tolist())))


_covering = partial(geometric, gain=holes, in_place=True, hides=True)

RECORDS = (
    of_values("Illumination", grids="alike", gain=illumination, mend="pixel_mends:SteadyCorner"),
    of_values(
        "PlasmaBrightnessContrast",
        statistics="the mean (for its contrast)",
        neutral={"brightness_range": 0, "contrast_range": 0},
    ),
    of_values("PlasmaShadow", gain=1.0),
    _weather("RandomFog", deep="PlasmaBrightnessContrast", gain=1.0, fast="fast_steps:random_fog"),
    _weather("RandomGravel", limits={"number_of_patches": (1, 1000)}, asks=True),
    _weather("RandomRain", gain=1.0, limits={"blur_value": (1, 1001), "drop_width": (1, 1000)}),
    of_values(
        "RandomShadow",
        deep="PlasmaShadow",
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
        fast="fast_steps:sun_flare",
    ),
    of_values("Spatter", channels=RGB, gain=1.0, limits={"gauss_sigma": (0, 250)}, asks=True),
    _covering(
        "CoarseDropout",
        check=_check_holes,
        native=encoder(
            EFFECTS.FILLS_HOLES, DRAWS.HOLES, [*_HOLES, lambda step: step.hole_height_range[1] < 1], _corners, [_fill]
        ),
        native_with={"num_holes_range": UpTo(LIMITS.MOST_HOLES)},
        native_note=_COVERS,
    ),
    _covering("ConstrainedCoarseDropout", draws_from=_MASK),
    _covering(
        "Erasing",
        forgets={"seed": 0},  # left out where no hole fits
        limits={"ratio": (0.02, 50), "scale": (0, 1)},
        above_zero=("scale",),
    ),
    _covering(
        "GridDropout",
        limits={"holes_number_xy": (1, 1000)},
        rising={"unit_size_range": 1},
        native=encoder(
            EFFECTS.FILLS_HOLES,
            DRAWS.GRID_OF_HOLES,
            [_grid, "ratio", "random_offset", lambda step: step.shift_xy[::-1]],
            _corners,
            [_fill],
        ),
        native_note=_COVERS,
    ),
    _covering("MaskDropout", draws_from=_MASK, needs="mask"),
    geometric(
        "PixelDropout",
        in_place=True,
        hides=True,
        effect="noise",
        neutral={"dropout_prob": 0},
        limits={"drop_value": (0, 255)},
    ),
    _covering("XYMasking"),
    _covering("TimeMasking"),
    _covering("FrequencyMasking"),
)
