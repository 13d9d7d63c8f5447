"""What is released: what may be in a wheel, what it says is in it, and the checks before an upload."""

import importlib.util
import json
import re
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent


@pytest.fixture
def ci(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Loads a file of `.ci`, which finds its neighbours."""
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    for name in ("contents", "libjpeg"):
        monkeypatch.delitem(sys.modules, name, raising=False)

    def loaded(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return loaded


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Any:
    interface: Any = ModuleType("interface")
    interface.BuildHookInterface = object
    monkeypatch.setitem(sys.modules, "hatchling.builders.hooks.plugin.interface", interface)
    spec = importlib.util.spec_from_file_location("hook", ROOT / "hatch_build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def bill(hook: Any, tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "libjpeg-turbo-3.1.3").touch()
    return dict(hook.bill("0.1.0", tmp_path))


def test_the_bill_names_what_others_made(bill: dict[str, Any], ci: Any) -> None:
    parts = {part["name"]: part for part in bill["components"]}
    locked = json.loads((ROOT / ".ci" / "codemirror" / "package.json").read_text(encoding="utf-8"))["dependencies"]
    del locked["esbuild"]  # which bundles, and stays behind
    assert {name: parts[name]["version"] for name in locked} == locked
    assert parts["libjpeg-turbo"]["version"] == ci("libjpeg").VERSION
    assert parts["libjpeg-turbo"]["licenses"] == [{"expression": "BSD-3-Clause AND IJG AND Zlib"}]
    vendored = [file.name for file in (ROOT / "augrecipes").rglob("vendor/*.js")]
    assert vendored == ["codemirror.js"]  # whatever else comes has to be in the bill


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (None, None),
        ("name", "'name' is a required property"),
        ("type", "'type' is a required property"),
        ("licenses", None),  # which CycloneDX can do without
    ],
)
def test_the_bill_is_cyclonedx(place: str | None, said: str | None, bill: dict[str, Any], ci: Any) -> None:
    """And a fault in it is found, wherever it is."""
    if place:
        del bill["components"][0][place]
    told = ci("contents").unlike_cyclonedx(bill)
    assert [line.partition(": ")[2] for line in told] == ([said] if said else [])


@pytest.mark.parametrize("licence", ["MIT AND", "MIT"])
def test_licences_are_held_to_those_that_spdx_lists(licence: str, bill: dict[str, Any], ci: Any) -> None:
    """Its list is another file than the schema, which is found without a network."""
    bill["components"][0]["licenses"] = [{"license": {"id": licence}}]
    assert bool(ci("contents").unlike_cyclonedx(bill)) is (licence != "MIT")


def a_wheel(folder: Path, contents: ModuleType, bill: dict[str, Any]) -> dict[str, str]:
    """The files of a wheel that is as it should be."""
    names = [*contents.WANTED, "augrecipes/__init__.py", "augrecipes/native/built/libjpeg-turbo-licence.txt"]
    names += ["augrecipes/native/built/kernels.so", "augrecipes/native/built/kernels-jpeg.so"]
    names += [f"augrecipes-0.1.0.dist-info/{name}" for name in ("METADATA", "WHEEL", "RECORD", "licenses/LICENSE")]
    return dict.fromkeys(names, "") | {"augrecipes-0.1.0.dist-info/sboms/augrecipes.cdx.json": json.dumps(bill)}


@pytest.mark.parametrize(
    ("name", "there", "said"),
    [
        ("", True, None),
        ("tests/test_a.py", True, "does not belong there"),
        ("augrecipes/__pycache__/a.pyc", True, "does not belong there"),
        ("augrecipes/native/sink.c", True, "does not belong there"),
        ("augrecipes/native/built/machine.so", True, "does not belong there"),
        ("augrecipes/demo/photo.jpg", True, "does not belong there"),
        ("augrecipes/py.typed", False, "is missing"),
        ("augrecipes/native/built/kernels-jpeg.so", False, "kernels-jpeg: was not built"),
        ("augrecipes/native/built/libjpeg-turbo-licence.txt", False, "the licence of libjpeg-turbo is missing"),
        ("augrecipes-0.1.0.dist-info/sboms/augrecipes.cdx.json", False, "is not in the bill of material"),
    ],
)
def test_what_may_be_in_a_wheel(
    name: str, there: bool, said: str | None, ci: Any, bill: dict[str, Any], tmp_path: Path
) -> None:
    contents = ci("contents")
    files = a_wheel(tmp_path, contents, bill)
    if name:
        files.pop(name, None)
        files |= {name: ""} if there else {}
    wheel = tmp_path / "augrecipes-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    problems = contents.problems(wheel)
    assert [problem for problem in problems if said is None or said not in problem] == []
    assert bool(problems) is (said is not None)


def test_a_wheel_that_is_too_large(ci: Any, bill: dict[str, Any], tmp_path: Path) -> None:
    contents = ci("contents")
    wheel = tmp_path / "augrecipes-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in a_wheel(tmp_path, contents, bill).items():
            archive.writestr(path, text)
        archive.writestr("augrecipes/large.py", b"#" * contents.LARGEST)
    (problem,) = contents.problems(wheel)
    assert "are the most" in problem


def test_every_file_of_the_package_may_be_in_a_wheel(ci: Any) -> None:
    """But for what is compiled: a kind of file that is new is told of here, not when it is released."""
    contents = ci("contents")
    files = [file for file in (ROOT / "augrecipes").rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    kept = [file for file in files if file.suffix not in (".c", ".h") and file.parent.name != "built"]
    names = [str(file.relative_to(ROOT)) for file in kept]
    assert [name for name in names if not any(contents.re.fullmatch(rule, name) for rule in contents.ALLOWED)] == []
    assert set(contents.WANTED) - set(names) == {"augrecipes/CODES.md", "augrecipes/gallery/stained-tissue.yaml"}


@pytest.mark.parametrize(
    ("tags", "newer"),
    [
        ("manylinux2014_x86_64.manylinux_2_17_x86_64", ""),
        ("manylinux_2_5_x86_64.manylinux1_x86_64", ""),
        ("manylinux_2_34_x86_64", "2.34"),
        ("linux_x86_64", "of this machine"),
    ],
)
def test_the_glibc_of_a_wheel(tags: str, newer: str, ci: Any) -> None:
    assert ci("wheel").newer_glibc(f"augrecipes-0.1.0-py3-none-{tags}.whl") == newer


def test_a_source_that_is_another_is_refused(ci: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    libjpeg = ci("libjpeg")
    other = tmp_path / "other.tar.gz"
    other.write_bytes(b"another")
    monkeypatch.setattr(libjpeg, "SOURCES", ((other.as_uri(), "0" * 64), ((tmp_path / "none").as_uri(), "0" * 64)))
    with pytest.raises(SystemExit, match=r"cannot be had:\n.*another file than.*\n.*none"):
        libjpeg.source(tmp_path)


TEXTS = {
    "project": '[project]\nversion = "1.2.3"\n',
    "package": '__version__ = "1.2.3"\n',
    "citation": "version: 1.2.3\n",
    "changelog": "# Changelog\n\n## [1.2.3]\n\n## [1.2.2]\n",
}


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({}, None),
        ({"package": '__version__ = "1.2.2"\n'}, "__init__.py: 1.2.2"),
        ({"citation": "version: 1.2.2\n"}, "CITATION.cff: 1.2.2"),
        ({"changelog": "## [Unreleased]\n\n## [1.2.3]\n"}, "at its head: Unreleased"),
        ({"tags": []}, "the tag of this commit: none"),
        ({"tags": ["v1.2.4"]}, "the tag of this commit: 1.2.4"),
    ],
)
def test_one_version_is_named_everywhere(other: dict[str, Any], said: str | None, ci: Any) -> None:
    release = ci("release")
    given: dict[str, Any] = TEXTS | {"tags": ["v1.2.3"]} | other
    if said is None:
        assert release.version_named(**given) == "1.2.3"
    else:
        with pytest.raises(release.CheckError, match=said):
            release.version_named(**given)


def test_checks_are_told_one_a_line_and_the_first_that_fails_ends_them(
    ci: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    release = ci("release")

    def fails() -> str:
        raise release.CheckError("why")

    assert not release.go_through(iter([("first", lambda: "fine"), ("second", fails), ("third", lambda: "")]))
    first, second, *rest = capsys.readouterr().out.splitlines()
    assert first.split() == ["first", "ok", "0", "s", "fine"]
    assert second.split() == ["second", "failed", "0", "s"]
    assert first.index("0 s") == second.index("0 s")
    assert rest == ["", "why"]


def test_nothing_is_uploaded_but_by_the_tag() -> None:
    """And the job that may is the only one with a right, which is to say who it is."""
    assert not re.search(r"twine\W+upload|_password|_token", (ROOT / ".ci" / "release.py").read_text(encoding="utf-8"))
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "wheels.yml").read_text(encoding="utf-8"))
    rights = {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
    assert rights == {"publish": {"id-token": "write"}}
    assert workflow["permissions"] == {"contents": "read"}
    publish = workflow["jobs"]["publish"]
    assert publish["if"] == "startsWith(github.ref, 'refs/tags/v')"
    assert set(publish["needs"]) == set(workflow["jobs"]) - {"publish"}
