"""The other commands, and what holds for all of them."""

import json
import signal
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from recipe_texts import BROKEN, LINTS

from augrecipes import __version__
from augrecipes.cli.app import app
from augrecipes.cli.reports import of_explanation
from augrecipes.native.described import described
from augrecipes.recipe.gallery import gallery_names

COMMANDS = (
    "list",
    "check",
    "import",
    "eject",
    "check-data",
    "explain",
    "diff",
    "preview",
    "verify",
    "bench",
    "pack",
    "verify-store",
    "convert-store",
    "cache",
    "studio",
    "schema",
    "demo",
)


def test_every_command_is_registered():
    registered = {command.name for command in app.registered_commands}
    assert registered == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(run, command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"  augrecipes {command}" in result.stdout
    assert "\b" not in result.stdout


def test_help_of_the_whole(run):
    result = run("--help")
    assert result.exit_code == 0
    assert all(f"  {command} " in result.stdout for command in COMMANDS)
    assert "Exit status" in result.stdout


def test_version(run):
    assert run("--version").stdout == f"augrecipes {__version__} ({described()})\n"


def test_a_mistyped_command(run):
    result = run("chek")
    assert result.exit_code == 2
    assert "'check'" in result.stderr


def test_list(run):
    result = run("list")
    assert result.exit_code == 0
    begun = [line.split()[0] for line in result.stdout.splitlines() if not line.startswith("    ")]
    assert begun == list(gallery_names())
    rows = json.loads(run("list", "--json").stdout)
    assert [row["name"] for row in rows] == list(gallery_names())
    assert all(row["kind"] in {"image", "pair", "bag"} and row["about"] and Path(row["file"]).is_file() for row in rows)


def test_schema_is_the_shipped_file(process):
    result = process("schema")
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout == (files("augrecipes") / "schema" / "recipe.schema.json").read_bytes()


@pytest.mark.parametrize("command", [("explain",), ("preview", "data")])
def test_an_invalid_recipe_is_no_traceback(process, write, command):
    write("x.yaml", BROKEN)
    name, *rest = command
    result = process(name, "x.yaml", *rest)
    lines = result.stderr.decode().splitlines()
    assert result.returncode == 2
    assert [line.split(" ")[0] for line in lines] == ["x.yaml:4:5:", "x.yaml:5:14:"]


def test_a_lint_error_is_status_1(process, write):
    write("x.yaml", LINTS)
    result = process("explain", "x.yaml", "--mode", "eval")
    assert result.returncode == 1
    assert result.stderr.startswith(b"x.yaml:5:5: L101 random-in-eval: ")


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
@pytest.mark.parametrize(("env", "colour"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colour_on_a_terminal(monkeypatch, env, colour):
    import os
    import pty

    from augrecipes.cli.terminal import paint, shown

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for key, value in env.items():
        monkeypatch.setenv(key, value)
    leader, follower = pty.openpty()
    try:
        with os.fdopen(follower, "w") as terminal:
            assert ("\x1b" in shown(paint("text", "error", terminal), terminal)) is colour
    finally:
        os.close(leader)


def test_a_reader_that_leaves(tmp_path):
    command = f"{sys.executable} -m augrecipes list --json; echo status $? >&2"
    env = {"PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONUNBUFFERED": "1"}
    done = subprocess.run(["sh", "-c", f"({command}) | true"], capture_output=True, text=True, env=env, check=False)
    # Either it was done before the reader left, or it ended like a program that SIGPIPE ended: quietly.
    assert done.stderr in ("status 0\n", "status 141\n")


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_interrupted_is_quiet(tmp_path):
    code = (
        "import signal, augrecipes.cli.gallery as command\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a background job is started without
        "command._rows = lambda: signal.raise_signal(signal.SIGINT)\n"
        "from augrecipes.cli import main\n"
        "main(['list'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGINT, "", "")


@pytest.mark.skipif(sys.platform != "linux", reason="names of any bytes are Linux'")
def test_file_names_that_are_no_text(process, tmp_path):
    import os

    folder = tmp_path / os.fsdecode(b"\xff\xfe")
    folder.mkdir()
    (folder / os.fsdecode(b"x\xff.yaml")).write_text(BROKEN)
    result = process("check", ".")
    assert result.returncode == 2
    assert len(result.stdout.splitlines()) == 2
    assert b"Traceback" not in result.stderr


def explained(name: str, site: str, depth: int = 0, **arguments: object) -> dict[str, object]:
    return {"site": site, "depth": depth, "name": name, "p": 1.0, "arguments": arguments}


def test_an_explanation_as_text():
    steps = [
        explained("OneOf", "OneOf#1"),
        explained("Blur", "OneOf#1/Blur#1", 1, limit=[3, 7], fill=None, on=True),
        explained("Blur", "soft", 1),
    ]
    told = {"recipe": "x", "digest": "0123456789abcdef", "steps": steps, "plan": [], "plugins": ["a"]}
    assert of_explanation(told).text().splitlines() == [
        "recipe: x",
        "digest: 0123456789ab",
        "",
        "Steps, with the arguments that take effect",
        "  step           p  arguments",
        "  OneOf#1        1",
        "    Blur#1       1  limit: [3, 7], on: true",
        "    soft (Blur)  1",
        "",
        "Plan",
        "  none",
        "",
        "Plugins",
        "  a",
    ]


@pytest.mark.parametrize("columns", [80, 140])
def test_an_explanation_keeps_to_the_terminal(run, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    for name in gallery_names():
        text = run("explain", name).stdout
        assert max(map(len, text.splitlines())) <= min(columns, 120)
        told = json.loads(run("explain", name, "--json").stdout)
        assert len(told["digest"]) == 64
        # Nothing but blanks, line ends and their order differs from the unwrapped text.
        wide = of_explanation(told).text(10_000)
        assert sorted("".join(text.split())) == sorted("".join(wide.split()))


def test_what_belongs_together_stays_on_one_line():
    arguments = {f"argument_{i}": [0.25, 0.75] for i in range(9)}
    for width in range(60, 90):
        text = of_explanation({"steps": [explained("Blur", "Blur#1", **arguments)]}).text(width)
        assert text.count("[0.25, 0.75]") == 9
        assert all(f"argument_{i}: [" in text for i in range(9))
