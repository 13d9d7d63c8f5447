"""A recipe and data of each kind; pages of reports as tests read them, and parts that other measurements add."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from augrecipes.bench.sweep import Point, Sweep
from augrecipes.bench.timing import Gaps
from augrecipes.bench.training import StepPart, Training
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text

KINDS = ("image", "pair", "bag")
_STEPS = {
    "image": "[{RandomResizedCrop: {size: [24, 24]}}, HorizontalFlip, {ColorJitter: {p: 1.0}}]",
    "pair": "[{RandomCrop: {height: 12, width: 12, at: lr}}, {D4: {p: 1.0}}, {GaussNoise: {target: lr, p: 0.5}}]",
    "bag": "[{Rotate: {limit: 30, border_mode: reflect_101, p: 1.0}}, {StainJitter: {share: bag, p: 1.0}}]",
}


def kind_data(kind: str, root: Path) -> tuple[Any, Any]:
    """Recipe, and what to read: four images, four pairs, or three bags of two tiles."""
    scales = "scales: {lr: 1, hr: 2}\n" if kind == "pair" else ""
    recipe = parse_text(f"version: 1\nrecipe: it\nkind: {kind}\n{scales}steps: {_STEPS[kind]}\neval: []\n")
    draw = np.random.default_rng(0)

    def draw_image(name: str, size: int = 32) -> None:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        assert cv2.imwrite(str(path), draw.integers(0, 256, (size, size, 3), np.uint8))

    for k in range(4 if kind != "bag" else 3):
        if kind == "image":
            draw_image(f"{k}.jpg", 48)
        elif kind == "pair":
            draw_image(f"hr/{k}.png", 64)
            draw_image(f"lr/{k}.png", 32)
        else:
            draw_image(f"slide{k}/x0_y0.png")
            draw_image(f"slide{k}/x1_y0.png")
    return recipe, {"hr": str(root / "hr"), "lr": str(root / "lr")} if kind == "pair" else str(root)


# L205: nothing is known of the planted steps, not even that they keep the size.
DAWDLE, NAP = (f"{name}: {{p: 1.0}}  # augrecipes: ignore[L205]" for name in ("Dawdle", "Nap"))


def steps_of(*steps: str, more: str = "") -> Recipe:
    """A recipe of these steps."""
    listed = "".join(f"\n  - {step}" for step in steps)
    return parse_text(f"version: 1\nrecipe: mine\nsteps:{listed}\neval: []\n{more}")


_VOID = {"meta", "link", "img", "br"}


@dataclass
class Page(HTMLParser):
    """What a page holds, and what is wrong with it."""

    text: str
    faults: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._open: list[str] = []
        self.feed(self.text)
        self.close()
        self.faults += [f"<{tag}> is not closed" for tag in self._open]
        self.faults += [f"#{name} twice" for name in {name for name in self.ids if self.ids.count(name) > 1}]
        self.faults += [f"{link} leads nowhere" for link in self.links if link[0] == "#" and link[1:] not in self.ids]

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        given = dict(attrs)
        if len(given) < len(attrs):
            self.faults.append(f"<{tag}> has an attribute twice")
        if tag in {"script", "iframe", "object", "embed", "base", "form"} or any(name[:2] == "on" for name in given):
            self.faults.append(f"<{tag}> may run something: {given}")
        for name in ("src", "href", "srcset", "action", "poster"):
            if not given.get(name, "data:").startswith("data:") and re.search("//|^/", given[name]):
                self.faults.append(f"<{tag} {name}={given[name]}> asks for something")
        if "url(" in (given.get("style") or ""):
            self.faults.append(f"<{tag} style> asks for something")
        if tag == "img":
            self.images.append(given["src"])
            if not given.get("alt"):
                self.faults.append("<img> without words")
        if tag == "a":
            self.links.append(given["href"])
        if "id" in given:
            self.ids.append(given["id"])
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.faults.append(f"<{tag}/> closes nothing in HTML")
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.faults.append(f"</{tag}> closes nothing")

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] != "style":
            self.words.append(data)

    @property
    def text_shown(self) -> str:
        """All words, one space between them."""
        return " ".join(" ".join(self.words).split())


def swept(recipes: Sequence[str]) -> Sweep:
    """A sweep over workers that recommends two threads."""
    points = [
        Point(recipe, "exact", backend, workers, samples, seconds, 0.1, 2 * seconds, samples / seconds, Gaps(1, 2, 3))
        for recipe in recipes
        for backend, workers in (("batches", 0), ("threads", 1), ("threads", 2), ("processes", 1), ("processes", 2))
        for samples in (1000, 5000)
        if (seconds := samples / 100 / max(workers, 1))
    ]
    advice = [one for one in points if one.name == "threads:2" and one.samples == 5000]
    return Sweep((1000, 5000), 3, tuple(points), tuple(advice), 1000, ("three processes: there are two cores",))


def trained(recipes: Sequence[str]) -> tuple[Training, ...]:
    """Training steps, of which 30% are waiting."""
    parts = {"loading": 30.0, "forward": 20.0, "backward": 40.0, "optimiser": 10.0}
    made = tuple(StepPart(name, ms, 1.0, ms / 100) for name, ms in parts.items())
    return tuple(Training(name, "exact", "threads", 2, "cpu", 2, "train.py, ResNet18", 8, 20, made) for name in recipes)
