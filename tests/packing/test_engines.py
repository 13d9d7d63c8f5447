"""Packing on Ray: the samples of one process, whatever fails on the way; and which options go together."""

import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.command_line import invoke
from support.folders import draw
from support.stores import all_of, dies

from augrecipes.cli import pack as packing_command
from augrecipes.cli.commands import BY_NAME
from augrecipes.errors import DataError, StoreError
from augrecipes.packing import parts, run
from augrecipes.packing import ray as on_ray
from augrecipes.packing.parts import MergedStore
from augrecipes.packing.run import pack, prepare
from augrecipes.packing.workers import WorkerDied, import_without_torch
from augrecipes.recipe.parse import parse_text

RECIPE = parse_text("{version: 1, recipe: r, steps: [Resize: {height: 12, width: 10}, Rotate: {p: 1.0}]}")
HOW: dict[str, Any] = {"epochs": 2}


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    for k in range(9):
        draw(tmp_path / "photos" / f"{k}.png", seed=k, size=(30, 28))
    return tmp_path / "photos"


# -- Ray --------------------------------------------------------------------------------------------------------------


@contextmanager
def two_workers() -> Iterator[Any]:
    """Ray on this machine, with two workers; nothing of it is left behind."""
    ray = pytest.importorskip("ray", reason="packing on Ray wants it: pip install '.[ray]'")
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}
    ray.init(
        address="local", num_cpus=2, include_dashboard=False, object_store_memory=80_000_000, log_to_driver=False,
        logging_level="error",
    )  # fmt: skip
    try:
        yield ray
    finally:
        ray.shutdown()


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore")
def test_on_ray(photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it with one cluster, which takes seconds to begin."""
    (tmp_path / "marks").mkdir()
    monkeypatch.setenv("AUGRECIPES_TEST_MARKS", str(tmp_path / "marks"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    pack(RECIPE, str(photos), tmp_path / "one", workers=0, **HOW)
    wanted = all_of(tmp_path / "one")

    def on_cluster(name: str, parts: int | None = None, **options: Any) -> list[int]:
        told: list[int] = []
        packing = prepare(RECIPE, str(photos), tmp_path / name, **HOW)
        on_ray.write_on_ray(packing, parts=parts, advance=lambda done, _: told.append(done), **options)
        return told

    with two_workers():
        assert on_cluster("two", 2)[-1] == 18
        assert all_of(tmp_path / "two") == wanted
        with pytest.raises(StoreError, match="is a store by now"):
            on_cluster("two")
        # A part whose worker is killed, and parts that fail, are tried again.
        with monkeypatch.context() as patch:
            patch.setattr(on_ray, "write_part", dies)
            assert sorted(on_cluster("killed", 3)) == [6, 12, 18]
        assert all_of(tmp_path / "killed") == wanted
        assert [len(path.read_text()) for path in sorted((tmp_path / "marks").iterdir())] == [1, 3, 1]
        # Planted: nothing is tried again, and the law does not hold.
        (tmp_path / "marks" / "2").write_text("x")  # it fails at once: a worker that is killed costs a new one
        with monkeypatch.context() as patch, pytest.raises(WorkerDied, match="part 2/3 failed 1 times"):
            patch.setattr(on_ray, "write_part", dies)
            patch.setattr(on_ray, "TRIES", 1)
            on_cluster("given-up", 3)
        # What was done is taken up: in as many parts as there were, whatever a cluster would have of itself.
        on_cluster("given-up", 3)
        assert all_of(tmp_path / "given-up") == wanted
        # What cannot be read is no failure.
        (photos / "3.png").write_bytes(b"nonsense")
        done = on_ray.write_on_ray(prepare(RECIPE, str(photos), tmp_path / "lost", **HOW))
        assert {one.path for one in done.unreadable} == {str(photos / "3.png")}
        with pytest.raises(DataError, match=r"3\.png"):
            on_ray.write_on_ray(prepare(RECIPE, str(photos), tmp_path / "raised", **HOW), on_error="raise")


LIGHT = "import pickle, sys; pickle.loads(bytes.fromhex({!r}))({}); sys.exit(sys.modules.get('torch') is not None)"


def brings_torch(task: Any, arguments: str = "") -> bool:
    """Whether a process that is handed a task, as Ray hands it over, imports torch, which takes longer than a part."""
    program = LIGHT.format(pickle.dumps(task).hex(), arguments)
    return subprocess.run([sys.executable, "-c", program], check=False).returncode != 0


def test_tasks_come_without_torch() -> None:
    assert not brings_torch(import_without_torch)
    assert not brings_torch(on_ray.ray_cluster, "None")


@pytest.mark.soak
def test_a_task_that_brings_torch_is_noticed() -> None:
    assert brings_torch(pack, "None, 1, 2")


def test_without_ray(photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(StoreError, match=r"pip install 'augrecipes\[ray\]'"):
        on_ray.write_on_ray(prepare(RECIPE, str(photos), tmp_path / "store"))


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_an_address_where_nobody_is(scheme: str) -> None:
    """Ray alone would try for many minutes: whoever mistypes a port is told at once."""
    pytest.importorskip("ray", reason="packing on Ray wants it: pip install '.[ray]'")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        address = f"{scheme}127.0.0.1:{taken.getsockname()[1]}"
        for one in (address, f"{scheme}127.0.0.1:99999"):
            with pytest.raises(StoreError, match=f"no Ray cluster at {one}"), on_ray.ray_cluster(one):
                pass


# -- the options of `augrecipes pack`, all of them --------------------------------------------------------------------

OPTIONS: dict[str, list[str]] = {
    "data": ["--data", "others"], "format": ["--format", "jpeg"], "quality": ["--quality", "90"],
    "mode": ["--mode", "train"], "epochs": ["--epochs", "2"],
    "seed": ["--seed", "3"], "masks": ["--masks", "masks"], "split": ["--split", "val"], "workers": ["--workers", "3"],
    "on_error": ["--on-error", "raise"], "out": ["--out", "store"], "part": ["--part", "1/2"],
    "merge": ["--merge", "parts"], "shard_size": ["--shard-size", "2G"], "engine": ["--engine", "ray"],
    "address": ["--address", "auto"], "parts": ["--parts", "3"], "dry_run": ["--dry-run"], "json": ["--json=-"],
    "set": ["--set", "Resize.height=14"], "without": ["--without", "Rotate"],
}  # fmt: skip
# What each way of packing does not take along. All else it takes, and so it takes whatever is not in the table.
REFUSED: dict[str, set[str]] = {
    "none": {"address", "parts"},
    "ray": {"part", "workers"},
    "merge": set(OPTIONS) - {"merge", "json"},
}


def options_reach(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The law: every option of the command reaches what packs, or is refused by its name."""
    assert {*OPTIONS} == {*vars(BY_NAME["pack"].read([]))} - {"recipe", "words", "help"}
    told: dict[str, Any] = {}

    class Reached(Exception):  # noqa: N818
        pass

    def prepared(recipe: Any, data: Any, out: Any, **options: Any) -> Any:
        told.update(options, recipe=recipe, data=data, out=out)
        return packing

    def reached(name: str) -> Any:
        def stop(*given: Any, **options: Any) -> Any:
            told.update(options, given=given)
            raise Reached(name)

        return stop

    packing = run.prepare(RECIPE, "photos", "here", **HOW)
    monkeypatch.setattr(run, "prepare", prepared)
    monkeypatch.setattr(run, "write", reached("write"))
    monkeypatch.setattr(on_ray, "write_on_ray", reached("ray"))
    merged = MergedStore(Path("here"), 1, 1, ())
    monkeypatch.setattr(parts, "merge_parts", lambda *given, **options: told.update(options, given=given) or merged)

    leading = ["r.yaml", *([] if way == "none" else ["--engine", way])]

    def outcome(name: str, words: list[str]) -> tuple[Any, ...]:
        told.clear()
        out = [] if name == "out" or way == "merge" else ["--out", "here"]
        data = [] if name == "data" or way == "merge" else ["--data", "photos"]
        done = invoke(["pack", *(["--merge", "p"] if way == "merge" else leading), *data, *out, *words])
        if name in REFUSED[way]:
            assert done.exit_code == 2, words
            assert words[0].split("=")[0] in done.output, (words, done.output)
        else:
            assert done.exit_code == 0 or isinstance(done.exception, Reached), (words, done.output)
        return done.stdout, dict(told)

    plain = outcome("", [])
    for name, words in OPTIONS.items():
        if name not in ("engine", "merge"):  # the ways themselves
            assert outcome(name, words) != plain, words


@pytest.fixture
def beside(photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "r.yaml").write_text(
        "{version: 1, recipe: r, steps: [Resize: {height: 12, width: 10}, Rotate: {p: 1.0}], eval: []}"
    )
    monkeypatch.chdir(photos.parent)


@pytest.mark.usefixtures("beside")
@pytest.mark.parametrize("way", REFUSED)
def test_no_option_is_dropped(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options_reach(way, monkeypatch)


@pytest.mark.usefixtures("beside")
def test_an_option_that_is_dropped_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(packing_command._REFUSED, "ray", {})
    with pytest.raises(AssertionError):
        options_reach("ray", monkeypatch)


# Whoever kills the parent alone leaves nobody behind.


HERE = Path(__file__).parent
SIGNALS = ("SIGTERM", "SIGKILL", "SIGHUP")
SORTS = ("pack", "fork", "spawn", "forkserver")
PATIENCE = 60.0  # seconds, for a machine that is very busy


def until(true: Callable[[], bool], patience: float = PATIENCE) -> bool:
    """Whether it becomes true."""
    end = time.monotonic() + patience
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return true()


def alive(folder: Path) -> int:
    """How many workers hold their files."""
    import fcntl

    count = 0
    for path in folder.iterdir():
        with path.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                count += 1
    return count


def left_behind(sort: str, name: str, folder: Path, *planted: str, patience: float = PATIENCE) -> int:
    """How many workers outlive a parent that is killed while they are busy."""
    command = [sys.executable, str(HERE / "orphans.py"), sort, str(folder), *planted]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as parent:
        came = until(lambda: alive(folder) == 2)
        parent.send_signal(getattr(signal, name) if came else signal.SIGKILL)
        ended = until(lambda: parent.poll() is not None)
        parent.kill()
    assert came, "no workers came"
    assert ended, f"{name} did not end the parent"
    until(lambda: not alive(folder), patience)
    left = alive(folder)
    for path in folder.iterdir() if left else ():
        os.kill(int(path.name), signal.SIGKILL)
    return left


@pytest.mark.skipif(os.name == "nt", reason="kills by signals, and locks files to see who lives")
@pytest.mark.parametrize(
    ("sort", "name"),
    [
        pytest.param("pack", "SIGTERM", marks=pytest.mark.soak),
        ("fork", "SIGKILL"),
        *(pytest.param(sort, name, marks=pytest.mark.soak) for sort in SORTS for name in SIGNALS),
    ],
)
def test_workers_end_with_their_parent(sort: str, name: str, tmp_path: Path) -> None:
    assert left_behind(sort, name, tmp_path) == 0


@pytest.mark.skipif(os.name == "nt", reason="kills by signals, and locks files to see who lives")
@pytest.mark.soak
def test_workers_that_do_not_look_are_caught(tmp_path: Path) -> None:
    assert left_behind("pack", "SIGKILL", tmp_path, "planted", patience=3.0) == 2
