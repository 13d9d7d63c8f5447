"""Files may be named by anyone: no control character of a name, or of a recipe, reaches a terminal."""

from __future__ import annotations

import io
import json
import logging
import os
import sys
from contextlib import redirect_stderr, redirect_stdout

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.checks import GOOD

from augrecipes.cli import terminal
from augrecipes.cli.answers import as_json
from augrecipes.cli.check import annotation
from augrecipes.errors import DataError, Diagnostic, LoaderError, RecipeError, StoreError, harmless, listed
from augrecipes.sources.defects import Defect

HOSTILE = st.text(st.characters(), min_size=1, max_size=12).map(lambda text: f"a{text}\x1b[31m\x9b2J\n::error::\u202eb")
STYLES = "".join(terminal._MARKS.values()) + terminal._END


def raw(text: str, keep: str = "\n") -> list[str]:
    """Characters that a terminal might obey."""
    return [c for c in text if not c.isprintable() and c not in keep and not "\udc80" <= c <= "\udcff"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@given(HOSTILE)
def test_errors_and_logs_hold_none(name):
    problem = Diagnostic(f"{name} is wrong", 1, 1, name=name, file=name)
    for error in (DataError(name, name, "Step"), StoreError("is no store", name), RecipeError(problems=[problem]),
                  LoaderError(name), DataError("is wrong" + listed([name]))):  # fmt: skip
        assert raw(str(error)) == []
    assert "\n" not in str(problem)
    assert str(DataError("is wrong" + listed([name, "b"]))).count("\n") == 2
    assert "\n" not in str(DataError("is wrong", name))
    printed = io.StringIO()
    handler, logger = logging.StreamHandler(printed), logging.getLogger("augrecipes")
    logger.addHandler(handler)
    try:
        logger.warning("%s: %d images%s", name, 3, listed([name]))
    finally:
        logger.removeHandler(handler)
    assert raw(printed.getvalue()) == []
    assert printed.getvalue().count("\n") == 2


@given(HOSTILE)
def test_what_the_command_line_prints_holds_none(name):
    problem = Diagnostic(f"{name} is wrong", 1, 1, name=name, file=name)
    for stream in (io.StringIO(), Terminal()):
        with redirect_stdout(stream), redirect_stderr(stream):
            terminal.say(name)
            terminal.say(terminal.paint(name, "strong", sys.stdout))
            terminal.say(terminal.line_of(problem, sys.stdout))
            terminal.complain(DataError(name, name))
            terminal.complain(FileNotFoundError(2, "no such file", name.replace("\0", "")))
            terminal.note(name)
        shown = stream.getvalue()
        for code in terminal._CODES.values():
            shown = shown.replace(code, "") if stream.isatty() else shown
        assert raw(shown, "\n" + STYLES) == []
    assert raw(annotation(problem), "") == []
    assert [c for c in as_json({name: [name]}) if c in "\x1b\x9b\u202e\x7f"] == []
    assert json.loads(as_json({name: [name]})) == {name: [name]}


@pytest.mark.parametrize("prints", [lambda name: name, lambda name: name.replace("\x1b", "")])
def test_a_planted_fault_is_found(prints):
    """What prints a name as it is, or without escapes alone."""
    assert raw(prints("a\x1b[31m\x9b2J")) != []
    assert raw(harmless("a\x1b[31m\x9b2J\n"), "") == []


@pytest.mark.skipif(sys.platform == "win32", reason="names of any characters are POSIX'")
def test_commands_over_hostile_names(run, write, tmp_path):
    name = "a\x1b[31mred\x07\x9b2J\nnext"
    image = cv2.imencode(".png", np.zeros((40, 48, 3), np.uint8))[1].tobytes()
    write(f"{name}/{name}.yaml", GOOD)
    write(f"bad{name}/{name}.yaml", GOOD.replace("HorizontalFlip", "HorizontalFlop"))
    write(f"in{name}/{name}.png", image)
    write(f"broken{name}/{name}.png", b"none")
    write(f"broken{name}/ok.png", image)
    recipe, images, broken = f"{name}/{name}.yaml", f"in{name}", f"broken{name}"
    for command in (
        f"check|{recipe}", f"check|bad{name}", f"check|bad{name}|--format|github", f"check|bad{name}|--json",
        f"check|--{name}", f"check|--explain|{name}", f"explain|{recipe}", f"explain|{recipe}|{images}|--seconds|0.01",
        f"explain|{recipe}|{broken}|--seconds|0.01", f"explain|{recipe}|--json|{name}.json",
        f"explain|{recipe}|--mode|{name}", f"explain|{recipe}|--set|{name}=1", f"check-data|{recipe}|{broken}|--json",
        f"check-data|{recipe}|{broken}|--content", f"check-data|{recipe}|{name}|--names|{name}",
        f"preview|{recipe}|{broken}|-o|{name}.png|--rows|1", f"preview|{recipe}|x=in{name}|{name}",
        f"pack|{recipe}|{broken}|--out|store{name}|--workers|0", f"pack|{recipe}|{name}|--out|x",
        f"verify-store|store{name}", f"verify-store|{name}", f"verify|{recipe}|{broken}|--samples|2",
        f"verify|{recipe}|{images}|--masks|{name}", f"diff|{recipe}|{recipe}",
        f"diff|{recipe}|{images}|-o|d{name}.png", name,
    ):  # fmt: skip
        words = command.split("|")
        result = run(*words)
        assert raw(result.stdout) == [], words
        assert raw(result.stderr) == [], words
        assert result.exit_code in (0, 1, 2), (words, result.output)
        assert "Traceback" not in result.output, words
        assert not any(line.startswith("next") for line in result.output.splitlines()), words


def test_each_defect_is_a_line():
    from augrecipes.sources.defects import report

    text = report([Defect("missing", ("a\nb",), "a\nb\x1b: no lr")], fine=0, targets=("hr",))
    assert text.splitlines()[-1] == "  a\\nb\\x1b: no lr"
    assert os.linesep not in text or os.linesep == "\n"
