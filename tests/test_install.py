"""What `make` says while it installs, and of skipped tests; a wheel that is whole; and programs that ask no network."""

import importlib.util
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

FILE = Path(__file__).parent.parent / ".ci" / "install.py"


@pytest.fixture
def install(monkeypatch):
    spec = importlib.util.spec_from_file_location("install", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "_QUIET", {True: 0.05, False: 0.05})
    return module


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Downloading torch-2.13.0-cp311-x.whl (190.1 MB)\n", "downloading torch-2.13.0, 190.1 MB"),
        ("  Downloading https://host/torch-2.13.0-py3-none-any.whl (1.2 GB)\n", "downloading torch-2.13.0, 1.2 GB"),
        ("Installing collected packages: numpy, torch\n", "installing 2 packages"),
        ("  Installing collected packages: hatchling\n", None),  # what the build needs
        ("  Preparing editable metadata (pyproject.toml): started\n", None),
        ("  Building editable for augrecipes (pyproject.toml): started\n", "building augrecipes"),
        ("  Running command Building editable for augrecipes (pyproject.toml)\n", "building augrecipes"),
        ("  compiling kernels: file 3 of 71\n", None),  # it is said when it is time to say something
        ("  Building editable for augrecipes (pyproject.toml): finished with status 'done'\n", None),
        ("  Downloading six-1.16.0-py2.py3-none-any.whl.metadata (11 kB)\n", None),
        ("Requirement already satisfied: numpy\n", None),
    ],
)
def test_what_is_reported(install, line, said):
    assert install.report(line) == said


@pytest.mark.soak
@pytest.mark.parametrize("status", [0, 3])
def test_it_says_how_far_it_is_and_all_where_it_fails(install, capfd, status):
    program = (
        "import sys, time\n"
        "print('Downloading torch-2.13.0-cp311-x.whl (190.1 MB)', flush=True)\n"
        "time.sleep(2)\n"  # in which a busy machine comes to say that it takes long
        "print('compiling kernels: file 3 of 71', flush=True)\n"
        "time.sleep(2)\n"
        f"print('why'); sys.exit({status})\n"
    )
    assert install.main([program], (sys.executable, "-c")) == status
    out, err = capfd.readouterr()
    lines = [line.split("  ", 2)[-1].strip() for line in out.splitlines()]
    assert "downloading torch-2.13.0, 190.1 MB" in [line.partition(" s  ")[2] or line for line in lines]
    assert any("still downloading torch-2.13.0" in line for line in lines)
    assert any("compiling kernels: file 3 of 71" in line for line in lines)
    assert ("why" in err) is (status != 0)


def test_reasons_for_skipping_are_told_once_the_commonest_first(pytestconfig: pytest.Config) -> None:
    own = str(Path(__file__).parent / "conftest.py")
    (plugin,) = (each for each in pytestconfig.pluginmanager.get_plugins() if getattr(each, "__file__", "") == own)
    told: list[str] = []
    reports = [SimpleNamespace(longrepr=("t.py", 1, f"Skipped: {why}")) for why in ("no browser", "no GPU", "no GPU")]
    reporter = SimpleNamespace(stats={"skipped": reports, "deselected": [0] * 7}, write_line=told.append)
    plugin.pytest_terminal_summary(reporter)
    assert [line.split(maxsplit=1) for line in told] == [
        ["2", "skipped: no GPU"],
        ["1", "skipped: no browser"],
        ["7", "left out: long ones, which `make soak` and `make mutants` run"],
    ]
    reporter.stats = {}
    plugin.pytest_terminal_summary(reporter)
    assert len(told) == 3


# What is installed: the wheel brings everything that a checkout has, and works outside of one.


ROOT = Path(__file__).parent.parent


def _wheel(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "wheel", str(ROOT), "--no-deps", "--quiet", "--wheel-dir", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = folder.glob("augrecipes-*.whl")
    return wheel


@pytest.mark.soak
def test_the_wheel_is_whole_and_works_outside_a_checkout(tmp_path: Path) -> None:
    wheel = _wheel(tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    wanted = {f"augrecipes/{f.relative_to(ROOT / 'augrecipes')}" for f in (ROOT / "augrecipes").rglob("*.py")}
    shipped = ("py.typed", "schema/recipe.schema.json", "native/ops.def", "CODES.md")
    wanted |= {f"augrecipes/{name}" for name in shipped}
    templates = Path("augrecipes/bench/templates")
    wanted |= {str(templates / file.name) for file in (ROOT / templates).iterdir()}
    wanted |= {f"augrecipes/gallery/{f.name}" for f in (ROOT / "recipes").glob("*.yaml")}
    assert wanted <= held
    assert not [name for name in held if name.startswith(("tests/", "benchmarks/")) or "__pycache__" in name]

    # The packages of this environment, and augrecipes from the wheel alone.
    venv.create(tmp_path / "v", with_pip=False, symlinks=True)
    (site,) = (tmp_path / "v").glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    (site / "others.pth").write_text(f"{Path(yaml.__file__).parent.parent}\n", encoding="utf-8")
    (python,) = (tmp_path / "v").glob("bin/python")
    program = "import augrecipes, sys; from augrecipes.cli import main; print(augrecipes.__file__); main(sys.argv[1:])"
    for arguments in (["list"], ["check", "stained-tissue"], ["check", "--explain", "L101"], ["schema"]):
        done = subprocess.run(
            [python, "-c", program, *arguments], cwd=tmp_path, env={}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(str(site))


# No connection, ever: whatever a program does with augrecipes, it asks no network, and warns of nothing.


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
