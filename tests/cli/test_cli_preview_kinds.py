"""`augrecipes preview` of pairs and bags: targets are named, and every mistake has a cure."""

from __future__ import annotations

import os

import pytest
import typer

from augrecipes.cli.folders import data_of
from augrecipes.demo.dataset import draw_scenes
from augrecipes.demo.slides import draw_slides


def test_pairs_name_their_targets(run, tmp_path):
    roots = draw_scenes(tmp_path / "pairs", count=1, shrink=2).roots("hr", "lr")
    named = [f"{name}={folder}" for name, folder in roots.items()]
    result = run("preview", "sr-x4", *named, "-o", "grid.png", "--rows", "1", "--columns", "1")
    assert (result.exit_code, result.stdout) == (0, "grid.png\n")
    assert (tmp_path / "grid.png").stat().st_size > 1000
    made = run("preview", "real-esrgan-x4", named[0], "-o", "made.png", "--rows", "1", "--columns", "1")
    assert made.exit_code == 2, "windows of 256 px do not fit into these"
    missing = run("preview", "sr-x4", named[0])
    assert (missing.exit_code, missing.stdout) == (2, "")
    assert "no folder was given for lr; sr-x4 takes hr=FOLDER lr=FOLDER" in missing.stderr
    bare = run("preview", "sr-x4", roots["hr"])
    assert bare.exit_code == 2
    assert "hr=FOLDER lr=FOLDER" in bare.stderr
    several = run("preview", "sr-x4", roots["hr"], roots["lr"])
    assert several.exit_code == 2
    assert "each folder needs its target" in several.stderr.replace("\n", " ")


def test_bags_are_a_folder(run, tmp_path):
    slides = draw_slides(tmp_path / "slides", bags=1, shrink=12)
    result = run("preview", "stained-tissue-bag", os.fspath(slides), "-o", "bag.png", "--columns", "2")
    assert (result.exit_code, result.stdout) == (0, "bag.png\n")
    assert run("preview", "stained-tissue-bag", f"hr={slides}").exit_code == 2


def test_a_file_may_be_called_like_a_target(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hr=1").mkdir()
    assert data_of(["hr=1"]) == "hr=1"
    assert data_of(["a/b=c"]) == "a/b=c"
    assert data_of(["hr=1", "lr=x"]) == {"hr": "1", "lr": "x"}


@pytest.mark.parametrize("given", [["hr="], ["a", "b"], ["hr=a", "b"]])
def test_what_names_no_folder_is_refused(given):
    with pytest.raises(typer.BadParameter):
        data_of(given)
