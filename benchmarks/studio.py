"""How long the studio's server takes from a keystroke to lints and to images, and what memory it takes.

python benchmarks/studio.py            prints
python benchmarks/studio.py --write    prints, and writes the section `studio` of benchmarks/RESULTS.md
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import cv2
import numpy as np
from harness import Row, met, run

from augrecipes.demo.photos import CLASSES, render_photo

_SIDE, _SAMPLES, _EPOCHS = 512, 3, 6
_SHOWN = 224  # px, the longer side of a cell of the page's grid
_LARGE = 3000, 4000
_CHECK_MS, _IMAGES_MS, _SLIDE_MS, _MB = 50, 300, 150, 500
_ROUNDS = 15
_METHOD = f"""\
The server runs in a process of its own, as `augrecipes studio` starts it, and gets requests over a socket, as from
the page; the browser's own work is not included. Each round changes a number of the recipe, so that no cached result
answers; times are the median and the slowest of {_ROUNDS} rounds after two that are not counted. Next to them is the
processor time of a round, of all threads together, which says more if the machine is shared. `to lints` is a request
to check the text. `to images` is that, and after its answer {_SAMPLES} samples of {_SIDE}×{_SIDE} px (JPEG) in
{_EPOCHS} epochs, all {_SAMPLES * _EPOCHS} images received, shown at {_SHOWN} px. `a slider` moves an argument in the
text and draws the {_SAMPLES * _EPOCHS} again. Memory is the highest resident memory of the process after drawing
images of 12 megapixels ({_LARGE[1]}×{_LARGE[0]}, JPEG), less that after the first small one."""
_RECIPES = {
    "crop, flip, jitter": "  - RandomResizedCrop: {size: [224, 224], scale: [0.5, 1.0]}\n  - HorizontalFlip\n"
    "  - ColorJitter: {brightness: %s, contrast: 0, saturation: 0.2, hue: 0.05, p: 1.0}\n",
    "rotate, jitter, all 512×512": "  - Rotate: {limit: 25, border_mode: reflect_101, p: 1.0}\n  - HorizontalFlip\n"
    "  - ColorJitter: {brightness: %s, contrast: 0, saturation: 0.2, hue: 0.05, p: 1.0}\n",
}
_SERVER = """
import json, sys
from augrecipes.studio.studio import open_studio
from augrecipes.studio.server import StudioServer
server = StudioServer(open_studio(None, sys.argv[1]))
print(json.dumps([server.port, server.studio.token]), flush=True)
server.serve()
"""


class _Server:
    """A studio in a process of its own."""

    def __init__(self, data: Path) -> None:
        self._process = subprocess.Popen([sys.executable, "-c", _SERVER, str(data)], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        port, self._token = json.loads(self._process.stdout.readline())
        self._connection = HTTPConnection("127.0.0.1", port, timeout=120)

    def ask(self, method: str, path: str, body: Any = None) -> bytes:
        """One request on the same connection."""
        headers = {"X-Studio-Token": self._token, "X-Studio-Tab": "bench", "Content-Type": "application/json"}
        self._connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = self._connection.getresponse()
        found = response.read()
        if response.status != 200:
            raise RuntimeError(found.decode())
        return found

    def images(self, body: dict[str, Any]) -> int:
        """Draws, and receives every image; how many they are."""
        lines = [json.loads(line) for line in self.ask("POST", "/api/draws", body).splitlines()]
        urls = [one["url"] for line in lines[:-1] for one in line["pictures"]]
        for url in urls:
            self.ask("GET", url)
        return len(urls)

    def megabytes(self, which: str) -> float:
        """Resident memory of the process: `VmRSS` now, `VmHWM` at most so far."""
        text = Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8")
        return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(which)) / 1024

    def cpu_ms(self) -> float:
        """Processor time of the process so far, of all its threads."""
        text = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8")
        user, system = text.rpartition(")")[2].split()[11:13]
        return 1e3 * (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """End it."""
        self._connection.close()
        self._process.kill()
        self._process.wait()


def _text(steps: str, number: int, optimize: str = "fast") -> str:
    head = f"version: 1\nrecipe: bench\noptimize: {optimize}\nsteps:\n"
    return f"{head}{steps % round(0.1 + number * 0.01, 3)}eval: derived\n"


def _photos(folder: Path, count: int, size: tuple[int, int]) -> None:
    small = size if size[0] <= 1024 else (size[0] // 4, size[1] // 4)
    for number in range(count):
        image = render_photo(CLASSES[number % len(CLASSES)], small, np.random.default_rng(number))
        image = cv2.resize(image, size[::-1], interpolation=cv2.INTER_CUBIC)
        cv2.imwrite(str(folder / f"{number}.jpg"), cv2.cvtColor(image, cv2.COLOR_RGB2BGR))


def _latency(_: Any) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        _photos(Path(name), _SAMPLES, (_SIDE, _SIDE))
        server = _Server(Path(name))
        try:
            for what, steps in _RECIPES.items():
                yield from _of_recipe(server, what, steps)
        finally:
            server.close()


def _of_recipe(server: _Server, what: str, steps: str) -> Iterator[Row]:
    shown = {"indices": list(range(_SAMPLES)), "epochs": list(range(_EPOCHS)), "size": _SHOWN}

    def check(number: int) -> None:
        server.ask("POST", "/api/check", {"text": _text(steps, number)})

    def typed(number: int) -> None:
        check(number)
        draw(_text(steps, number))

    def draw(text: str) -> None:
        if server.images({"text": text, **shown}) != _SAMPLES * _EPOCHS:
            raise RuntimeError("not every image was drawn")

    def slider_changed(number: int) -> None:
        body = {"text": _text(steps, 0), "path": "steps.2", "argument": "brightness", "value": 0.1 + number * 0.003}
        draw(json.loads(server.ask("POST", "/api/slide", body))["text"])

    for name, do, goal in (
        ("to lints", check, _CHECK_MS), ("to images", typed, _IMAGES_MS), ("a slider", slider_changed, _SLIDE_MS),
    ):  # fmt: skip
        before = server.cpu_ms()
        found = _timed(do)
        spent = (server.cpu_ms() - before) / (_ROUNDS + 2)
        middle, most = median(found), max(found)
        yield Row(
            f"{what}: {name}",
            f"{middle:.0f} ms, {most:.0f} at most",
            f"{spent:.0f} ms of CPU; goal {goal} ms",
            met(middle <= goal),
        )


_number = iter(range(1, 1_000_000))


def _timed(do: Callable[[int], None]) -> list[float]:
    """Milliseconds of each round."""
    found = []
    for _ in range(_ROUNDS + 2):
        number = next(_number)
        start = perf_counter()
        do(number)
        found.append(1e3 * (perf_counter() - start))
    return found[2:]


def _memory(_: Any) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _photos(folder, 6, _LARGE)
        steps = "  - RandomResizedCrop: {size: [224, 224], scale: [0.3, 1.0]}\n  - ColorJitter: {brightness: %s}\n"
        for optimize in ("fast", "exact"):
            server = _Server(folder)
            try:
                text = _text(steps, 1, optimize)
                server.images({"text": text, "size": _SHOWN})
                before = server.megabytes("VmRSS")
                for number in range(4):
                    text = _text(steps, number, optimize)
                    server.images({"text": text, "indices": list(range(6)), "epochs": [0, 1, 2], "size": _SHOWN})
                    server.ask("POST", "/api/stages", {"text": text, "index": number, "size": 640})
                grown = server.megabytes("VmHWM") - before
            finally:
                server.close()
            what = f"memory, {optimize}: 72 draws and 4 × stages of 6 images of 12 MP"
            yield Row(what, f"{grown:.0f} MB more", f"goal {_MB} MB", met(grown <= _MB))


if __name__ == "__main__":
    parts = {"latency": _latency, "memory": _memory}
    run(__file__, str(__doc__), "The studio: from a keystroke to images", _METHOD, parts)
