"""What all commands share: data as DATA and --data, --json [FILE], 80 columns where piped, exit statuses."""

from __future__ import annotations

import ast
import json
import shutil
from pathlib import Path

import pytest
from recipe_texts import BROKEN, GOOD, LINTS
from support.folders import draw_waves
from typer.testing import CliRunner

import augrecipes.cli
from augrecipes.cli.app import app

CROP = "version: 1\nrecipe: crop\nsteps:\n  - RandomCrop: {height: 24, width: 24}\n  - HorizontalFlip\neval: []\n"
QUICK = ("--seconds", "0.01", "--samples", "2", "--no-effects")
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
}
WITHOUT = {
    "list": (("list",), 0),
    "check": (("check", "good.yaml"), 0),
    "import": (("import", "saved.json"), 0),
    "eject": (("eject", "good.yaml"), 0),
    "schema": (("schema",), 0),
    "cache": (("cache",), 0),
}
# Half a minute, a server, and what needs a store of 0.1: tests/demo, tests/studio and tests/packing run them.
ELSEWHERE = {"demo", "studio", "convert-store"}


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """Recipes, images, and a store of them."""
    folder = draw_waves(tmp_path_factory.mktemp("desk") / "photos", 3, (40, 48)).parent
    saved = json.dumps({"transform": {"__class_fullname__": "HorizontalFlip", "p": 0.5}})
    texts = {"crop.yaml": CROP, "good.yaml": GOOD, "broken.yaml": BROKEN, "lints.yaml": LINTS, "saved.json": saved}
    for name, text in texts.items():
        (folder / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert (
            CliRunner().invoke(app, ["pack", "good.yaml", "photos", "--out", "store", "--workers", "0"]).exit_code == 0
        )
    return folder


@pytest.fixture
def data(desk, tmp_path):
    """A copy of the desk; what each command reads, if it is not `photos`."""
    shutil.copytree(desk, tmp_path, dirs_exist_ok=True)
    return {"verify-store": "store"}


def too_wide(text: str, columns: int = 80) -> list[str]:
    """Lines that do not keep within the columns, though they could be broken; a path cannot."""
    return [line for line in text.splitlines() if len(line) > columns and " " in line.strip()]


def test_every_command_is_in_the_table():
    assert {*WITH_DATA, *WITHOUT, *ELSEWHERE} == {command.name for command in app.registered_commands}


@pytest.mark.parametrize("command", WITH_DATA)
def test_data_may_stand_alone_or_behind_an_option(run, data, command):
    words, quick, status = WITH_DATA[command]
    where = data.get(command, "photos")
    bare = run(*words, where, *quick)
    named = run(*words, "--data", where, *quick)
    assert (bare.exit_code, named.exit_code) == (status, status), bare.output + named.output
    for result in (bare, named):
        assert too_wide(result.stdout) == []
        assert "\x1b" not in result.output


@pytest.mark.parametrize("command", [*WITH_DATA, *WITHOUT])
def test_json_goes_to_standard_output_or_into_a_file(run, data, tmp_path, command):
    if command in WITH_DATA:
        words, quick, status = WITH_DATA[command]
        words = (*words, data.get(command, "photos"), *quick)
    else:
        words, status = WITHOUT[command]
    shown = run(*words, "--json")
    assert shown.exit_code == status, shown.output
    json.loads(shown.stdout)
    filed = run(*words, "--json", "told.json")
    assert filed.exit_code == status, filed.output
    assert filed.stdout.splitlines()[-1] == "told.json"
    told = json.loads((tmp_path / "told.json").read_text())
    assert type(told) is type(json.loads(shown.stdout))
    if command == "check-data":
        assert told == json.loads(shown.stdout)
    named = run(*words, "--json=told.txt")
    assert named.exit_code == status
    json.loads((tmp_path / "told.txt").read_text())


@pytest.mark.parametrize("command", WITH_DATA)
def test_json_never_writes_over_what_was_given(run, data, tmp_path, command):
    words, quick, status = WITH_DATA[command]
    before = (tmp_path / "crop.yaml").read_bytes()
    first, *rest = words
    result = run(first, "--json", *rest, data.get(command, "photos"), *quick)
    assert result.exit_code == status, result.output
    json.loads(result.stdout)
    assert (tmp_path / "crop.yaml").read_bytes() == before


def test_a_file_of_json_that_cannot_be_is_told_before_the_work(run, data):
    for command, (words, quick, _) in WITH_DATA.items():
        result = run(*words, data.get(command, "photos"), *quick, "--json", "nowhere/told.json")
        assert (result.exit_code, result.stdout) == (2, ""), command
        assert "there is no folder nowhere" in result.stderr


@pytest.mark.parametrize("command", [name for name in WITH_DATA if name != "verify-store"])
@pytest.mark.parametrize(
    ("recipe", "where", "said"),
    [
        ("crop.yaml", "nowhere", "nowhere: "),
        ("crop.yaml", "empty", "no images in this folder"),
        ("crop.yaml", "hr=photos", "kind image"),
        ("crop.yaml", "store", "store"),
        ("broken.yaml", "photos", "broken.yaml:4:5: E302"),
        ("nowhere.yaml", "photos", "nowhere.yaml:1:1: E101"),
        ("sr-x4", "photos", "hr=FOLDER lr=FOLDER"),
    ],
)
def test_what_cannot_be_is_status_2_and_a_line(run, data, tmp_path, command, recipe, where, said):
    if (command, where) == ("bench", "store"):
        return  # it reads stores
    (tmp_path / "empty").mkdir(exist_ok=True)
    (first, _, *rest), quick, _ = WITH_DATA[command]
    if command == "diff":
        rest = []
    if (command, where) == ("bench", "nowhere"):
        where, said = "nowhere/", "nowhere/: "  # as its words may be recipes, too
    result = run(first, recipe, *rest, where, *quick)
    assert result.exit_code == 2, result.output
    if not (command == "diff" and where == "nowhere"):  # which may be a recipe, too
        assert said in result.stderr.replace("lr=FOLDER hr=FOLDER", "hr=FOLDER lr=FOLDER"), result.stderr
    assert "Traceback" not in result.output
    assert not isinstance(result.exception, Exception) or isinstance(result.exception, SystemExit)


@pytest.mark.parametrize("command", [name for name in WITH_DATA if name not in ("verify-store", "diff", "bench")])
def test_the_wrong_order_is_told(run, data, command):
    (first, recipe, *_), quick, _ = WITH_DATA[command]
    result = run(first, "photos", recipe, *quick)
    assert result.exit_code == 2
    assert "recipe" in result.stderr
    assert "photos" in result.stderr


def test_old_names_of_options_work_with_a_note(run, data):
    for words, old in (
        (("check", "good.yaml", "--format", "json"), "--format json"),
        (("verify", "crop.yaml", "photos", "--samples", "1", "--format", "json"), "--format json"),
        (("check-data", "crop.yaml", "photos", "--format", "json"), "--format json"),
        (("explain", "crop.yaml", "--image", "photos/0.png", "--seconds", "0.01", "--json"), "--image"),
    ):
        result = run(*words)
        assert result.exit_code == 0, result.output
        json.loads(result.stdout)
        assert result.stderr.startswith(f"note: {old} is now ")


@pytest.mark.parametrize("name", [command.name for command in app.registered_commands])
def test_help_keeps_within_the_columns(run, name):
    assert too_wide(run(name, "--help").stdout) == []


def test_a_line_that_is_too_wide_is_found():
    """Planted faults: a table of 120 columns, and prose."""
    assert too_wide("word " * 24) != []
    assert too_wide("x" * 120) == []


def test_only_one_place_prints():
    """Whatever else is printed would not be wrapped, nor freed of control characters; JSON and documents are."""
    allowed = {"terminal.py", "answers.py", "gallery.py", "app.py"}
    found = []
    for file in Path(augrecipes.cli.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in ("echo", "secho") and file.name not in allowed:
                found.append(f"{file.name}:{node.lineno}")
            if isinstance(node, ast.Name) and node.id == "print":
                found.append(f"{file.name}:{node.lineno}")
    assert found == []


@pytest.mark.parametrize("columns", ["40", "80"])
def test_reports_keep_within_narrow_lines_too(run, data, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    for words in (
        ("list",),
        ("explain", "stained-tissue"),
        ("check", "--explain", "L101"),
        ("check-data", "crop.yaml", "photos"),
    ):
        text = run(*words).stdout
        assert [line for line in too_wide(text, int(columns)) if "(" not in line] == [], words


def test_no_address_is_written_to_but_by_pack(run, data, tmp_path):
    """Of `s3://bucket/grid.png` pathlib would make the folder `s3:` here."""
    told = "s3://bucket/grid.png: is an address: give a path of this machine"
    writing = [
        name for name in sorted({*WITH_DATA, *WITHOUT, *ELSEWHERE} - {"pack"}) if "--out" in run(name, "-h").output
    ]
    assert writing == ["bench", "demo", "diff", "eject", "import", "preview", "verify"]
    for name in writing:
        assert told in run(name, "-o", "s3://bucket/grid.png").output, name
    result = run("preview", "crop.yaml", "photos", "-o", "s3://bucket/grid.png")
    assert (result.exit_code, list(tmp_path.glob("s3*"))) == (2, [])
    result = run("check", "s3://bucket/recipe.yaml")
    assert result.exit_code == 2
    assert "E101 file: is an address, and recipes are read from this machine: copy it here" in result.output
