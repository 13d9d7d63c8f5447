"""The gallery of the site: a page for each recipe, with pictures that the build draws from the demo's images."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
import pages
from numpy.typing import NDArray

import augrecipes as ar

Image = NDArray[np.uint8]
_WIDE, _CARD = 1400, 720  # px: widths of pictures, and of those on cards
_DRAWN, _TALLEST = 0.3, 0.6  # share of drawn pixels in a sheet row with images; largest height of a card over its width

_HEAD = re.compile(r"^# (Purpose|Input|Output|Source): +((?:.*\n)(?:# {6,}.*\n)*)", re.MULTILINE)
_LOAD = {
    "image": 'ds = ar.ImageFolder("photos", "{name}", seed=0)',
    "pair": 'ds = ar.PairedImages({folders}, "{name}", seed=0)',
    "bag": 'ds = ar.TileBags("slides", "{name}", seed=0)',
    "views": 'ds = ar.Views("photos", "{name}", seed=0)',
}
_PICTURES = {
    "draws": "one draw an epoch",
    "steps": "one draw, after every step",
    "batch": "a batch, as it is and mixed",
}


class Data(NamedTuple):
    """The drawn data: images, scenes, and the folder of slides."""

    images: Any
    scenes: Any
    slides: Path


@cache
def recipes() -> dict[str, Any]:
    """Load the recipes of the gallery, by name."""
    return {name: ar.load(name) for name in ar.gallery_names()}


@cache
def tasks() -> dict[str, tuple[str, ...]]:
    """Return the recipes that each page of docs/tasks links to, in the order of the navigation."""
    found = {}
    for _, _, page in pages.navigation():
        if page.startswith("tasks/"):
            text = (pages.ROOT / "docs" / page).read_text(encoding="utf-8")
            found[Path(page).stem] = tuple(dict.fromkeys(re.findall(r"\.\./recipes/([\w-]+)\.yaml\)", text)))
    return found


def headings() -> dict[str, str]:
    """Return the title of each page of docs/tasks."""
    paths = ((name, pages.ROOT / "docs" / "tasks" / f"{name}.md") for name in tasks())
    return {name: path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ") for name, path in paths}


def texts() -> dict[str, str]:
    """Return the pages of the gallery by their paths in the site."""
    return {"gallery/index.md": _index()} | {f"gallery/{name}.md": "\n\n".join(_page(name)) for name in recipes()}


def _index() -> str:
    about = "Recipes that come with augrecipes. Every command and every dataset knows them by their names."
    parts, titles, shown = ["# Gallery", f"{about} The images are drawn by formula."], headings(), set[str]()
    for task, names in tasks().items():
        new = [name for name in names if name not in shown]
        parts += [f"## [{titles[task]}](../tasks/{task}.md)", _cards(new, "")] if new else []
        shown |= {*new}
    return "\n\n".join(parts)


def cards_of(page: str) -> str:
    """Return the cards of the recipes that a page of docs/tasks links to."""
    return _cards(tasks()[Path(page).stem], "../gallery/")


def _cards(names: Iterable[str], folder: str) -> str:
    """Return a card for each recipe: its picture, name and description."""
    texts = ((name, f'<span class="card-name">{name}</span> <span>{recipes()[name].about}</span>') for name in names)
    cards = (
        f"[![What {name} makes of images]({folder}{name}-card.jpg) {text}]({folder}{name}.md)" for name, text in texts
    )
    return "\n\n".join(['<div class="cards" markdown>', *cards, "</div>"])


def _page(name: str) -> Iterator[str]:
    recipe, text = recipes()[name], (pages.ROOT / "recipes" / f"{name}.yaml").read_text(encoding="utf-8")
    yield f"# {name}\n\n{recipe.about}"
    for picture in pictures_of(name):
        file = f"{name}-{picture}.jpg"
        yield f"[![{name}: {_PICTURES[picture]}]({file})]({file})"
    for word, body in _HEAD.findall(text):
        yield f"**{word}:** {_comment(body)}"
    titles = headings()
    listed = (f"[{titles[task]}](../tasks/{task}.md)" for task, names in tasks().items() if name in names)
    yield f"**Tasks:** {', '.join(listed)}"
    loader = "loader = ar.loader(ds, batch_size=32, shuffle=True)"
    yield f"## Loading it\n\n```python\nimport augrecipes as ar\n\n{loading(name)}\n{loader}\n```"
    yield f"`augrecipes preview {name} DATA` draws such pictures of your own images, and `augrecipes explain {name}` " \
          "says how each step runs."  # fmt: skip
    yield f"## The recipe\n\n```yaml\n{text[text.index('version:') :].rstrip()}\n```"


def loading(name: str) -> str:
    """Return the line of Python that opens a dataset with a recipe."""
    recipe = recipes()[name]
    folders = ", ".join(f'"{target}": "{target.upper()}"' for target in sorted(files(recipe)))
    line = _LOAD[recipe.kind].format(name=name, folders=f"{{{folders}}}")
    if recipe.inputs.boxes:
        return line.replace('"photos", ', 'files="instances.json", recipe=')
    if recipe.kind == "image" and recipe.inputs.mask == "required":
        return line.replace(", seed", ', masks="masks", seed')
    return line


def files(recipe: Any) -> set[str]:
    """Return the targets of a recipe of pairs that are read from files; Degrade makes the others."""
    return set(recipe.scales) - {step.args.get("target") for step in recipe.steps if step.name == "Degrade"}


def _comment(body: str) -> str:
    """Return a comment of a recipe's head as Markdown."""
    text = re.sub(r"^# +", "", body, flags=re.MULTILINE).strip()
    text = re.sub(r"\n- ", "\n\n- ", text, count=1)
    return re.sub(r"(?<![<(])(https?://[^\s,;:]+)", r"<\1>", text)


def pictures_of(name: str) -> list[str]:
    """Return the names of the pictures on a recipe's page."""
    recipe = recipes()[name]
    steps = ["steps"] if recipe.kind in ("image", "pair") else []
    return ["draws", *steps, *(["batch"] if recipe.batch else [])]


def draw_data(folder: Path, shrink: int = 1) -> Data:
    """Draw the demo's data; `shrink` divides the sides of images, but the number of scenes, which stay large."""
    return Data(
        ar.draw_dataset(folder / "images", tiles=6, photo_count=6, shrink=shrink),
        ar.draw_scenes(folder / "scenes", count=max(1, 3 // shrink)),
        ar.draw_slides(folder / "slides", bags=2, shrink=shrink),
    )


def draw_pictures(out: Path, data: Data) -> None:
    """Draw the pictures of the gallery into `out`."""
    looks: dict[str, dict[str, Any]] = {
        "image": {"rows": 3, "columns": 5}, "pair": {"rows": 2, "columns": 3}, "bag": {"rows": 2, "columns": 6},
        "views": {"rows": 2, "columns": 1}, "steps": {"rows": 2, "stages": True}, "batch": {"batch": 6},
    }  # fmt: skip
    for name, recipe in recipes().items():
        source, options = _previewed(name, data)
        for picture in pictures_of(name):
            look = looks.get(picture, looks[recipe.kind])
            sheet = ar.sample_grid(name, source, **look, **options)
            _save(sheet, out / f"{name}-{picture}.jpg", _WIDE)
            if picture in ("draws", "batch"):
                _save(_images_of(sheet), out / f"{name}-card.jpg", _CARD)


def _previewed(name: str, data: Data) -> tuple[Any, dict[str, Any]]:
    """Return data that suit a recipe, and further arguments of the preview."""
    recipe = recipes()[name]
    if recipe.kind == "pair":
        by_factor = {1: data.scenes.hr, 2: data.scenes.x2, 4: data.scenes.lr}
        largest = max(recipe.scales.values())
        return {target: str(by_factor[largest // recipe.scales[target]]) for target in files(recipe)}, {}
    if recipe.kind == "bag":
        return data.slides, {}
    if recipe.inputs.boxes:
        return data.images.table, {}
    if recipe.kind == "image" and recipe.inputs.mask == "required":
        return data.images.tissue, {"masks": data.images.masks}
    return (data.images.tissue if re.search("stain|pathology", name) else data.images.photos), {}


def _images_of(sheet: Image) -> Image:
    """Crop a sheet to its images, without the text above and below."""
    drawn = (sheet != sheet[0, 0]).any(axis=2).mean(axis=1) > _DRAWN
    first, last = np.flatnonzero(drawn)[[0, -1]]
    body = sheet[first : last + 1]
    return body[: round(body.shape[1] * _TALLEST)]


def _save(image: Image, path: Path, width: int) -> None:
    """Write an image as a JPEG of `width` pixels at most."""
    height = round(image.shape[0] * width / image.shape[1])
    small = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA) if image.shape[1] > width else image
    cv2.imwrite(str(path), small[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 85])
