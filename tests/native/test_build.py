"""The native kernels are built where they can be, refused where they are stale, and never needed."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from programs import Programs

from augrecipes.native import build, kernels, libjpeg
from augrecipes.native.described import described

ASKS_BY_READING = ("-DREADS_WHAT_IT_ASKS_FOR",)
LAWS = Path(__file__).parents[1] / "laws"


def told(programs: Programs, name: str, value: str) -> tuple[str, str]:
    """What a program that is started with this variable says of its kernels, and what it complains of."""
    text = f"import os; os.environ[{name!r}] = {value!r}\nfrom augrecipes.native.described import described"
    done = programs(f"{text}\nprint(described())")
    return done.stdout.strip(), done.stderr


@pytest.fixture
def has_compiler() -> None:
    try:
        build.compiler()
    except build.NoCompilerError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build.build(tmp_path_factory.mktemp("built") / "kernels.so", ASKS_BY_READING)


@pytest.fixture(params=["used", pytest.param("built", marks=pytest.mark.soak)])
def library(request: pytest.FixtureRequest) -> Path:
    """The library that is in use, and one that is built now."""
    if request.param == "built":
        request.getfixturevalue("has_compiler")
        return Path(request.getfixturevalue("built"))
    return kernels.where() if kernels.where().exists() else pytest.skip("no native kernels")


def test_a_library_says_which_sources_it_is_made_of(library: Path) -> None:
    found = kernels.load(path=library)
    assert found.handle.ar_sources().decode() == build.fingerprint()
    assert found.isa == kernels.instruction_sets(found.handle)[-1]


def test_one_built_from_other_sources_is_refused(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "fingerprint", lambda: "0" * 16)
    with pytest.raises(ValueError, match=r"other sources.*augrecipes\.native\.build"):
        kernels.load(path=library)


def test_a_change_of_any_source_changes_the_fingerprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in [*build.HERE.glob("*.[ch]"), build.HERE / "ops.def", build.HERE / "build.py"]:
        shutil.copy(file, tmp_path)
    before = build.fingerprint()
    monkeypatch.setattr(build, "HERE", tmp_path)
    assert build.fingerprint() == before
    for file in sorted(tmp_path.iterdir()):
        text = file.read_bytes()
        file.write_bytes(text.replace(b"\n", b"\r\n"))  # as git may check it out on Windows
        assert build.fingerprint() == before
        file.write_bytes(text + b" ")
        assert build.fingerprint() != before
        file.write_bytes(text)


def test_every_instruction_set_of_this_processor_is_in_the_library(library: Path) -> None:
    names = kernels.instruction_sets(ctypes.CDLL(str(library)))
    assert names[0] == "base"
    for name in names:
        assert kernels.load(name, library).kernel("sink", "plllipppillll")
    with pytest.raises(ValueError, match="AUGRECIPES_NATIVE=v9"):
        kernels.load("v9", library)


def under_guard(library: Path, *laws: str) -> subprocess.CompletedProcess[str]:
    """Run these files of laws, as far as they are about arrays between pages that nobody may touch."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-k", "beside or lies_in", *laws]
    kept = os.environ | {kernels.SWITCH: "", "AUGRECIPES_KERNELS": str(library)}
    return subprocess.run(command, cwd=LAWS, env=kept, capture_output=True, text=True, check=False)


@pytest.mark.soak
@pytest.mark.skipif(sys.platform != "linux", reason="pages that are guarded as on Linux")
def test_what_is_asked_for_ahead_lies_in_its_array(
    has_compiler: None, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asking does no harm beside an array, and so no law would see it: these kernels read what others ask for."""
    assert {path.name for path in built.parent.iterdir()} == {built.name}  # nothing half-built stays
    done = under_guard(built, "test_native_merges.py", "test_reading.py")
    assert done.returncode == 0, done.stdout + done.stderr
    # A planted fault: one that does not look where its array ends.
    planted, text = tmp_path / "stain.c", (build.HERE / "stain.c").read_text(encoding="utf-8")
    planted.write_text(text.replace("MIN(3 * x + AHEAD, 3 * count - 1)", "3 * x + AHEAD"), encoding="utf-8")
    own = build.fingerprint()
    monkeypatch.setattr(build, "fingerprint", lambda: own)
    monkeypatch.setattr(build, "sources", lambda: [planted, build.HERE / "machine.c"])
    spoilt = build.build(tmp_path / "kernels.so", (*ASKS_BY_READING, f"-I{build.HERE}"))
    assert under_guard(spoilt, "test_native_merges.py").returncode == -signal.SIGSEGV


def test_without_a_compiler_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(build, "find_spec", lambda name: None)
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(build.NoCompilerError, match="ziglang"):
        build.compiler()
    monkeypatch.setattr(build, "find_spec", lambda name: object())
    assert build.compiler() == [sys.executable, "-m", "ziglang", "cc"]
    monkeypatch.setenv("CC", "no-such-cc")
    with pytest.raises(build.NoCompilerError, match="no-such-cc"):
        build.compiler()


def test_the_hook_asks_for_a_compiler_only_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("hatchling")
    spec = importlib.util.spec_from_file_location("hook", Path(__file__).parents[2] / "hatch_build.py")
    assert spec is not None and spec.loader is not None
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    assert hook.KernelsHook.dependencies(None) == ([] if shutil.which("cc") else ["ziglang"])
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert hook.KernelsHook.dependencies(None) == ["ziglang"]


def test_the_switch_turns_them_off_or_names_an_instruction_set(programs: Programs) -> None:
    none = "no native kernels"
    assert told(programs, "AUGRECIPES_NATIVE", "0") == (none, "")
    out, complaint = told(programs, "AUGRECIPES_KERNELS", "/nowhere")
    assert out == none
    assert "recipes run as with optimize: none" in complaint
    if kernels.where().exists():
        out, complaint = told(programs, "AUGRECIPES_NATIVE", "base")
        assert (out.partition(",")[0], complaint) == ("native base", "")
        out, complaint = told(programs, "AUGRECIPES_NATIVE", "v9")
        assert out.partition(",")[0] == none
        assert "AUGRECIPES_NATIVE=v9" in complaint


def test_a_damaged_library_is_passed_over(programs: Programs, tmp_path: Path) -> None:
    (tmp_path / "kernels.so").write_bytes(b"no library")
    out, complaint = told(programs, "AUGRECIPES_KERNELS", str(tmp_path / "kernels.so"))
    assert out == "no native kernels"
    assert "native kernels are not used" in complaint


def test_types_are_numbered_as_in_the_header() -> None:
    text = (build.HERE / "kernels.h").read_text(encoding="utf-8")
    for dtype, number in kernels.VALUES.items():
        assert f"{dtype.name.upper()} = {number}" in text


def test_ziglang_is_told_the_instruction_sets_in_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[list[str]] = []

    def note(command: list[str]) -> None:
        calls.append(command)
        Path(command[command.index("-o") + 1]).touch()

    monkeypatch.setattr(build, "compiler", lambda: [sys.executable, "-m", "ziglang", "cc"])
    monkeypatch.setattr(build, "_call", note)
    build.build(tmp_path / "kernels.so")
    compiled = [command for command in calls if "-c" in command]
    assert all(any(part.startswith("-mcpu=") for part in command) for command in compiled)
    assert not any(part.startswith("-march=") for command in compiled for part in command)


@pytest.mark.soak
def test_what_needs_libjpeg_is_left_out_without_it(
    has_compiler: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels_file = tmp_path / "kernels.so"
    made = build.build_codec(kernels_file)
    if made is not None:
        assert made == build.codec_beside(kernels_file) == tmp_path / "kernels-jpeg.so"
        assert libjpeg.opened(ctypes.CDLL(str(made))).version
    monkeypatch.setattr(build, "_libjpeg", lambda: iter([["-lno-such-library"]]))
    assert build.build_codec(kernels_file) is None  # and an old one goes
    assert list(tmp_path.iterdir()) == []


def test_libjpeg_built_from_other_sources_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    found = libjpeg.codec()
    if found is None:
        pytest.skip("built without libjpeg-turbo")
    assert f"libjpeg-turbo {found.version}" in described()
    monkeypatch.setattr(build, "fingerprint", lambda folder: "0" * 16)
    with pytest.raises(ValueError, match=r"other sources.*augrecipes\.native\.build"):
        libjpeg.opened(found.handle)
