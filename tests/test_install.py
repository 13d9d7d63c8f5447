"""What `make` says while it installs."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).parent.parent / ".ci" / "install.py"


@pytest.fixture
def install(monkeypatch):
    spec = importlib.util.spec_from_file_location("install", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "_QUIET", 0.05)
    return module


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Downloading torch-2.13.0-cp311-x.whl (190.1 MB)\n", "downloading torch-2.13.0, 190.1 MB"),
        ("  Downloading https://host/torch-2.13.0-py3-none-any.whl (1.2 GB)\n", "downloading torch-2.13.0, 1.2 GB"),
        ("Installing collected packages: numpy, torch\n", "installing 2 packages"),
        ("  Preparing editable metadata (pyproject.toml): started\n", "building augrecipes, and its kernels"),
        ("  Building editable for augrecipes (pyproject.toml): started\n", "building augrecipes, and its kernels"),
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
        f"print('why'); sys.exit({status})\n"
    )
    assert install.main([program], (sys.executable, "-c")) == status
    out, err = capfd.readouterr()
    lines = [line.split("  ", 2)[-1].strip() for line in out.splitlines()]
    assert "downloading torch-2.13.0, 190.1 MB" in [line.partition(" s  ")[2] or line for line in lines]
    assert any("still downloading torch-2.13.0" in line for line in lines)
    assert ("why" in err) is (status != 0)


def test_other_commands_are_told_of_too(install, capfd):
    assert install.main(["-c", "import time; time.sleep(1)"], (sys.executable,), "making .venv") == 0
    assert "still making .venv" in capfd.readouterr().out
