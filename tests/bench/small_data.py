"""What tests of measurements share: a recipe and data of each kind, reports, slow steps, and a clock that is moved."""

import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, ClassVar

import albumentations as A
import cv2
import numpy as np
import pytest
from numpy.random import default_rng

from augrecipes.bench import step, sweep, timing, training
from augrecipes.bench.sweep import Point, Sweep
from augrecipes.bench.timing import Gaps
from augrecipes.bench.training import StepPart, Training
from augrecipes.compiler.run import clock
from augrecipes.compiler.run.clock import Clock
from augrecipes.data import fetch
from augrecipes.data.collate import Collate
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


DAWDLE, NAP = (f"{name}: {{p: 1.0}}" for name in ("Dawdle", "Nap"))


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


_BATCH = 1e-3  # seconds that a batch takes besides its steps
_TICK = 1e-6  # seconds that a look at the clock takes: nothing takes no time


def work(seconds: float) -> None:
    """Keep the processor busy for so much of this thread's time."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def wait(seconds: float) -> None:
    """Do nothing."""
    time.sleep(seconds)


class Dawdle(A.ImageOnlyTransform):  # type: ignore[misc]
    """Works for `ms`."""

    ms: ClassVar[float] = 0.0

    def apply(self, img: np.ndarray, **params: Any) -> np.ndarray:
        work(Dawdle.ms / 1e3)
        return img


class Nap(A.ImageOnlyTransform):  # type: ignore[misc]
    """Waits for 10 ms."""

    def apply(self, img: np.ndarray, **params: Any) -> np.ndarray:
        wait(0.01)
        return img


class MovedClock:
    """A clock on the wall and one of the processor.

    Attributes:
        noise: how much longer or shorter work takes each time, as the deviation of its logarithm.
        stalls: the share of work that takes five times as long on the wall, as if others had the core meanwhile.
    """

    def __init__(self) -> None:
        self.noise = self.stalls = 0.0
        self._wall = self._cpu = 0.0
        self._draw, self._lock = default_rng(0), threading.Lock()

    def perf_counter(self) -> float:
        """The clock on the wall."""
        self.work(_TICK, even=True)
        return self._wall

    def process_time(self) -> float:
        """The clock of the processor."""
        self.work(_TICK, even=True)
        return self._cpu

    def work(self, seconds: float, *, even: bool = False) -> None:
        """The processor is busy for so long."""
        with self._lock:
            if not even:
                seconds *= self._draw.lognormal(0, self.noise)
            self._cpu += seconds
            self._wall += 5 * seconds if not even and self._draw.random() < self.stalls else seconds

    def wait(self, seconds: float) -> None:
        """Nothing is done for so long."""
        with self._lock:
            self._wall += seconds

    def sleep(self, seconds: float) -> None:
        """As `time.sleep`."""
        self.wait(seconds)


def installed(monkeypatch: pytest.MonkeyPatch) -> MovedClock:
    """The clock of a comparison, and of the steps that take time; batches from other processes keep the real one."""
    made = MovedClock()
    for module in (clock, timing, training, sweep):
        monkeypatch.setattr(module, "perf_counter", made.perf_counter)
    monkeypatch.setattr(timing, "process_time", made.process_time)
    monkeypatch.setattr(Clock, "charge", _of_ticks(made, Clock.charge))
    monkeypatch.setattr(step, "time", made)
    here = sys.modules[__name__]
    monkeypatch.setattr(here, "work", made.work)
    monkeypatch.setattr(here, "wait", made.wait)
    # A batch is collated of samples, or joined of parts that were read at once.
    monkeypatch.setattr(Collate, "__call__", _taking_time(made, Collate.__call__))
    monkeypatch.setattr(fetch, "join_parts", _taking_time(made, fetch.join_parts))
    return made


def _of_ticks(clock: MovedClock, charge: Callable[..., None]) -> Callable[..., None]:
    """What programs say of real time, by this clock: each part has taken a tick."""

    def charged(spent: Clock, parts: Iterable[tuple[str, float]]) -> None:
        ticks = [(what, _TICK) for what, _ in parts]
        clock.work(_TICK * len(ticks), even=True)
        charge(spent, ticks)

    return charged


def _taking_time(clock: MovedClock, collate: Callable[..., Any]) -> Callable[..., Any]:
    def collated(*args: Any) -> Any:
        clock.work(_BATCH)
        return collate(*args)

    return collated
