"""A command line to call in this process, and one as a user starts it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import invoke
from support.folders import draw_waves


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Call the command line in a fresh folder: `run("check", "x.yaml").exit_code`."""
    monkeypatch.chdir(tmp_path)
    # The blocked import of torch is for a process of its own; this one goes on to other tests.
    monkeypatch.setattr("augrecipes.compat.guard.without_torch", lambda: None)
    monkeypatch.setattr("augrecipes.progress.QUIET", float("inf"))  # however slow the machine is
    return lambda *args, stdin=None: invoke(args, stdin)


@pytest.fixture
def finish(run):
    """Run a line, which ends with a status: `finish("check x.yaml", 1)` -> what it prints on standard output."""

    def _finish(line: str, status: int = 0) -> str:
        result = run(*line.split())
        assert result.exit_code == status, result.output
        return result.stdout

    return _finish


@pytest.fixture
def write(tmp_path):
    """Write a file: `write("x.yaml", text)` -> its path."""

    def _write(name: str, text: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return _write


@pytest.fixture
def photos(tmp_path):
    """Four images of 80×100 px in `photos`, which is what it gives."""
    return draw_waves(tmp_path / "photos").name


@pytest.fixture
def process(tmp_path):
    """Start Python as a user does, in a fresh folder: `process("-m", "augrecipes", "check", ".")`."""

    def _process(*words: str) -> subprocess.CompletedProcess:
        env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        how = {"capture_output": True, "encoding": "utf-8", "errors": "surrogateescape"}
        return subprocess.run([sys.executable, *words], cwd=tmp_path, env=env, check=False, **how)

    return _process
