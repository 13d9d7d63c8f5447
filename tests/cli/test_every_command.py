"""What all commands share: help, data as DATA and --data, --json [FILE], 80 columns, statuses; refusals in a line."""

import ast
import json
import os
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from support.checks import BROKEN, GOOD, LINTS, rows
from support.command_line import invoke
from support.folders import draw_waves

import augrecipes.cli
from augrecipes.cli.commands import BY_NAME
from augrecipes.paths import write_file

CROP = "version: 1\nrecipe: crop\nsteps:\n  - RandomCrop: {height: 24, width: 24}\n  - HorizontalFlip\neval: []\n"
QUICK = ("--seconds", "0.01", "--samples", "4", "--batch-size", "4", "--no-effects")
# Each command: its words without data, what makes it quick, and its exit status on good data.
WITH_DATA = {
    "check-data": (("check-data", "crop.yaml"), (), 0),
    "explain": (("explain", "crop.yaml"), ("--seconds", "0.01"), 0),
    "diff": (("diff", "crop.yaml", "good.yaml"), ("--rows", "1"), 1),
    "preview": (("preview", "crop.yaml"), ("--rows", "1", "--columns", "1"), 0),
    "pack": (("pack", "good.yaml"), ("--out", "packed", "--dry-run"), 0),
    "verify": (("verify", "crop.yaml"), ("--samples", "1"), 0),
    "bench": (("bench", "crop.yaml"), QUICK, 0),
    "verify-store": (("verify-store",), (), 0),
    "trial": (("trial", "crop.yaml", "good.yaml"), ("--epochs", "1", "--seeds", "1"), 0),
}
WITHOUT = {
    "list": (("list",), (), 0),
    "step": (("step", "StainJitter"), (), 0),
    "check": (("check", "good.yaml"), (), 0),
    "import": (("import", "saved.json"), ("--no-time",), 0),
    "eject": (("eject", "good.yaml"), (), 0),
    "schema": (("schema",), (), 0),
    "cache": (("cache",), (), 0),
    "doctor": (("doctor",), (), 0),
}
# Half a minute, and a server: tests/demo and tests/studio run them.
ELSEWHERE = {"demo", "studio"}
COMMANDS = [*BY_NAME]


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """Recipes, images, and a store of them."""
    folder = draw_waves(tmp_path_factory.mktemp("desk") / "photos", 3, (40, 48)).parent
    (folder / "empty").mkdir()
    for name in ("light", "dark"):
        draw_waves(folder / "classes" / name, 5, (40, 48))
    saved = json.dumps({"transform": {"__class_fullname__": "HorizontalFlip", "p": 0.5}})
    texts = {"crop.yaml": CROP, "good.yaml": GOOD, "broken.yaml": BROKEN, "lints.yaml": LINTS, "saved.json": saved}
    for name, text in texts.items():
        (folder / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        packed = invoke(["pack", "good.yaml", "photos", "--out", "store", "--workers", "0"])
    assert packed.exit_code == 0
    return folder


@pytest.fixture
def data(desk, tmp_path):
    """A copy of the desk; what each command reads, if it is not `photos`."""
    shutil.copytree(desk, tmp_path, dirs_exist_ok=True)
    return {"verify-store": "store", "trial": "classes"}


def too_wide(text: str, columns: int = 80) -> list[str]:
    """Lines that do not keep within the columns, though they could be broken; a path cannot."""
    return [line for line in text.splitlines() if len(line) > columns and " " in line.strip()]


def test_every_command_is_in_the_table():
    assert {*WITH_DATA, *WITHOUT, *ELSEWHERE} == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example_and_keeps_within_the_columns(run, command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"  augrecipes {command}" in result.stdout
    assert "\b" not in result.stdout
    assert too_wide(result.stdout) == []


@pytest.mark.parametrize("command", [*WITH_DATA, *WITHOUT])
def test_data_stand_alone_or_behind_an_option_and_json_on_standard_output_or_in_a_file(run, data, tmp_path, command):
    (first, *rest), quick, status = {**WITH_DATA, **WITHOUT}[command]
    where = [data.get(command, "photos")] if command in WITH_DATA else []
    before = (tmp_path / "crop.yaml").read_bytes()
    alone = run(first, "--json", *rest, *where, *quick) if where else run(first, *rest, *quick, "--json")
    both = run(first, *rest, *(word for one in where for word in ("--data", one)), *quick, "--json", "report.json")
    assert (alone.exit_code, both.exit_code) == (status, status), alone.output + both.output
    written = json.loads((tmp_path / "report.json").read_text())
    assert type(written) is type(json.loads(alone.stdout))
    assert command != "check-data" or written == json.loads(alone.stdout)
    assert both.stdout.splitlines()[-1] == "report.json"
    assert too_wide(both.stdout) == []
    assert "\x1b" not in both.output
    assert (tmp_path / "crop.yaml").read_bytes() == before  # `--json crop.yaml` writes into no recipe


def test_json_goes_into_any_file_that_is_named(run, data, tmp_path):
    assert run("check", "good.yaml", "--json=report.txt").exit_code == 0
    assert json.loads((tmp_path / "report.txt").read_text()) == []


def test_a_file_of_json_that_cannot_be_is_refused_before_the_work(run, data):
    for command, (words, quick, _) in WITH_DATA.items():
        result = run(*words, data.get(command, "photos"), *quick, "--json", "nowhere/report.json")
        assert (result.exit_code, result.stdout) == (2, ""), command
        assert "there is no folder nowhere" in result.stderr


@pytest.mark.parametrize("command", [name for name in WITH_DATA if name != "verify-store"])
def test_what_cannot_be_is_status_2_and_a_line(run, data, command):
    (first, _, *rest), quick, _ = WITH_DATA[command]
    rest = [] if command == "diff" else rest
    nowhere = "nowhere/" if command in ("bench", "trial") else "nowhere"  # as its words may be recipes, too
    for recipe, where, said in (
        ("crop.yaml", nowhere, f"{nowhere}: "),
        ("crop.yaml", "empty", "no images in this folder"),
        ("crop.yaml", "hr=photos", "kind image"),
        ("crop.yaml", "store", "store"),
        ("broken.yaml", "photos", "broken.yaml:4:5: E302"),
        ("nowhere.yaml", "photos", "nowhere.yaml:1:1: E101"),
        ("sr-x4", "photos", "hr=FOLDER lr=FOLDER"),
    ):
        if command in ("bench", "trial") and where == "store":
            continue  # it reads stores
        rest = [recipe] if command == "trial" else rest
        result = run(first, recipe, *rest, where, *quick)
        assert result.exit_code == 2, (recipe, where, result.output)
        if not (command == "diff" and where == "nowhere"):  # which may be a recipe, too
            assert said in result.stderr.replace("lr=FOLDER hr=FOLDER", "hr=FOLDER lr=FOLDER"), result.stderr
        assert "Traceback" not in result.output
        assert isinstance(result.exception, SystemExit)
    if command not in ("diff", "bench", "trial"):  # the wrong order
        result = run(first, "photos", "crop.yaml", *rest, *quick)
        assert result.exit_code == 2
        assert "recipe" in result.stderr and "photos" in result.stderr


def test_only_one_place_prints():
    """Whatever else is printed would not be wrapped, nor freed of control characters; JSON and documents are."""
    found = []
    for file in Path(augrecipes.cli.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr == "write" and file.name != "terminal.py":
                found.append(f"{file.name}:{node.lineno}")
            if isinstance(node, ast.Name) and node.id == "print":
                found.append(f"{file.name}:{node.lineno}")
    assert found == []


@pytest.mark.parametrize("columns", ["40", "80"])
def test_reports_keep_within_narrow_lines_too(run, data, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    for words in (
        "list",
        "step",
        "step Rotate",
        "explain stained-tissue",
        "check --explain L101",
        "check-data crop.yaml photos",
    ):
        text = run(*words.split()).stdout
        assert [line for line in too_wide(text, int(columns)) if "(" not in line] == [], words


def test_no_address_is_written_to_but_by_pack(run, data, tmp_path):
    """Of `s3://bucket/grid.png` pathlib would make the folder `s3:` here."""
    said = "s3://bucket/grid.png: is an address: give a path of this machine"
    writing = [name for name in sorted({*COMMANDS} - {"pack"}) if "--out" in run(name, "-h").output]
    assert writing == ["bench", "check-data", "demo", "diff", "eject", "import", "preview", "trial", "verify"]
    for name in writing:
        result = run(name, "-o", "s3://bucket/grid.png")
        assert (result.exit_code, said in result.output) == (2, True), name
    assert list(tmp_path.glob("s3*")) == []
    result = run("check", "s3://bucket/recipe.yaml")
    assert result.exit_code == 2
    assert "E101 file: is an address, and recipes are read from this machine: copy it here" in result.output


@pytest.mark.skipif(sys.platform == "win32", reason="a shell closes streams")
@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("explain good.yaml >&-", 0), ("list <&- >&- 2>&-", 0), ("check nowhere.yaml >&- 2>&-", 2),
        ("check - <&-", 2), ("import - <&-", 2),
        *[
            (f"{words} >/dev/full", 2)
            for words in ("--version", "list", "list --json", "schema", "explain good.yaml")
            if Path("/dev/full").exists()
        ],
    ],
)  # fmt: skip
def test_closed_and_full_streams_are_no_tracebacks(data, process, words, status):
    result = process("-c", f"import os; os.execvp('sh', ['sh', '-c', {f'{sys.executable} -m augrecipes {words}'!r}])")
    assert result.returncode == status, result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.stderr.splitlines()) <= 2
    assert "2>&-" in words or bool(result.stderr) == bool(status)
    assert "full" not in words or re.fullmatch("error: standard output: .*\n", result.stderr)


@pytest.mark.skipif(sys.platform == "win32", reason="files have no limit there")
@pytest.mark.parametrize(("words", "file"), rows(__file__, "a_full_disk_names_the_file_and_leaves_no_half_of_it"))
@pytest.mark.parametrize("before", [None, b"whole"])
def test_a_full_disk_names_the_file_and_leaves_no_half_of_it(run, data, tmp_path, words, file, before):
    import resource

    if before is not None:
        (tmp_path / file).write_bytes(before)
    there, limits = sorted(tmp_path.iterdir()), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, limits[1]))
    try:
        result = run(*words.split(), file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert result.exit_code == 2, result.output
    assert file in result.stderr.splitlines()[-1]
    assert sorted(tmp_path.iterdir()) == there
    assert before is None or (tmp_path / file).read_bytes() == before


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="no such devices here")
def test_devices_are_written_to_and_not_replaced(tmp_path):
    """What is renamed takes the place of what was there, `/dev/stderr` too."""
    reads, writes = os.pipe()
    (tmp_path / "device").symlink_to(f"/dev/fd/{writes}")
    write_file(tmp_path / "device", b"text")
    assert (os.read(reads, 9), (tmp_path / "device").is_symlink()) == (b"text", True)


RECIPES = {
    "crop": """version: 1
recipe: crop
steps: [RandomCrop: {height: 48, width: 40}, HorizontalFlip]
eval: [CenterCrop: {height: 48, width: 40}]
""",
    "plain": "{version: 1, recipe: plain, steps: [HorizontalFlip]}",
    "pair": "{version: 1, recipe: pair, kind: pair, scales: {lr: 1, hr: 4}, steps: [HorizontalFlip], eval: []}",
    "bag": "{version: 1, recipe: bag, kind: bag, eval: [], steps: [HorizontalFlip]}",
    "lint": "{version: 1, recipe: lint, eval: [HorizontalFlip], steps: []}",
}
TRAIN = "from torch import nn\nmodel = nn.Conv2d(3, 4, 3, stride=8)\n"


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with recipes, images, pairs, and a model; no command may change it."""
    folder = tmp_path_factory.mktemp("untouched")
    for name, text in RECIPES.items():
        (folder / f"{name}.yaml").write_text(text)
    (folder / "train.py").write_text(TRAIN)
    (folder / "wrong.py").write_text(TRAIN.replace("3, 4", "7, 4"))
    for name in ("photos", "HR"):
        draw_waves(folder / name, count=2)
    draw_waves(folder / "X4", count=2, size=(20, 25))
    return folder


# The words that each line begins with, and those that it ends with.
LINES = {
    "check-data": ("check-data", ""),
    "pair": ("check-data pair.yaml hr=HR", ""),
    "explain": ("explain", "--seconds 0.01"),
    "diff": ("diff crop.yaml", ""),
    "verify": ("verify crop.yaml", ""),
    "pack": ("pack", ""),
    "photos": ("pack folder-128 --data photos --out store", "--workers 0"),
    "bench": ("bench crop.yaml --data photos --optimize exact", " ".join(QUICK)),
}
MESSAGES = rows(__file__, "messages")


def files_of(folder: Path) -> list[Path]:
    """Its files and folders, without what Python keeps of modules that it has imported from there."""
    return [path for path in sorted(folder.rglob("*")) if path.suffix != ".pyc" and path.name != "__pycache__"]


@pytest.mark.parametrize(("line", "said"), MESSAGES, ids=[line for line, _ in MESSAGES])
def test_what_cannot_be_done_is_said(
    line: str, said: str, untouched: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(untouched)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = files_of(untouched)
    first, _, rest = line.partition(" ")
    begin, end = LINES[first]
    done = run(*shlex.split(f"{begin} {rest} {end}"))
    assert done.exit_code == 2, done.output
    assert said in " ".join(done.output.replace("│", " ").split()), done.output
    assert files_of(untouched) == before
