"""Work in turns: a newer edit ends an older drawing, slow steps hold nobody up, and what is cached stays bounded."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import albumentations as A
import cv2
import numpy as np
import pytest
from studio_pages import QUICK, Page, image_of

import augrecipes as ar
from augrecipes.interop import importing
from augrecipes.lru import LruCache
from augrecipes.sources.sample import RecipeSource
from augrecipes.studio import file, studio
from augrecipes.studio.studio import WorkTurn

WAIT = "StepThatWaits: {p: 1.0}"
SLOW = QUICK.replace("HorizontalFlip", WAIT).replace("derived", "[]")
POOL = ThreadPoolExecutor(16)
MANY = {"indices": [0, 1, 2, 3], "epochs": list(range(20))}


class Gate:
    """Holds slow steps until they may go on, and counts those that began."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.began = 0

    def wait(self) -> None:
        self.began += 1
        assert self.open.wait(60)

    def ended(self, page: Page) -> bool:
        """Whether no other step begins of work that has ended, once the gate is open."""
        began = self.began
        self.open.set()
        page.studio.threads._threads.shutdown()  # waits for what still runs
        return self.began == began <= page.studio.threads.lanes


@pytest.fixture
def gate(own_classes: None) -> Iterator[Gate]:
    """A class whose step waits at the gate."""
    made = Gate()

    class StepThatWaits(A.ImageOnlyTransform):
        def apply(self, img: Any, **params: Any) -> Any:
            made.wait()
            return img

    ar.register(StepThatWaits)
    yield made
    made.open.set()


def until(true: Callable[[], bool]) -> None:
    """Waits for something that another thread brings about."""
    for _ in range(2000):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("it has not come")


def begin(page: Page, gate: Gate, path: str, /, **body: Any) -> Future[list[Any]]:
    """A request whose lines arrive one by one, once it has come to the gate."""

    def work() -> list[Any]:
        with page.open("POST", path, body) as response:
            return [json.loads(line) for line in response]

    begun = POOL.submit(work)
    until(lambda: gate.began >= 1)
    return begun


def test_a_newer_edit_ends_an_older_drawing(page: Page, gate: Gate) -> None:
    older = begin(page, gate, "/api/draws", text=SLOW, **MANY)
    newer = page.lines("/api/draws", text=QUICK, indices=[0, 1])  # while the slow step still waits
    assert sorted(line["index"] for line in newer[:-1]) == [0, 1]
    assert older.result(30) == [{"done": False}]  # nor does the older request wait for its step
    assert gate.ended(page)  # of the 80 draws no other was begun


STEPS = f"""version: 1
recipe: slow
steps: [HorizontalFlip, {WAIT}, Sequential: {{p: 1.0, steps: [{WAIT}, {WAIT}]}}, {WAIT}]
eval: []
"""


@pytest.mark.parametrize("optimize", ["none", "fast"])
@pytest.mark.parametrize("view", ["draws", "stages", "extremes", "compare", "cost"])
def test_an_edit_is_heard_between_the_steps_of_a_sample(page: Page, gate: Gate, view: str, optimize: str) -> None:
    def body(text: str, path: str) -> dict[str, Any]:
        return {"a": {"text": text}, "b": {"text": text}} if view == "compare" else {"text": text, "path": path}

    older = begin(page, gate, f"/api/{view}", **body(f"{STEPS}optimize: {optimize}\n", "steps.3"))
    begin(page, gate, f"/api/{view}", **body(QUICK.replace("HorizontalFlip", "Rotate"), "steps.0"))
    last = older.result(30)[-1]
    assert last.get("done") is False or last["error"]["code"] == "ended"
    assert gate.ended(page)  # of each thread's sample


def test_planted_steps_that_do_not_look_are_noticed(page: Page, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studio, "continue_or_cancel", lambda: None)
    begin(page, gate, "/api/draws", text=f"{STEPS}optimize: none\n")
    page.lines("/api/draws", text=QUICK)
    assert not gate.ended(page)


def test_closing_the_connection_ends_the_work(page: Page, gate: Gate) -> None:
    with page.open("POST", "/api/draws", {"text": SLOW, **MANY}):
        until(lambda: gate.began >= 1)
    until(lambda: all(turn.ended for turn in page.studio.turns.values()))
    assert gate.ended(page)


def import_ended(page: Page, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether an import is broken off once its client has left."""
    begun, gone, ended = threading.Event(), threading.Event(), list[bool]()
    turns: list[WorkTurn] = []

    def imported(document: Any) -> Any:
        turns.append(studio._local.turn)
        begun.set()
        assert gone.wait(60)
        try:
            return importing.of_document(document)
        except studio.EndedError:
            ended.append(True)
            raise

    monkeypatch.setattr(file, "of_document", imported)
    body = json.dumps({"name": "x.py", "text": "import albumentations as A\nt = A.Compose([A.D4()])\n"})
    with closing(HTTPConnection("127.0.0.1", page.running.port)) as connection:
        connection.request("POST", "/api/import", body, {"X-Studio-Token": page.studio.token})
        assert begun.wait(60)
    until(lambda: turns[-1].ended)
    gone.set()
    page.studio.threads._threads.shutdown()
    return ended == [True]


def test_an_import_ends_when_its_client_leaves(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    assert import_ended(page, monkeypatch)


def test_a_planted_import_that_does_not_listen_is_noticed(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "continue_or_cancel", bool)
    assert not import_ended(page, monkeypatch)


def test_two_tabs_do_not_end_each_other(page: Page, gate: Gate) -> None:
    one = begin(page, gate, "/api/draws", text=SLOW, indices=[0, 1])
    other = Page(page.running, page.files, tab="tab-2")
    assert other.lines("/api/draws", text=QUICK)[-1]["done"] is True
    assert page.post("/api/check", text=QUICK)["problems"] == []  # the same tab, another kind of work
    assert page.lines("/api/stages", text=QUICK)[-1]["done"] is True
    gate.open.set()
    *lines, last = one.result(30)
    assert (sorted(line["index"] for line in lines), last["done"]) == ([0, 1], True)


def test_lines_come_as_soon_as_they_are_there(page: Page, gate: Gate) -> None:
    with page.open("POST", "/api/draws", {"text": SLOW.replace("{p: 1.0}", "{p: 0.5}"), **MANY}) as response:
        line = json.loads(response.readline())  # a sample that the slow step passes over
        assert line["pictures"]
        gate.open.set()
        assert json.loads(response.read().splitlines()[-1])["done"] is True


def test_a_step_that_fails_costs_its_sample_only(open_page: Callable[..., Page], tmp_path: Path) -> None:
    for number, size in enumerate((40, 80, 40, 80)):
        assert cv2.imwrite(str(tmp_path / f"{number}.png"), image_of(number, size, size))
    (tmp_path / "4.png").write_bytes(b"\x89PNG\r\n\x1a\n broken")
    text = QUICK.replace("HorizontalFlip", "RandomCrop: {height: 64, width: 64}")
    lines = open_page(None, tmp_path).lines("/api/draws", text=text, indices=[0, 1, 2, 3, 4])[:-1]
    lines.sort(key=lambda line: line["index"])
    assert [bool(line["pictures"]) for line in lines] == [False, True, False, True, False]
    assert "RandomCrop#1" in lines[0]["error"]["fix"]
    assert "4.png" in lines[4]["error"]["message"]


def test_cached_images_are_bounded_and_nobody_guesses_their_addresses(
    page: Page, open_page: Callable[..., Page], photos: Path
) -> None:
    def urls(of: Page) -> set[str]:
        lines = of.lines("/api/draws", text=QUICK, indices=[0, 1, 2, 3], epochs=[0, 1, 2, 3])
        return {line["pictures"][0]["url"] for line in lines[:-1]}

    assert urls(page) == urls(page)
    assert not urls(page) & urls(open_page(None, photos))
    page.studio.images.__init__(200_000, len)  # type: ignore[misc]
    assert {page.ask("GET", url).status for url in urls(page)} == {200, 404}
    assert 0 < page.studio.images.total <= 200_000


def test_what_is_cached_is_made_once_and_bounded() -> None:
    cache: LruCache[int] = LruCache(100, size=lambda item: item)
    made: list[int] = []

    def make(number: int) -> int:
        made.append(number)
        time.sleep(0.01)
        return number

    assert [*POOL.map(lambda _: cache.get("x", lambda: make(30)), range(8))] == [30] * 8
    assert made == [30]
    for number in range(31, 60):
        cache.get(number, lambda number=number: make(number))
        assert cache.total <= 100
    with pytest.raises(ZeroDivisionError):
        cache.get("y", lambda: 1 // 0)
    assert cache.get("y", lambda: 1) == 1


def channels_read(page: Page) -> list[int]:
    """Channels of a sample that recipes of one and of three read in turns, each in a listing of its own."""
    data, found = page.studio.data, []
    data._files = LruCache(1)
    for channels in (1, 3) * 4:
        text = QUICK.replace("steps", f"inputs: {{image: {{channels: {channels}}}}}\nsteps")
        recipe = page.studio.recipe(text)
        found.append(data.sample(recipe, page.studio.pipeline(recipe), 0).images["image"].shape[2])
    return found


def test_samples_are_never_those_of_a_listing_that_is_gone(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    assert channels_read(page) == [1, 3] * 4
    monkeypatch.setattr(RecipeSource, "__hash__", lambda self: 0)  # planted: all listings are one
    monkeypatch.setattr(RecipeSource, "__eq__", lambda self, other: True)
    assert channels_read(page) != [1, 3] * 4


def test_large_images_are_cached_as_files(open_page: Callable[..., Page], tmp_path: Path) -> None:
    """Of an image of 12 MP the plan decodes what it needs: decoded whole it would take 36 MB each time."""
    assert cv2.imwrite(str(tmp_path / "large.jpg"), np.repeat(np.repeat(image_of(1), 25, 0), 25, 1))
    page = open_page(None, tmp_path)
    text = QUICK.replace("HorizontalFlip", "RandomCrop: {height: 256, width: 256}")
    for optimize in ("exact", "fast"):
        line = page.lines(
            "/api/draws", text=f"{text}optimize: {optimize}\n", epochs=[0, 1, 2, 3], size=64, source=True
        )[0]
        assert line["pictures"][0]["source"]["width"] == 4000
    assert page.studio.data._samples.total < 12_000_000
