"""The native kernels are built where they can be, refused where they are stale, and never needed."""

import ast
import ctypes
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from programs import Programs

import augrecipes
from augrecipes.native import build, kernels, op_numbers
from augrecipes.native.kernels import described

PREFETCH_BY_READING = ("-DPREFETCH_BY_READING",)
LAWS = Path(__file__).parents[1] / "laws"


def told(programs: Programs, name: str, value: str) -> tuple[str, str]:
    """What a program that is started with this variable says of its kernels, and what it complains of."""
    text = f"import os; os.environ[{name!r}] = {value!r}\nfrom augrecipes.native.kernels import described"
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
    return build.build(tmp_path_factory.mktemp("built") / "kernels.so", PREFETCH_BY_READING)


@pytest.fixture(params=["used", pytest.param("built", marks=pytest.mark.soak)])
def library(request: pytest.FixtureRequest) -> Path:
    """The library that is in use, and one that is built now."""
    if request.param == "built":
        request.getfixturevalue("has_compiler")
        return Path(request.getfixturevalue("built"))
    return kernels.where() if kernels.where().exists() else pytest.skip("no native kernels")


def test_a_library_says_which_sources_it_is_made_of(library: Path) -> None:
    found = kernels.load(path=library)
    found.handle.ar_sources.restype = ctypes.c_char_p
    assert found.handle.ar_sources().decode() == build.fingerprint()
    assert found.isa == kernels.instruction_sets(found.handle)[-1]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout of which sources may be changed: its folder of kernels."""
    folder = tmp_path / "augrecipes" / "native"
    shutil.copytree(build.HERE, folder, ignore=shutil.ignore_patterns("built", "__pycache__"))
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.setattr(build, "HERE", folder)
    monkeypatch.setattr(build, "CODEC", folder / "codec")
    return folder


def date(folder: Path, seconds: float) -> None:
    """Let all files have been changed then."""
    for file in folder.rglob("*.*"):
        os.utime(file, (seconds, seconds))


@pytest.mark.parametrize("name", ["sink.c", "view.h", "ops.def", "build.py"])
def test_one_built_from_other_sources_is_refused(library: Path, checkout: Path, name: str) -> None:
    file, built = checkout / name, library.stat().st_mtime
    date(checkout, built - 100)
    kernels.load(path=library)
    date(checkout, built + 100)
    kernels.load(path=library)  # they are newer, as git leaves them, but the same
    file.write_text(file.read_text(encoding="utf-8") + " ", encoding="utf-8")
    with pytest.raises(ValueError, match=r"other sources.*augrecipes\.native\.build"):
        kernels.load(path=library)
    (checkout.parents[1] / "pyproject.toml").unlink()
    kernels.load(path=library)  # nobody changes the sources of an installed package


def test_as_a_rule_no_source_is_read_when_kernels_are_loaded(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.utime(library)
    monkeypatch.setattr(build, "fingerprint", lambda folder=None: pytest.fail("the sources are read"))
    kernels.load(path=library)


def test_what_is_current_is_newer_than_its_sources_once_it_is_looked_at(tmp_path: Path, compiled: list[Any]) -> None:
    file = tmp_path / "built" / "kernels.so"
    file.parent.mkdir()
    both = build.update(file)
    compiled.clear()
    date(file.parent, 1000.0)
    assert build.update(file) == both
    assert compiled == []
    assert all(path.stat().st_mtime > 1000 for path in both)


def test_a_change_of_any_source_changes_the_fingerprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in [*build.HERE.glob("*.[ch]"), *build.HERE.glob("*.def"), build.HERE / "build.py"]:
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
    done = under_guard(built, "test_native_merges.py", "test_kernels.py")
    assert done.returncode == 0, done.stdout + done.stderr
    # A planted fault: one that does not look where its array ends.
    own, planted = build.fingerprint(), tmp_path / "channel_sums.c"
    text = (build.HERE / planted.name).read_text(encoding="utf-8")
    planted.write_text(text.replace("MIN(3 * x + AHEAD, 3 * count - 1)", "3 * x + AHEAD"), encoding="utf-8")
    others = [source for source in build.source_files() if source.name != planted.name]
    monkeypatch.setattr(build, "fingerprint", lambda: own)
    monkeypatch.setattr(build, "source_files", lambda: [planted, *others])
    spoilt = build.build(tmp_path / "kernels.so", (*PREFETCH_BY_READING, f"-I{build.HERE}"))
    assert under_guard(spoilt, "test_native_merges.py").returncode == -signal.SIGSEGV


@pytest.mark.parametrize(
    ("platform", "processor", "tag"),
    [
        ("linux-x86_64", "x86_64", "linux_x86_64"),
        ("linux-aarch64", "arm64", "linux_aarch64"),
        ("macosx-11.0-arm64", "arm64", "macosx_11_0_arm64"),
        ("macosx-10.9-universal2", "arm64", "macosx_11_0_arm64"),  # kernels are of one processor
        ("win-amd64", "x86_64", "win_amd64"),
        ("win32", "win32", "win32"),
    ],
)
def test_a_wheel_is_named_for_what_it_is_built_for(
    platform: str, processor: str, tag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build.sysconfig, "get_platform", lambda: platform)
    monkeypatch.setattr(build.platform, "machine", lambda: "arm64")
    assert (build.processor(), build.platform_tag()) == (processor, f"py3-none-{tag}")
    assert build._is_foreign() is (processor != "arm64")


def test_a_libjpeg_that_is_named_is_the_only_one_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUGRECIPES_LIBJPEG", str(tmp_path))
    assert [*build._libjpeg()] == [[f"-I{tmp_path / 'include'}", str(tmp_path / "lib" / "libjpeg.a")]]


def test_what_uses_vectors_of_arm_includes_them() -> None:
    """No machine of the tests compiles that branch."""
    files = [file for file in build.input_files() if file.suffix in (".c", ".h")]
    texts = {file.name: file.read_text(encoding="utf-8") for file in files}
    assert [name for name, text in texts.items() if "__ARM_NEON" in text and "<arm_neon.h>" not in text] == []
    assert any("__ARM_NEON" in text for text in texts.values())


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


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The build hook, also where nothing is installed that calls it."""
    interface: Any = ModuleType("interface")
    interface.BuildHookInterface = object
    monkeypatch.setitem(sys.modules, "hatchling.builders.hooks.plugin.interface", interface)
    spec = importlib.util.spec_from_file_location("hook", Path(__file__).parents[2] / "hatch_build.py")
    assert spec is not None and spec.loader is not None
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    return hook


@pytest.mark.parametrize(("version", "whole"), [("editable", False), ("standard", True)])
def test_wheels_have_every_instruction_set(
    hook: Any, version: str, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    def update(whole: bool) -> list[Path]:
        asked.append(whole)
        return [Path("k.so")]

    monkeypatch.delenv("AUGRECIPES_NATIVE", raising=False)
    monkeypatch.delenv("AUGRECIPES_LIBJPEG", raising=False)
    monkeypatch.setattr(hook, "_native", lambda: SimpleNamespace(update=update, platform_tag=lambda: "tag"))
    kernels_hook = hook.KernelsHook()
    kernels_hook.target_name, kernels_hook.metadata = "wheel", SimpleNamespace(version="1.2.3")
    data: dict[str, Any] = {"artifacts": [], "sbom_files": [], "force_include": {}}
    kernels_hook.initialize(version, data)
    assert asked == [whole]
    assert len(data.pop("sbom_files")) == whole  # which an editable install has no place for
    made = {"artifacts": ["augrecipes/native/built/k.so"], "pure_python": False, "tag": "tag"}
    assert data == made | {"force_include": {}}


@pytest.mark.parametrize("native", ["0", "1"])
def test_a_wheel_says_what_is_linked_in(
    hook: Any, native: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its licence; one without kernels does not, whatever is at hand."""
    (tmp_path / "libjpeg-turbo-3.1.3").touch()
    monkeypatch.setenv("AUGRECIPES_NATIVE", native)
    monkeypatch.setenv("AUGRECIPES_LIBJPEG", str(tmp_path))
    monkeypatch.setattr(hook.KernelsHook, "compiled", lambda *given: [Path("k.so"), Path("k-jpeg.so")])
    kernels_hook = hook.KernelsHook()
    kernels_hook.target_name, kernels_hook.metadata = "wheel", SimpleNamespace(version="1.2.3")
    data: dict[str, Any] = {"sbom_files": [], "force_include": {}}
    kernels_hook.initialize("standard", data)
    (file,) = data["sbom_files"]
    bill = json.loads(Path(file).read_text(encoding="utf-8"))
    assert bill["metadata"]["component"]["purl"] == "pkg:pypi/augrecipes@1.2.3"
    parts = {part["name"]: part["version"] for part in bill["components"]}
    assert "@codemirror/view" in parts
    linked = {"libjpeg-turbo": "3.1.3"} if native == "1" else {}
    assert {name: parts[name] for name in parts if name == "libjpeg-turbo"} == linked
    assert len(data["force_include"]) == len(linked)


def test_the_hook_asks_for_a_compiler_only_where_there_is_none(hook: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AUGRECIPES_NATIVE", raising=False)
    assert hook.KernelsHook.dependencies(None) == ([] if shutil.which("cc") else ["ziglang"])
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert hook.KernelsHook.dependencies(None) == ["ziglang"]
    monkeypatch.setenv("AUGRECIPES_NATIVE", "0")
    assert hook.KernelsHook.dependencies(None) == []


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


def test_only_what_a_library_has_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "processor", lambda: "x86_64")
    handle = SimpleNamespace(ar_isa=lambda: 4, ar_sink_base=0, ar_sink_v4=0, ar_sink_v3=0)
    assert kernels.instruction_sets(handle) == ["base", "v3", "v4"]
    del handle.ar_sink_v3
    assert kernels.instruction_sets(handle) == ["base", "v4"]
    handle.ar_isa = lambda: 3  # as on another machine
    assert kernels.instruction_sets(handle) == ["base"]


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that would compile; each writes what tells a library: its sources, and the kernels in it."""
    calls: list[list[str]] = []

    def note(command: list[str]) -> None:
        if "-o" not in command:  # the self-test of the codec
            return
        calls.append(command)
        given = [part.partition("=")[2] for part in command if part.startswith(("-DSOURCES=", "-DISA="))]
        objects = [Path(part).read_bytes() for part in command if part.endswith(".o") and Path(part).exists()]
        sink = f"ar_sink_{given[-1]}\0" if any(part.endswith("sink.c") for part in command) else ""
        Path(command[command.index("-o") + 1]).write_bytes(f"{given[0]}{sink}".encode() + b"".join(objects))

    monkeypatch.setattr(build, "compiler", lambda: ["cc"])
    monkeypatch.setattr(build, "processor", lambda: "x86_64")
    monkeypatch.setattr(build, "_libjpeg", lambda: iter([["-ljpeg"]]))
    monkeypatch.setattr(build, "_run", note)
    monkeypatch.setattr(build.ctypes, "CDLL", lambda path: SimpleNamespace(ar_isa=lambda: 3))
    return calls


def sets_of(calls: list[list[str]]) -> set[str]:
    return {part for call in calls if "-c" in call for part in call if part.startswith("-DISA=")}


def test_an_editable_install_compiles_what_this_machine_needs_once(tmp_path: Path, compiled: list[list[str]]) -> None:
    file = tmp_path / "built" / "kernels.so"
    file.parent.mkdir()
    assert build.update(file, whole=False) == [file, build.codec_library(file)]
    assert sets_of(compiled) == {"-DISA=base", "-DISA=v3"}  # the best that this machine has
    compiled.clear()
    assert build.update(file, whole=False) == [file, build.codec_library(file)]
    assert compiled == []
    build.update(file)  # a wheel has them all
    assert sets_of(compiled) == {"-DISA=base", "-DISA=v3", "-DISA=v4"}
    compiled.clear()
    build.update(file, whole=False)
    build.update(file)
    assert compiled == []
    build.update(file, ("-g",))
    assert all("-g" in call for call in compiled) and compiled


def test_kernels_that_are_there_need_no_compiler(
    tmp_path: Path, compiled: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """pip brings one for as long as it installs; without libjpeg's headers nothing is left to do for `make`."""
    file = tmp_path / "built" / "kernels.so"
    file.parent.mkdir()
    build.update(file)
    build.codec_library(file).unlink()

    def none() -> list[str]:
        raise build.NoCompilerError

    monkeypatch.setattr(build, "compiler", none)
    assert build.update(file) == [file]
    file.unlink()
    with pytest.raises(build.NoCompilerError):
        build.update(file)


@pytest.mark.parametrize(
    ("arguments", "whole"), [([], False), (["--all"], True), (["out/k.so"], True), (["out/k.so", "-g"], True)]
)
def test_the_program_builds_for_this_machine_unless_it_is_told_otherwise(
    arguments: list[str], whole: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[object, ...]] = []

    def update(*given: object) -> list[Path]:
        asked.append(given)
        return [build.LIBRARY]

    monkeypatch.setattr(build, "update", update)
    monkeypatch.setattr(sys, "argv", ["build.py", *arguments])
    build.main()
    named = [Path(each) for each in arguments[:1] if each != "--all"]
    assert asked == [((named or [build.LIBRARY])[0], tuple(arguments[1:]), whole)]
    assert capsys.readouterr().out == f"{build.LIBRARY}\n"


@pytest.mark.parametrize(("terminal", "every", "end"), [(True, "15", "\r"), (False, "0", "\n"), (False, "900", "")])
def test_how_much_is_compiled_is_told(
    terminal: bool, every: str, end: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AUGRECIPES_TELL_EVERY", every)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    assert [*build._report(iter("abc"), 3)] == ["a", "b", "c"]
    said = "".join(f"compiling kernels: file {number} of 3{end if number < 3 else chr(10)}" for number in (1, 2, 3))
    assert capsys.readouterr().err == (said if end else "")


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
    monkeypatch.setattr(build, "_run", note)
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
        assert made == build.codec_library(kernels_file) == tmp_path / "kernels-jpeg.so"
        assert kernels.opened(ctypes.CDLL(str(made))).version
    monkeypatch.setattr(build, "_libjpeg", lambda: iter([["-lno-such-library"]]))
    assert build.build_codec(kernels_file) is None  # and an old one goes
    assert list(tmp_path.iterdir()) == []


def test_libjpeg_built_from_other_sources_is_refused(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    codec = kernels.codec()
    if codec is None:
        pytest.skip("built without libjpeg-turbo")
    assert f"libjpeg-turbo {codec.version}" in described()
    path = build.codec_library(kernels.where())
    for name in ("codec/huffman.h", "layout.h"):
        date(checkout, path.stat().st_mtime + 100)
        assert kernels.codec.__wrapped__() is not None
        file = checkout / name
        text = file.read_text(encoding="utf-8")
        file.write_text(text + " ", encoding="utf-8")
        caplog.clear()
        assert kernels.codec.__wrapped__() is None
        assert re.search(r"other sources.*augrecipes\.native\.build", caplog.text)
        file.write_text(text, encoding="utf-8")


# Numbers of draws and effects stand once, in ops.def: read by both languages, used by both, and nowhere beside it.


PACKAGE = Path(augrecipes.__file__).parent
SORTS = {
    "DRAW": op_numbers.DRAWS, "EFFECT": op_numbers.EFFECTS, "OPERATION": op_numbers.OPERATIONS,
    "OPTION": op_numbers.OPTIONS, "LIMIT": op_numbers.LIMITS,
}  # fmt: skip
PLURALS = {f"{sort}S": vars(numbers) for sort, numbers in SORTS.items()}
# What ops.h puts before the names of a sort.
PREFIXES = {"DRAWS": "DRAW_", "EFFECTS": "OP_", "OPERATIONS": "COLOUR_", "OPTIONS": "", "LIMITS": ""}
IN_C = {f"{prefix}{name}" for sort, prefix in PREFIXES.items() for name in PLURALS[sort]}

# Where modules of Python number what plans hold; elsewhere WIDTH, say, is another one.
TAKE_PART = ("compiler/lowering/", "compiler/run/", "compiler/kernels/jobs.py", "native/")


def texts(*kinds: str) -> dict[str, str]:
    """The text of each file of these kinds, by its path in the package."""
    files = [file for kind in kinds for file in sorted(PACKAGE.rglob(f"*.{kind}"))]
    return {file.relative_to(PACKAGE).as_posix(): file.read_text(encoding="utf-8") for file in files}


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def numbered_in_c(text: str) -> set[str]:
    """Names of ops.def to which a C file gives a number of its own, in an enumeration or a macro."""
    found = set(re.findall(r"^\s*#define (\w+) ", text := without_comments(text), flags=re.MULTILINE))
    for body in re.findall(r"\benum\s*\w*\s*\{([^}]*)\}", text):
        found |= {entry.split("=")[0].strip() for entry in body.split(",")}
    return found & IN_C


def numbered_in_python(text: str) -> set[str]:
    """Names of ops.def to which a module gives numbers of its own, leading underscores apart."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and of_numbers(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {name.id.lstrip("_") for to in targets for name in ast.walk(to) if isinstance(name, ast.Name)}
    return found & set().union(*PLURALS.values())


def of_numbers(value: ast.AST) -> bool:
    """Whether a value is made of written numbers alone, such as `range(4)` or `3, *range(5, 7)`."""
    names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    numbers = [node for node in ast.walk(value) if isinstance(node, ast.Constant)]
    return names <= {"range"} and bool(numbers) and all(type(node.value) is int for node in numbers)


def doubled(numbers: Mapping[str, int]) -> list[str]:
    """Names whose number another one has, too."""
    return [name for name, number in numbers.items() if list(numbers.values()).count(number) > 1]


def test_no_number_stands_beside_ops_def() -> None:
    assert {path: found for path, text in texts("c", "h").items() if (found := numbered_in_c(text))} == {}
    modules = {path: text for path, text in texts("py").items() if path.startswith(TAKE_PART)}
    assert {path: found for path, text in modules.items() if (found := numbered_in_python(text))} == {}


@pytest.mark.parametrize(
    ("planted", "name"),
    [
        ("enum { OTHER, OP_CROPS = 0 };", "OP_CROPS"),
        ("enum {\n    DRAW_CENTER_CROP, /* a window */\n};", "DRAW_CENTER_CROP"),
        ("#define MOST_HOLES 256\n", "MOST_HOLES"),
    ],
)
def test_a_number_planted_in_c_is_found(planted: str, name: str) -> None:
    assert numbered_in_c(f"/* enum {{ OP_CROPS }}; */\nenum {{ AT_ONCE = 4 }};\n{planted}") == {name}


@pytest.mark.parametrize(
    "planted", ["_CROPS = 0", "CROPS, FLIPS = range(2)", "CROPS, FLIPS = 7, *range(1, 2)", "CROPS: Final = 3"]
)
def test_a_number_planted_in_python_is_found(planted: str) -> None:
    text = f"CENTER_CROP = found()\n_GREYS = EFFECTS.GRAYS\n_FULL = 255\n{planted}"
    assert "CROPS" in numbered_in_python(text) <= {"CROPS", "FLIPS"}


def test_every_number_is_used_by_c() -> None:
    files = {path: text for path, text in texts("c", "h", "def").items() if path != "native/ops.def"}
    used = set(re.findall(r"\w+", "".join(map(without_comments, files.values()))))
    assert IN_C - used <= set(PLURALS["OPTIONS"])  # the last of some options is what the others are not


@pytest.mark.parametrize("sort", ["DRAWS", "EFFECTS", "OPERATIONS"])
def test_no_two_of_a_sort_share_a_number(sort: str) -> None:
    assert doubled(PLURALS[sort]) == []
    assert doubled({"A": 1, "B": 2, "C": 1}) == ["A", "C"]


def test_each_line_of_the_file_is_read() -> None:
    lines = (PACKAGE / "native" / "ops.def").read_text(encoding="utf-8").splitlines()
    written = [line for line in lines if re.match(r"[A-Za-z_]+\(", line)]
    assert len(written) == sum(len(numbers) for numbers in PLURALS.values())
