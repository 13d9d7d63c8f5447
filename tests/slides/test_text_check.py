"""Slides that are described in text: whatever stands there is read, or an error, and not the end of the process."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from programs import Programs

pytest.importorskip("openslide")
pytest.importorskip("tifffile")

from text_slides import write_mirax, write_vms, write_vmu

from augrecipes.errors import DataError
from augrecipes.sources.slides.opened import open_slide
from augrecipes.sources.slides.pyramid import Part

Write = Callable[[Path], tuple[Path, Path]]
KINDS = pytest.mark.parametrize("write", [write_mirax, write_vms, write_vmu])
END = """
import sys
from augrecipes.sources.slides import opened
from augrecipes.sources.slides.pyramid import Part
opened.check_text = lambda path, vendor: None
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


@KINDS
def test_a_sound_one_is_read(tmp_path: Path, write: Write) -> None:
    read(write(tmp_path)[0])


@KINDS
@settings(max_examples=60)
@given(changes=st.lists(st.tuples(st.integers(0, 40), st.none() | SAID), min_size=1, max_size=3))
@example(changes=[(4, "7")])
@example(changes=[(5, None)])
def test_nothing_said_ends_the_process(
    tmp_path_factory: pytest.TempPathFactory, write: Write, changes: list[tuple[int, str | None]]
) -> None:
    slide, told = write(tmp_path_factory.mktemp("told"))
    for line, value in changes:
        changed(told, line, value)
    try:
        read(slide)
    except DataError as error:
        assert error.path in (str(slide), str(told))


@pytest.mark.parametrize(
    ("write", "name", "value", "says"),
    [
        (write_mirax, "CameraImageDivisionsPerSide", "5", "has to be a whole number from 1 to 4, and is 5"),
        (write_mirax, "IMAGENUMBER_X", "16000000", "16000000×4 images are more than a slide can have: 16,777,216"),
        (write_mirax, "DIGITIZER_WIDTH", "-3", "has to be a whole number from 1 to 16,384, and is -3"),
        (write_vms, "NoJpegRows", "50000000", "has to be a whole number from 1 to 16,777,216, and is 50000000"),
        (write_vmu, "BitsPerPixel", "24", "BitsPerPixel has to be 36, and is 24"),
        (write_vmu, "PixelOrder", None, "PixelOrder has to be RGB, and is missing"),
    ],
)
def test_it_is_told_what_stands_there(tmp_path: Path, write: Write, name: str, value: str | None, says: str) -> None:
    slide, told = write(tmp_path)
    new = "" if value is None else f"{name}={value}\n"
    told.write_text(re.sub(f"{name}=.*\n", new, told.read_text()))
    with pytest.raises(DataError, match=f"^{re.escape(str(told))}: .*{re.escape(says)}$"):
        open_slide(str(slide))


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(("write", "name"), [(write_mirax, "CameraImageDivisionsPerSide"), (write_vmu, "BitsPerPixel")])
def test_without_the_check_the_process_would_end(tmp_path: Path, programs: Programs, write: Write, name: str) -> None:
    """What the law above is for: were it not so any more, the check could go."""
    slide, told = write(tmp_path)
    told.write_text(re.sub(f"{name}=.*", f"{name}=65", told.read_text()))
    assert programs(END, str(slide)).returncode < 0
