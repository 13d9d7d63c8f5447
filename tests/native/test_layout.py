"""Structs that Python and the kernels share lie alike on both sides, or the kernels are not used."""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from augrecipes.native import build, kernels, lab, layout
from augrecipes.native.layout import Layout

DEF = (build.HERE / "layout.def").read_text(encoding="utf-8")
# A change of layout.def on one side alone, and the first name at which that is seen.
CHANGES = {
    "two fields change places": (
        "FIELD(Sample, int64_t, rows)\nFIELD(Sample, int64_t, columns)",
        "FIELD(Sample, int64_t, columns)\nFIELD(Sample, int64_t, rows)",
        r"Sample\.(rows|columns)",
    ),
    "a field is added": ("END(Program)", "FIELD(Program, int64_t, more)\nEND(Program)", r"Program(\.more)?"),
    "a field goes": ("FIELD(Step, double, p)", "", r"Step\.(p|arguments)"),
    "a type is another": ("FIELD(Job, double, lens)", "FIELD(Job, float, lens)", r"Job\.lens"),
    "an array is longer": ("roots, 3072)", "roots, 3073)", r"Lab\.roots"),
}


@pytest.fixture
def library() -> ctypes.CDLL:
    return ctypes.CDLL(str(kernels.where())) if kernels.where().exists() else pytest.skip("no native kernels")


def changed(change: str) -> str:
    before, after, _ = CHANGES[change]
    assert DEF.count(before) == 1
    return DEF.replace(before, after)


@pytest.mark.parametrize("change", CHANGES)
def test_a_struct_that_python_has_otherwise_is_noticed(change: str, library: ctypes.CDLL) -> None:
    layout.check(library, layout.read_layouts(DEF), layout.NUMBERS)
    with pytest.raises(ValueError, match=rf"another layout, at {CHANGES[change][2]};.*augrecipes\.native\.build"):
        layout.check(library, layout.read_layouts(changed(change)), layout.NUMBERS)


@pytest.mark.parametrize("change", CHANGES)
def test_a_struct_that_c_has_otherwise_is_noticed(change: str, tmp_path: Path) -> None:
    try:
        command = build.compiler()
    except build.NoCompilerError as error:
        pytest.skip(str(error))
    for file in build.HERE.glob("*.[chd]*"):
        shutil.copy(file, tmp_path)
    (tmp_path / "layout.def").write_text(changed(change), encoding="utf-8")
    table = tmp_path / "table.c"
    table.write_text('#include "layout_table.h"', encoding="utf-8")
    built = tmp_path / "table.so"
    try:
        build._run([*command, "-std=c11", "-shared", "-fPIC", str(table), "-o", str(built)])
    except subprocess.CalledProcessError as error:
        assert "has gaps" in error.stderr  # it is not even built
        return
    with pytest.raises(ValueError, match=rf"another layout, at {CHANGES[change][2]};"):
        layout.check(ctypes.CDLL(str(built)), layout.KERNELS, layout.NUMBERS)


def test_a_number_of_ops_def_that_is_another_is_noticed(library: ctypes.CDLL) -> None:
    name, number, size = layout.NUMBERS[7]
    others = (*layout.NUMBERS[:7], (name, number + 100, size), *layout.NUMBERS[8:])
    with pytest.raises(ValueError, match=f"another layout, at {name};"):
        layout.check(library, layout.KERNELS, others)
    with pytest.raises(ValueError, match=f"another layout, at {layout.NUMBERS[-1][0]};"):
        layout.check(library, layout.KERNELS, layout.NUMBERS[:-1])


def test_kernels_of_another_layout_are_not_used(
    monkeypatch: pytest.MonkeyPatch, library: ctypes.CDLL, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(layout, "KERNELS", layout.read_layouts(changed("a field goes")))
    monkeypatch.delenv(kernels.SWITCH, raising=False)
    assert kernels._load_once.__wrapped__() is None
    assert "native kernels are not used: they were built with another layout" in caplog.text


def test_a_codec_of_another_layout_is_not_used(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if kernels.codec() is None:
        pytest.skip("built without libjpeg-turbo")
    text = "BEGIN(Window)\nFIELD(Window, int32_t, size)\nEND(Window)\n"
    monkeypatch.setattr(layout, "CODEC", layout.read_layouts(text))
    assert kernels.codec.__wrapped__() is None
    assert "libjpeg is not used: they were built with another layout, at Window.size" in caplog.text


@pytest.mark.parametrize("one", [*layout.KERNELS.values(), *layout.CODEC.values()], ids=lambda one: one.name)
def test_formats_offsets_and_places_agree(one: Layout) -> None:
    data = bytes(np.random.default_rng(0).integers(1, 50, one.size, np.uint8))
    numbers = one.struct.unpack(data)
    structure = one.structure.from_buffer_copy(data)
    assert ctypes.sizeof(structure) == one.size
    names = [*one.formats]
    for name in names:
        part = one.part(name, name)
        found = part.unpack_from(data, one.offset(name))
        np.testing.assert_array_equal(found, numbers[one.places(name, name)])
        assert found[0] == numbers[one.place(name)]
        if len(found) == 1 and one.formats[name] != "d":
            assert getattr(structure, name) == found[0]
    assert one.part(names[0], names[-1]).format == one.struct.format


def test_every_struct_of_the_list_is_read() -> None:
    text = DEF + (build.CODEC / "window.def").read_text(encoding="utf-8")
    named = re.findall(r"^BEGIN\((\w+)\)", text, re.MULTILINE)
    assert named == re.findall(r"^END\((\w+)\)", text, re.MULTILINE)
    assert named == [*layout.KERNELS, *layout.CODEC]
    fields = re.findall(r"^(?:FIELD|ARRAY)\(", text, re.MULTILINE)
    assert len(fields) == sum(len(each.formats) for each in [*layout.KERNELS.values(), *layout.CODEC.values()])


def test_tables_of_lab_are_one_record_of_the_kernels_layout() -> None:
    assert lab.TABLES.nbytes == layout.LAB.size
