"""A request's recipe applied to the data: which steps run, which samples are shown, and their images as PNGs."""

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import harmless
from augrecipes.ops import box_formats, groups
from augrecipes.preview.display import RgbImage, rgb_of_input, rgb_of_output, within
from augrecipes.preview.overlay import label_colour, render_mask
from augrecipes.preview.stretch import Stretch, stretch_of
from augrecipes.recipe import kinds, words
from augrecipes.recipe.model import Arguments, Bag, Inputs, Mode, Optimize, Recipe, Step
from augrecipes.sources.sample import RecipeSource, Sample
from augrecipes.sources.stored import StoredSource
from augrecipes.studio.editing import steps_by_path
from augrecipes.studio.requests import CompareRequest, Refused, VariantRequest, ViewRequest, no_step
from augrecipes.studio.studio import Studio

_MOST = 2_000  # boxes and points of one image
_WHOLE = 1 << 30  # px: no image is larger


class View:
    """A request's recipe, compiled, and the data as it reads them.

    Args:
        studio: provides data and caches.
        request: names the samples and their size.
        variant: the recipe; None: the request's own.
        optimize: overrides the recipe's choice.
        mode: `train` or `eval`.
        size: longer side of shown images in px, where the request gives none.
        path: a step's path; of a multi-view recipe only the view of this step, or the first, is run. None: all views.
        more: further arguments of the compiler.

    Attributes:
        written: the recipe of the text.
        switched: the same, without the steps that are switched off.
        recipe: the recipe that runs: also without the steps that the packed dataset has applied.
        baked: labels of the steps that the packed dataset has applied.
        files: the data, as the recipe reads them.

    Raises:
        Refused: no step has such a path, or the packed dataset has applied the step.
        RecipeError, LintError: the recipe cannot run.
        DataError: the data do not suit the recipe.
    """

    def __init__(
        self, studio: Studio, request: ViewRequest | CompareRequest, variant: VariantRequest | None = None, *,
        optimize: Optimize | None = None, mode: Mode = "train", size: int = 0,
        path: str | None = None, **more: Any,
    ) -> None:  # fmt: skip
        self.studio, self.request = studio, request
        self.variant = variant = variant or (request if isinstance(request, ViewRequest) else request.a)
        self.mode, self.size = mode, (size if request.size is None else request.size) or _WHOLE
        self.written = studio.recipe(variant.text)
        self.steps = steps_by_path(self.written)
        self.baked = studio.data.left(self.written, self.mode, request.seed)[1]
        self.switched = self._switched()
        self.recipe = studio.data.left(self.switched, self.mode, request.seed)[0]
        self.recipe = self.recipe if path is None else part_of(self.recipe, path)
        self.pipeline = studio.pipeline(self.recipe, self.mode, optimize, request.seed, **more)
        self.files = studio.data.source(self.recipe, self.pipeline)

    def _switched(self) -> Recipe:
        """Remove the steps that are off, and set p to 0 or 1 for those that are forced.

        Labels stay, so every other step keeps its draws. Inside a group a step that is off stays with a p of 0, because
        a group's draws depend on its number of steps.
        """
        off, force = self.variant.off, self.variant.force
        for path in (*off, *force):
            if path not in self.steps:
                raise no_step(path)
            if self.steps[path].site in self.baked:
                fix = "give the files that the store was packed from, or pack them again"
                message = f"{self.steps[path].name} is in the store already: it cannot be switched"
                raise Refused(422, "baked", message, fix)

        def inside(steps: tuple[Step, ...], at: str, group: str = "") -> Iterator[Step]:
            paths = [f"{at}.{number}" for number in range(len(steps))]
            chosen = {path for path in paths if force.get(path) == 1} if group == groups.ONE_OF else set()
            for step, path in zip(steps, paths, strict=True):
                if path in off and not group:
                    continue
                never = path in off or (chosen and path not in chosen)
                p = 0.0 if never else float(force[path]) if path in force else step.p
                left = {key: value for key, value in step.schedule.items() if key != "p" or p == step.p}
                yield replace(
                    step, p=p, schedule=Arguments(left), steps=tuple(inside(step.steps, f"{path}.steps", step.name))
                )

        old = self.written
        views = (replace(v, steps=tuple(inside(v.steps, f"views.{v.name}.steps"))) for v in old.views)
        steps = tuple(inside(old.steps, "shared" if old.views else "steps"))
        return replace(old, steps=steps, views=tuple(views), eval=old.eval and tuple(inside(old.eval, "eval")))

    def check(self, *indices: int) -> None:
        """Refuse indices beyond the last sample."""
        if max(indices) >= (count := len(self.files.table)):
            raise Refused(404, "index", f"there are {count} samples; the last is number {count - 1}")

    def units(self, index: int, epoch: int) -> list[int]:
        """The files of a sample: its own, or some of the tiles that an epoch picks from a bag.

        Raises:
            Refused: there is no such sample, or none of the tiles that were chosen is picked.
        """
        self.check(index)
        units = self.files.table.units_of(index)
        if not self.recipe.facts.tiles or not isinstance(self.request, ViewRequest):
            return list(units)
        rule, seed = self.recipe.bag or Bag(), self.request.seed
        picked = kinds.part(self.recipe.kind, "reader").tiles_of(
            rule, len(units), self.mode, seed=seed, epoch=epoch, index=index
        )
        if chosen := self.request.chosen:
            among = [units[tile] for tile in chosen if tile in picked]
            if not among:
                those = ", ".join(map(str, chosen[:8]))
                raise Refused(404, "tile", f"of the {len(units)} tiles of this bag the epoch picks others than {those}")
            return among
        spread = np.unique(np.linspace(0, len(picked) - 1, min(self.request.tiles, len(picked))).round().astype(int))
        return [units[int(tile)] for tile in picked[spread]]

    def sample(self, unit: int, epoch: int) -> Sample:
        """Read one image, scene or tile as the pipeline takes it; DataError where it cannot be read."""
        return self.studio.data.sample(self.recipe, self.pipeline, unit, epoch)

    def cache_png(self, image: RgbImage, whole: tuple[int, int] | None = None) -> dict[str, Any]:
        """Cache an image as a PNG at display size.

        Returns:
            `url`, and `width` and `height` before downscaling; `whole` gives these where the image is already smaller.
        """
        data = png_of(within(image, self.size))
        address = blake2b(data, key=self.studio.token.encode(), digest_size=16).hexdigest()
        self.studio.images.get(address, lambda: data)
        height, width = whole or image.shape[:2]
        return {"url": f"/api/image/{address}.png", "width": width, "height": height}

    def stretch(self, sample: Sample, *, always: bool = False) -> Stretch:
        """The stretch of a sample's images, from its first one; `always`: stretch 8-bit images, too."""
        images = (whole(image) for image in [*sample.images.values()][:1])
        return stretch_of(images, self.recipe.inputs, always=always)

    def output(self, image: NDArray[Any], name: str, on_it: Mapping[str, Any], stretch: Stretch) -> dict[str, Any]:
        """Show an output image with its overlay."""
        output = self.recipe.outputs.get(name, self.recipe.output)
        size = image.shape[1:] if output.layout == "chw" else image.shape[:2]
        return {**self.cache_png(rgb_of_output(image, output, stretch), size), "overlay": self.overlay(on_it, size)}

    def overlay(
        self, targets: Mapping[str, Any], size: tuple[int, int], inputs: Inputs | None = None
    ) -> dict[str, Any]:
        """Collect an image's annotations for the page; empty for kinds without any.

        Args:
            targets: of a sample, as read or as output.
            size: height and width of the image, px.
            inputs: formats of boxes and points; None: those of the recipe.

        Returns:
            Boxes [x0, y0, x1, y1] and points [x, y] in px of the image, with names and colours; a mask as its address.
        """
        inputs, shown = inputs or self.recipe.inputs, dict[str, Any]()
        if not self.recipe.facts.annotated:
            return shown
        boxes, points, mask = targets.get("boxes"), targets.get("keypoints"), targets.get("mask")
        if boxes is not None and inputs.boxes is not None:
            corners = box_formats.corners_px(np.asarray(boxes)[:_MOST], inputs.boxes.format, *size)
            labels = list(targets.get(inputs.boxes.labels or "", ()))[: len(corners)]
            labels += [""] * (len(corners) - len(labels))
            shown["boxes"] = _numbers(corners)
            shown["labels"] = [self._named(label) for label in labels]
            shown["colours"] = [list(label_colour(label)) for label in labels]
        if points is not None and inputs.keypoints is not None:
            xy = np.asarray(points, np.float32).reshape(len(points), -1)[:_MOST, :2]
            shown["keypoints"] = _numbers(xy[:, ::-1] if inputs.keypoints.format == "yx" else xy)
        if mask is not None and np.asarray(mask).ndim >= 2:
            shown["mask"] = self.cache_png(_colour_mask(np.asarray(mask), size))["url"]
        return shown

    def _named(self, label: Any) -> str:
        """Name a box's label."""
        table = self.files.table
        classes = (table.boxes and table.boxes.classes) or table.box_classes or ()
        if not isinstance(label, int | float | np.number):
            return str(label)
        return str(classes[int(label)] if 0 <= int(label) < len(classes) else int(label))

    def source(self, sample: Sample, name: str) -> dict[str, Any]:
        """Show a source image with its overlay."""
        image, rest = sample.images[name], dict(sample.rest)
        image = image if isinstance(image, np.ndarray) else _small(image, self.size)
        shown, size = rgb_of_input(image, self.stretch(sample)), sample.images[name].shape[:2]
        if size != shown.shape[:2]:
            rest.pop("mask", None)  # it has the full size, many megapixels
        inputs = self.recipe.inputs
        if isinstance(self.files, StoredSource):  # stores hold boxes and points in albumentations' own formats
            boxes = inputs.boxes and replace(inputs.boxes, format="albumentations")
            points = inputs.keypoints and replace(inputs.keypoints, format="xy")
            inputs = replace(inputs, boxes=boxes, keypoints=points)
        return {**self.cache_png(shown, size), "overlay": self.overlay(rest, size, inputs)}


def part_of(recipe: Recipe, path: str) -> Recipe:
    """The recipe; of several views, that of the step's view, or the first for a shared step."""
    return recipe.view(path.split(".")[1]) if path.startswith("views.") else recipe.parts()[0]


def png_of(image: NDArray[np.uint8]) -> bytes:
    """Encode an image, uint8 H×W×3 RGB or H×W×4 RGBA, as an uncompressed PNG.

    It is only sent to a browser on this machine, and the encoders of OpenCV and Pillow take ten times as long even at
    their lowest compression level.

    >>> import cv2
    >>> image = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    >>> back = cv2.imdecode(np.frombuffer(png_of(image), np.uint8), cv2.IMREAD_UNCHANGED)
    >>> bool((back[..., ::-1] == image).all())
    True
    """
    height, width, channels = image.shape
    rows = np.zeros((height, 1 + width * channels), np.uint8)  # each row begins with its filter type, 0: none
    rows[:, 1:] = image.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 6, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n"
    for name, data in ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 0)), (b"IEND", b"")):
        png += struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(data, zlib.crc32(name)))
    return png


def _colour_mask(mask: NDArray[Any], size: tuple[int, int]) -> NDArray[np.uint8]:
    """Colour a mask's ids as RGBA, transparent where it has none.

    Alpha is recovered by drawing the mask over black and over white: only opaque pixels look the same on both.
    """
    over = [np.full((*size, 3), level, np.uint8) for level in (0, 255)]
    for image in over:
        render_mask(image, mask if mask.ndim == 2 else mask[..., 0])
    black, white = (image.astype(np.float32) for image in over)
    alpha = np.clip(255 - (white - black).mean(axis=2, keepdims=True), 0, 255)
    colour = np.divide(black * 255, alpha, out=np.zeros_like(black), where=alpha > 0)
    return np.rint(np.clip(np.concatenate([colour, alpha], axis=2), 0, 255)).astype(np.uint8)


def _numbers(values: NDArray[Any]) -> list[list[float]]:
    return [[round(float(value), 2) for value in row] for row in np.nan_to_num(values)]


def whole(image: Any) -> NDArray[Any]:
    """Decode an image that is still a file."""
    return image if isinstance(image, np.ndarray) else np.asarray(image.array())


def _small(image: Any, size: int) -> Any:
    """Decode a file at the smallest scale that suffices to show it at a size."""
    height, width = image.shape[:2]
    able = [k for k in (1, *image.scales()) if max(height, width) // k >= size]
    return image.region(0, 0, height, width, max(able, default=1))


def drawn_in(out: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Describe each step that acted: class and parameters in words, by label."""
    return {label: (name, words.in_words(params)) for label, name, params in out["applied"]}


def name_of(files: RecipeSource, recipe: Recipe, index: int) -> str:
    """Name a sample by the end of its path, a bag by its folder; undecodable bytes of the path are replaced."""
    path = files.path(files.table.units_of(index)[0])
    parts = [part for part in path.replace("\\", "/").split("/") if part]
    shown = parts[-2:-1] if recipe.facts.tiles else parts[-2:]
    return harmless("/".join(shown) or path).encode("utf-8", "replace").decode()
