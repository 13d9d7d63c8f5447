"""Normalise the stains of tissue to those of a reference; glass between the tissue stays as it is."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

import cv2
import numpy as np
from pydantic import Field

from augrecipes.compat.albumentations import A, BaseTransformInitSchema
from augrecipes.errors import DataError
from augrecipes.native.kernels import address_of, library
from augrecipes.ops.references import read_reference
from augrecipes.ops.stain import LOG, through_density, white_level, with_white
from augrecipes.ops.stain_basis import check_basis
from augrecipes.ops.stain_estimates import (
    BACKGROUND,
    DENSITIES,
    Method,
    StainEstimate,
    estimate_stains,
    has_tissue,
    stains_of,
)
from augrecipes.paths import images_in

# `macenko`: the reference of Veta's code for Macenko's method, also in torchstain. `crc`: the Lab statistics of
# NCT-CRC-HE-100K that Shen et al. 2022 published with RandStainNA, converted from 8 bits.
REFERENCES = {
    "macenko": StainEstimate((0.5626, 0.7201, 0.4062, 0.2159, 0.8012, 0.5581, 1.9705, 1.0308)),
    "crc": StainEstimate((61.974, 23.187, -11.188, 14.470, 8.134, 6.129)),
}
_FARTHEST = 28.0  # bound of exponents, so that no product of three leaves float32
_GLASS = 8  # fourth entry of a table: a pixel that has it in all three colours stays, see native/channel_sums.c
_Numbers = dict[str, Any]


class StainNormalize(A.ImageOnlyTransform):  # type: ignore[misc]
    """Normalises the stains of tissue to those of a reference, so that slides of several laboratories look alike.

    Macenko and Vahadane: optical density, OD = ln(light / (I + 1)), is unmixed into the amounts of two stains, each
    amount is scaled so that its 99th percentile equals the reference's, and the reference's stains are mixed from them:
    one 3×4 matrix between a logarithm and an exponential. Reinhard: each channel of CIE Lab gets the mean and the
    standard deviation of the reference. Tiles without tissue, or whose stains cannot be separated, stay as they are.

    Args:
        method: how stains are estimated: `macenko`, `vahadane` or `reinhard`.
        reference: `macenko` or, with reinhard, `crc`; image files or a folder, whose tissue is estimated together; a
            JSON file of numbers; or numbers: `{stains: [[r, g, b], [r, g, b]], most: [h, e]}`, the optical densities of
            haematoxylin and eosin and the 99th percentiles of their amounts, with reinhard `{mean: [L, a, b], std: [L,
            a, b]}`. null: `macenko` or `crc`, by the method.
        source: the stains of an image: `bag`: those of its slide or bag, if it belongs to one, else its own; `tile`:
            its own; or numbers as for the reference.
        light: I₀, the level of light that nothing absorbs.
        white_threshold: pixels whose channels are all at least this share of full scale are glass, and stay as they
            are; null: no pixel is glass.
        p: probability.

    Image: H×W×3, uint8 (0..255) or float32 (0..1), RGB; the same shape, dtype and range come out, clipped.
    Draws: nothing.
    Errors: TypeError for an image that does not have three channels; DataError for a reference that cannot be read or
    shows no tissue.
    Source: Macenko et al., ISBI 2009; Vahadane et al., IEEE TMI 35(8), 2016; Reinhard et al., IEEE CG&A 21(5), 2001.

    >>> tile = np.zeros((64, 64, 3), np.uint8) + np.uint8(200)
    >>> bool((StainNormalize()(image=tile)["image"] == tile).all())  # no tissue
    True
    >>> own = {"stains": [[0.65, 0.70, 0.29], [0.07, 0.99, 0.11]], "most": [1.5, 1.0]}
    >>> StainNormalize(source=own)(image=np.full((1, 1, 3), (150, 90, 160), np.uint8))["image"].tolist()
    [[[125, 80, 123]]]
    """

    class InitSchema(BaseTransformInitSchema):  # type: ignore[misc]
        """Validation of the arguments; the constructor checks the numbers."""

        method: Method
        reference: str | Sequence[str] | _Numbers | None
        source: Literal["bag", "tile"] | _Numbers
        light: Annotated[float, Field(ge=1, le=256)]
        white_threshold: Annotated[float, Field(ge=0, le=1)] | None

    def __init__(
        self, method: Method = "macenko", reference: str | Sequence[str] | _Numbers | None = None,
        source: Literal["bag", "tile"] | _Numbers = "bag", light: float = BACKGROUND,
        white_threshold: float | None = 0.8, p: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__(p=p)
        self.method, self.reference, self.source, self.light = method, reference, source, light
        self.white_threshold = white_threshold
        self.source_method = method if source == "bag" else None
        self._source = _of_numbers(source, method, "source") if isinstance(source, Mapping) else None
        reference = reference or ("crc" if method == "reinhard" else "macenko")
        if isinstance(reference, Mapping):
            self.target = _of_numbers(reference, method, "reference")
        elif isinstance(reference, str) and not Path(reference).suffix and not Path(reference).exists():
            self.target = _reference(reference, method)
        else:
            self._files = (reference,) if isinstance(reference, str) else tuple(reference)

    @cached_property
    def target(self) -> StainEstimate:
        """The reference's stains; files are read on first use."""
        return _of_files(self._files, self.method)

    def get_params_dependent_on_data(self, params: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
        """The stains of the image; None where they cannot be separated."""
        return {"stains": self._source or stains_of(data, self.method, self.source_method)}

    def apply(self, img: np.ndarray, stains: StainEstimate | None, **_: Any) -> np.ndarray:
        """Normalise the image's stains."""
        if img.ndim != 3 or img.shape[2] != 3:
            raise TypeError(f"StainNormalize needs an RGB image, H×W×3, got shape {img.shape}")
        if stains is None or not has_tissue(img):
            return img
        if self.method == "reinhard":
            return with_white(img, _through_lab(img, stains, self.target), self.white_threshold)
        if img.dtype != np.uint8:
            return through_density(img, stain_matrix(stains, self.target, self.light), self.white_threshold)
        return _through_tables(img, self._tables(stains))

    def _tables(self, stains: StainEstimate | None) -> np.ndarray:
        return level_tables(stains, self.target, self.light, white_level(self.white_threshold))

    def native_arguments(self, stains: StainEstimate | None) -> tuple[float, ...]:
        """The arguments of the native op for an image with these stains; None: they cannot be separated."""
        self._in_use = self._tables(self._source or stains)  # keeps the table alive while a program has its address
        return address_of(self._in_use), address_of(DENSITIES)


def _reference(name: str, method: Method) -> StainEstimate:
    """A reference by its name; ValueError lists the known names."""
    known = {key: value for key, value in REFERENCES.items() if (len(value.numbers) == 6) == (method == "reinhard")}
    if name not in known:
        raise ValueError(
            f"reference {name!r} is neither a file nor a name of {method}; its names are {', '.join(known)}"
        )
    return known[name]


def _of_numbers(numbers: Mapping[str, Any], method: Method, what: str) -> StainEstimate:
    """The stains given as numbers; ValueError where they are incomplete or invalid."""
    shapes: Any = {"stains": (2, 3), "most": (2,)}
    asked = "`stains`, 2×3 numbers, two different colours, and `most`, 2 numbers above 0"
    if method == "reinhard":
        shapes, asked = {"mean": (3,), "std": (3,)}, "`mean`, 3 numbers, and `std`, 3 numbers above 0"
    with suppress(KeyError, TypeError, ValueError):
        first, second = (np.array(numbers[name], np.float64) for name in shapes)
        flat = (*first.ravel().tolist(), *second.ravel().tolist())
        fits = [first.shape, second.shape] == [*shapes.values()] and len(numbers) == len(shapes)
        is_basis = method == "reinhard" or not check_basis({"basis": first.tolist()})
        if fits and is_basis and np.isfinite(flat).all() and (second > 0).all():
            return StainEstimate(flat)
    raise ValueError(f"{what} by {method} is {asked}")


@lru_cache(maxsize=64)
def _of_files(paths: tuple[str, ...], method: Method) -> StainEstimate:
    """The stains in a JSON file, or those of image files together; DataError where there are none."""
    try:
        if paths[0].endswith(".json"):
            return _of_numbers(json.loads(Path(paths[0]).read_text(encoding="utf-8")), method, "reference")
        files = images_in("", paths)
    except (OSError, ValueError, TypeError) as error:
        raise DataError(getattr(error, "strerror", None) or str(error), path=paths[0]) from error
    if (estimate := estimate_stains((read_reference(file, 3, None) for file in files), method)) is None:
        raise DataError("the reference shows no tissue, so its stains cannot be measured; give another", path=paths[0])
    return estimate


def stain_matrix(source: StainEstimate, target: StainEstimate, light: float = BACKGROUND) -> np.ndarray:
    """The 3×4 matrix from ln(I + 1) of R, G, B to the same with the target's stains.

    With the row vectors od = ln light − ln(I + 1) and stains S, T: od' = od · S⁺ · diag(most of T / most of S) · T.

    >>> same = REFERENCES["macenko"]
    >>> bool(np.allclose(stain_matrix(same, same)[:, :3] @ same.stains.T, same.stains.T))
    True
    """
    linear = np.linalg.pinv(source.stains) * (target.most / source.most) @ target.stains
    # Beyond 12 digits processors differ in what inverts a matrix.
    return np.round(np.column_stack([linear.T, np.log(light) * (1 - linear.sum(axis=0))]), 12)


@lru_cache(maxsize=64)
def level_tables(source: StainEstimate | None, target: StainEstimate, light: float, white: int) -> np.ndarray:
    """For each colour and level its factors in R, G and B, and the mark of glass: 3×256×4; None: all is glass."""
    tables = np.full((3, 256, 4), _GLASS, np.float32)
    if source is not None:
        matrix = stain_matrix(source, target, light)
        exponents = matrix[:, :3].T[:, None] * LOG.astype(np.float64)[:, None]
        exponents[0] += matrix[:, 3]
        tables[..., :3] = np.exp(exponents.clip(-_FARTHEST, _FARTHEST))
        tables[:, : min(white, 256), 3] = 0
    return tables


def _through_tables(img: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """Apply the tables to a uint8 image H×W×3: the product of three factors minus 1, rounded; glass stays."""
    img = np.ascontiguousarray(img)
    if (kernels := library()) is not None:
        result = np.empty_like(img)
        multiply = kernels.kernel("channel_sums", "plpffplpp")
        multiply(img.ctypes.data, img.size // 3, tables.ctypes.data, 1, 0, None, 0, None, result.ctypes.data)
        return result
    products = tables[0][img[..., 0]] * tables[1][img[..., 1]] * tables[2][img[..., 2]] - np.float32(1)
    levels = np.rint(products[..., :3].clip(0, 255)).astype(np.uint8)
    return np.where(products[..., 3:] >= 128, img, levels)


def _through_lab(img: np.ndarray, source: StainEstimate, target: StainEstimate) -> np.ndarray:
    """Scale and shift each channel of Lab."""
    (own, own_spread), (mean, spread) = (np.reshape(stains.numbers, (2, 3)) for stains in (source, target))
    scale = spread / own_spread
    shift = mean - own * scale
    floats = img if img.dtype != np.uint8 else img.astype(np.float32) / np.float32(255)
    lab = cv2.cvtColor(floats, cv2.COLOR_RGB2LAB) * scale.astype(np.float32) + shift.astype(np.float32)
    result: np.ndarray = cv2.cvtColor(lab, cv2.COLOR_LAB2RGB).clip(0, 1)
    return result if img.dtype != np.uint8 else np.rint(result * np.float32(255)).astype(np.uint8)
