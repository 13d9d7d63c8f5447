"""Slides that are described in text: whatever stands there is read, or an error, and not the end of the process."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from programs import Programs

pytest.importorskip("openslide")
pytest.importorskip("tifffile")

from text_slides import write_mirax, write_vms

from augrecipes.errors import DataError
from augrecipes.sources.slides.opened import open_slide
from augrecipes.sources.slides.pyramid import Part

END = """
import sys
from augrecipes.sources.slides import opened
from augrecipes.sources.slides.pyramid import Part
opened.check_mirax = lambda path: None
opened.open_slide(sys.argv[1]).read(0, Part(0, 0, 80, 80))
"""
SAID = st.sampled_from(["", "x", "0", "-1", "1", "3", "7", "65", "36.5", "1000000000", "4294967297", "9" * 30, "nan"])


def read(slide: Path) -> None:
    """Opens a slide, and reads corners of its levels."""
    reader = open_slide(str(slide))
    for k, level in enumerate(reader.levels):
        for x in (0, max(level.width - 80, 0)):
            assert reader.read(k, Part(x, 0, 80, 80)).shape == (80, 80, 3)


def changed(told: Path, line: int, value: str | None) -> None:
    """Has a line that names a value name another; None: it goes."""
    lines = told.read_text().splitlines()
    named = [k for k, text in enumerate(lines) if "=" in text]
    k = named[line % len(named)]
    lines[k : k + 1] = [] if value is None else [f"{lines[k].partition('=')[0]}={value}"]
    told.write_text("\n".join(lines))


def test_a_sound_one_is_read(tmp_path: Path) -> None:
    read(write_mirax(tmp_path)[0])


def test_others_are_told_what_to_become(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.vms: is a VMS or VMU slide, which is not read: make it a TIFF, `vips"):
        open_slide(str(write_vms(tmp_path)))


@settings(max_examples=60)
@given(changes=st.lists(st.tuples(st.integers(0, 40), st.none() | SAID), min_size=1, max_size=3))
@example(changes=[(4, "7")])
@example(changes=[(5, None)])
def test_nothing_said_ends_the_process(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, str | None]]
) -> None:
    slide, told = write_mirax(tmp_path_factory.mktemp("told"))
    for line, value in changes:
        changed(told, line, value)
    try:
        read(slide)
    except DataError as error:
        assert error.path in (str(slide), str(told))


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("CameraImageDivisionsPerSide", "5", "has to be a whole number from 1 to 4, and is 5"),
        ("IMAGENUMBER_X", "16000000", "16000000×4 images are more than a slide can have: 16,777,216"),
        ("DIGITIZER_WIDTH", "-3", "has to be a whole number from 1 to 16,384, and is -3"),
    ],
)
def test_it_is_told_what_stands_there(tmp_path: Path, name: str, value: str, says: str) -> None:
    slide, told = write_mirax(tmp_path)
    told.write_text(re.sub(f"{name}=.*\n", f"{name}={value}\n", told.read_text()))
    with pytest.raises(DataError, match=f"^{re.escape(str(told))}: .*{re.escape(says)}$"):
        open_slide(str(slide))


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_without_the_check_the_process_would_end(tmp_path: Path, programs: Programs) -> None:
    """What the law above is for: were it not so any more, the check could go."""
    slide, told = write_mirax(tmp_path)
    name = "CameraImageDivisionsPerSide"
    told.write_text(re.sub(f"{name}=.*", f"{name}=65", told.read_text()))
    assert programs(END, str(slide)).returncode < 0
