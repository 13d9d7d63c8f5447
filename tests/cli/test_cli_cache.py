"""`augrecipes cache`: what is kept, and letting go of it."""

from __future__ import annotations

import json

import pytest

from augrecipes import cache as caches


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    monkeypatch.setenv(caches.CACHE, str(tmp_path / "own"))


def test_what_is_kept_is_shown_and_cleared(run, tmp_path):
    assert caches.FOLDERS.write("1-2", bytes(2000))
    assert caches.SLIDES.write("v", bytes(500))
    shown = run("cache").stdout.splitlines()
    assert shown[0] == str(tmp_path / "own")
    assert [line.split()[0] for line in shown[2:]] == ["cache", *(one.name for one in caches.CACHES)]
    assert shown[3].split()[-5:-3] == ["2.0", "kB"]
    assert shown[3].endswith(" s ago")
    assert run("cache", "--clear", "folders").stdout.splitlines()[-1] == "cleared 1 file, 2.0 kB"
    found = {one["cache"]: one["files"] for one in json.loads(run("cache", "--json").stdout)}
    assert (found["folders"], found["slides"]) == (0, 1)
    assert run("cache", "--clear").exit_code == 0
    assert not [file for one in caches.CACHES for file in one.files()]


def test_a_file_in_the_place_of_the_folder(run, tmp_path):
    (tmp_path / "own").write_text("mine")
    assert {one["files"] for one in json.loads(run("cache", "--json").stdout)} == {0}
    assert run("cache", "--clear").stdout.splitlines()[-1] == "cleared 0 files, 0 B"
    assert (tmp_path / "own").read_text() == "mine"


def test_a_cache_that_is_none(run):
    result = run("cache", "--clear", "photos")
    assert result.exit_code == 2
    assert "there is no cache 'photos'; there are folders, archives" in " ".join(result.stderr.split())


def test_nobody_at_home(run, monkeypatch):
    monkeypatch.delenv(caches.CACHE)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    def nobody():
        raise RuntimeError("no home")

    monkeypatch.setattr("augrecipes.cache.Path.home", nobody)
    result = run("cache")
    assert (result.exit_code, result.stderr) == (2, "error: no home\n")
