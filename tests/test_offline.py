"""No connection, ever: whatever a program does with augrecipes, it asks no network, and warns of nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Python runs a module of this name when it starts: so the program, and every process that it starts, is watched.
WATCH = """
import os, socket, sys

def watch(event, args):
    away = event == "socket.connect" and args[0].family != socket.AF_UNIX
    if away or event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        with open(os.environ["NETWORK_LOG"], "a") as log:
            log.write(f"{event} {args}\\n")
        raise OSError("the network is closed")

sys.addaudithook(watch)
"""
DRAW = """
from pathlib import Path
import cv2, numpy as np
for name in ("a/1.png", "a/2.png", "b/3.png", "b/4.png"):
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_bytes(cv2.imencode(".png", np.full((300, 300, 3), 90, np.uint8))[1].tobytes())
"""
# What is unpickled first in a fresh process brings albumentations before anything else.
GALLERY = """
import os, pickle, subprocess, sys
import augrecipes as ar
from augrecipes.recipe.gallery import gallery_names
for name in gallery_names():
    for optimize in ("none", "exact", "fast"):
        compiled = ar.load(name).compile(optimize=optimize)
del os.environ["NO_ALBUMENTATIONS_UPDATE"]
program = f"import pickle; pickle.loads({pickle.dumps(compiled)!r})"
subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)
"""
DATASET = """
import augrecipes as ar
if __name__ == "__main__":
    ds = ar.ImageFolder(".", "stained-tissue", seed=0)
    for method in ("fork", "spawn"):
        list(ar.loader(ds, 2, num_workers=1, multiprocessing_context=method))
"""


COMMANDS = """
from augrecipes.cli import main
for words in ("list", "check stained-tissue", "explain stained-tissue", "preview folder-128 a -o grid.png"):
    try:
        main(words.split())
    except SystemExit as left:
        assert not left.code, words
"""


def offline(folder: Path, *command: str) -> None:
    """Run Python in `folder` with the network closed and warnings as errors; nothing may have been asked for."""
    watch, log = folder / "watch", folder / "watch" / "asked"
    watch.mkdir(exist_ok=True)
    (watch / "sitecustomize.py").write_text(WATCH)
    environment = {k: v for k, v in os.environ.items() if k != "NO_ALBUMENTATIONS_UPDATE"}
    path = os.pathsep.join([str(watch), str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment |= {"PYTHONPATH": path, "NETWORK_LOG": str(log)}
    python = [sys.executable, "-W", "error", *command]
    done = subprocess.run(python, check=False, cwd=folder, env=environment, capture_output=True, text=True)
    asked = log.read_text() if log.exists() else ""
    assert not asked, asked
    assert done.returncode == 0, done.stderr


@pytest.mark.soak
def test_every_recipe_compiled_and_a_pipeline_unpickled_elsewhere(tmp_path: Path) -> None:
    offline(tmp_path, "-c", GALLERY)


@pytest.mark.soak
def test_worker_processes(tmp_path: Path) -> None:
    offline(tmp_path, "-c", DRAW)
    (tmp_path / "main.py").write_text(DATASET)
    offline(tmp_path, "main.py")


def test_commands(tmp_path: Path) -> None:
    offline(tmp_path, "-c", DRAW)
    offline(tmp_path, "-c", COMMANDS)


@pytest.mark.soak
def test_a_program_that_asks_is_caught(tmp_path: Path) -> None:
    asks = "import os, augrecipes; os.environ['NO_ALBUMENTATIONS_UPDATE'] = '0'; import albumentations"
    with pytest.raises(AssertionError, match=r"getaddrinfo.*pypi"):
        offline(tmp_path, "-c", asks)
