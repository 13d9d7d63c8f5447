"""The newcomer's run: what it does is what README shows, and whatever makes a newcomer stop is found."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from support.pages import in_order

ROOT = Path(__file__).parent.parent


@pytest.fixture
def newcomer(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("newcomer", ROOT / ".ci" / "newcomer.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setattr(sys, "path", [*sys.path])
    spec.loader.exec_module(module)
    return module


def test_it_does_what_readme_shows(newcomer: ModuleType) -> None:
    steps = [*in_order((ROOT / "README.md").read_text(encoding="utf-8"))]
    assert steps[0] == ("command", ["pip", "install", "."])
    assert {"file", "python", "command"} == {kind for kind, _ in steps}
    assert {*newcomer.EXPECTED} <= {" ".join(what) for kind, what in steps if kind == "command"}


DEMO = [[0.0, "Setting up .venv"], [300.0, "Starting the demo"], [340.0, "Next"]]


@pytest.mark.parametrize(
    ("name", "status", "lines", "found"),
    [
        ("make demo", 0, DEMO, []),
        ("make demo", 2, DEMO, ["make demo: status 2", *(f"    {line}" for _, line in DEMO)]),
        ("make demo", 0, [*DEMO, [361.0, "done"]], ["make demo: 61 s behind the install"]),
        ("make demo", 0, [[1.0, "kernels are not built"], *DEMO], ["make demo: kernels are not built"]),
        ("Python: ar.x()", 0, [[0.0, "y.py:3: FutureWarning: z"]], ["Python: ar.x(): y.py:3: FutureWarning: z"]),
        ("augrecipes check first-try.yaml", 2, [[0.0, "2 errors"]], []),
        ("augrecipes check first-try.yaml", 0, [], ["augrecipes check first-try.yaml: status 0"]),
        ("make test", 0, [[0.0, "test_errors.py warnings"]], []),
    ],
)
def test_what_a_newcomer_stumbles_over_is_found(
    newcomer: ModuleType, name: str, status: int, lines: list[list[object]], found: list[str]
) -> None:
    assert newcomer.faults([[name, 1.0, status, lines]]) == found


def test_times_are_shown_as_people_read_them(newcomer: ModuleType) -> None:
    told = [["make demo", 340.4, 0, DEMO], ["Python: x = 1  # one", 0.26, 0, []]]
    assert newcomer.rows(told) == [
        ("`make demo`", "340 s"),
        ("of it the demo, behind the install", "40 s"),
        ("`x = 1`", "0.3 s"),
    ]


def test_python_of_a_page_is_one_session(newcomer: ModuleType, tmp_path: Path) -> None:
    """What fails is told with what it printed, and the next step still runs."""
    steps = [
        ["file", ["a.yaml", "# a.yaml\n"]],
        ["python", ["x = 2\nprint(x)\n"]],
        ["command", ["cat", "a.yaml"]],
        ["python", ["import warnings\nwarnings.warn('old')\nx.y"]],
        ["python", ["assert x == 2"]],
    ]
    (tmp_path / "page.json").write_text(newcomer.json.dumps(steps))
    subprocess.run([sys.executable, "-c", newcomer.SESSION, ".", "page.json"], cwd=tmp_path, check=True)
    told = newcomer.json.loads((tmp_path / "told.json").read_text())
    assert [status for _, _, status, _ in told] == [0, 0, 1, 0]
    printed = [[line for _, line in lines] for *_, lines in told]
    assert (printed[0], printed[1]) == (["2"], ["# a.yaml"])
    assert any("UserWarning: old" in line for line in printed[2])
    assert printed[2][-1].startswith("AttributeError")
