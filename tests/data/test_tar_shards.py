"""Samples of tar archives: those of the files that were put in, for every dataset law, loader, store and command."""

import io
import os
import random
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import folders as made
from support.checks import planted_faults
from support.command_line import invoke
from support.kind_laws import LAWS, OF_SAMPLES, drawn
from support.kinds import IMAGE, Files, Kind, N
from support.kinds import KINDS_GIVEN as KINDS

import augrecipes as ar
from augrecipes import cache
from augrecipes.cache import ARCHIVES, CACHE
from augrecipes.recipe.parse import parse_text
from augrecipes.sources.tar import shards
from augrecipes.sources.tar.archives import OPENED
from augrecipes.sources.tar.shards import TarShards
from augrecipes.store import open_store

by_kind = pytest.mark.parametrize("kind", KINDS, ids=str)
PLAIN = "{version: 1, recipe: plain, steps: [HorizontalFlip, RandomGamma: {p: 1.0}], eval: []}"


def archives_of(kind: Kind, root: Path, folder: Path, each: int = 5) -> str:
    """The files of a kind, so many samples an archive, and a pattern that names the archives."""
    folder.mkdir(exist_ok=True)
    files = Files(kind, root, "bytes")
    for start in range(0, len(files), each):
        inside: dict[str, bytes] = {}
        for k in range(start, min(start + each, len(files))):
            for name, data in files[k].items():
                inside[f"x/{k:04}.{name}.png"] = data
            inside |= {} if files.targets is None else {f"x/{k:04}.cls": b"%d" % files.targets[k]}
        made.write(folder / f"train-{start // each}.tar", inside)
    return f"{folder}/train-*.tar"


@pytest.fixture(scope="module")
def patterns(roots: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {kind.name: archives_of(kind, roots[kind.name], tmp_path_factory.mktemp(kind.name)) for kind in KINDS}


@pytest.mark.parametrize("law", OF_SAMPLES)
def test_law(patterns: dict[str, str], law: str) -> None:
    LAWS[law](lambda **options: ar.Samples(patterns["image"], parse_text(IMAGE.recipe), **{"seed": 3, **options}))


def of_the_files(kind: Kind, root: Path, pattern: str) -> None:
    """The law: samples of archives are those of the files that are in them, to the bit."""
    files, found = kind.open(root, seed=3), ar.Samples(pattern, parse_text(kind.recipe), seed=3)
    assert len(found) == len(files) == N
    for i in range(N):
        ours, theirs = found[1, i], files[1, i]
        assert ours.pop("__key__") == f"x/{i:04}"
        assert {*ours} == {*theirs}
        assert drawn(ours) == drawn(theirs)
        assert ours.get("label") == theirs.get("label")
    assert found.labels is None if files.labels is None else found.labels.tolist() == files.labels.tolist()


@by_kind
def test_samples_are_those_of_the_files(roots: dict[str, Path], patterns: dict[str, str], kind: Kind) -> None:
    of_the_files(kind, roots[kind.name], patterns[kind.name])


def test_bytes_of_a_neighbour_are_caught(
    roots: dict[str, Path], patterns: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = TarShards.read
    monkeypatch.setattr(TarShards, "read", lambda self, i: real(self, i ^ 1))
    with pytest.raises(AssertionError):
        of_the_files(IMAGE, roots["image"], patterns["image"])


def test_errors_name_archive_and_key(tmp_path: Path) -> None:
    path = made.write(tmp_path / "a.tar", {"0.jpg": b"nonsense", "1.cls": b"3"})
    ds = ar.Samples(path, parse_text(PLAIN))
    with pytest.raises(ar.DataError, match=r"a\.tar/0: .*not an image"):
        ds[0]
    with pytest.raises(ar.DataError, match=r"a\.tar/1: .*has no image; there is '__key__', 'label'"):
        ds[1]
    skipping = ar.Samples(path, parse_text(PLAIN), on_error="skip")
    with pytest.raises(ar.DataError, match=r"a\.tar"):
        next(iter(ar.loader(skipping, 2)))  # nothing is left
    with pytest.raises(ar.DataError, match=r"whose samples ar\.Samples takes"):
        ar.ImageFolder(path, parse_text(PLAIN))
    with pytest.raises(ar.RecipeError, match="TileBags"):
        ar.Samples(path, "stained-tissue-bag")


# -- what else reads them ---------------------------------------------------------------------------------------------


@by_kind
def test_stores_of_archives_are_those_of_files(
    roots: dict[str, Path], patterns: dict[str, str], kind: Kind, tmp_path: Path
) -> None:
    recipe = parse_text(kind.recipe)
    ar.pack(recipe, patterns[kind.name], tmp_path / "store", workers=0)
    for number in (2, 1):
        ar.pack(recipe, patterns[kind.name], tmp_path / "parts", part=f"{number}/2", workers=0)
    ar.merge_parts(tmp_path / "parts")
    files = kind.open(roots[kind.name], seed=3)
    for store in ("store", "parts"):
        packed = ar.Packed(tmp_path / store, recipe, seed=3)
        assert [drawn(packed[i]) for i in range(N)] == [drawn(files[i]) for i in range(N)]
    one, merged = (open_store(tmp_path / store) for store in ("store", "parts"))
    assert one.about == merged.about
    assert {name: list(column) for name, column in one.columns.items()} == {
        name: list(column) for name, column in merged.columns.items()
    }


def npy_folder(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    for k in range(6):
        (folder / "ab"[k // 3]).mkdir(parents=True, exist_ok=True)
        np.save(folder / "ab"[k // 3] / f"{k}.npy", rng.integers(0, 256, (40, 36, 3), np.uint8))
    return folder


def test_commands_take_archives_and_arrays(patterns: dict[str, str], tmp_path: Path, capsys: Any) -> None:
    recipe = tmp_path / "mine.yaml"
    recipe.write_text("{version: 1, recipe: mine, steps: [Resize: {height: 12, width: 10}, HorizontalFlip], eval: []}")
    arrays_ = npy_folder(tmp_path / "arrays")
    np.save(tmp_path / "all.npy", np.zeros((3, 40, 36, 3), np.uint8))
    several = sorted(map(str, Path(patterns["image"]).parent.glob("*.tar")))
    given = [
        ([patterns["image"]], 12), (several, 12), ([str(arrays_)], 6), ([str(tmp_path / "all.npy")], 3),
    ]  # fmt: skip
    for k, (words, n) in enumerate(given):
        data = [part for word in words for part in ("--data", word)]
        for command in (
            ["check-data", str(recipe), *words],
            ["pack", str(recipe), *data, "--out", str(tmp_path / f"store-{k}"), "--workers", "0"],
            ["preview", str(recipe), *words, "-o", str(tmp_path / f"grid-{k}.png")],
            ["verify", str(recipe), *words, "--samples", "3"],
        ):
            done = invoke(command)
            assert done.exit_code == 0, (command, done.output)
        assert len(ar.Packed(tmp_path / f"store-{k}", recipe)) == n


# An archive is listed once: what is kept of it is what its headers say, for as long as it is the same archive.


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own, in which the archive of a moment ago is kept."""
    monkeypatch.setenv(CACHE, str(tmp_path / "own"))
    monkeypatch.setattr(cache, "SETTLED_NS", -(10**18))


def listed(path: str) -> TarShards:
    return TarShards([path])


def alike(a: TarShards, b: TarShards) -> bool:
    labels = np.array_equal(a.columns.get("label", ()), b.columns.get("label", ()))
    arrays = all(getattr(a, name).dtype == getattr(b, name).dtype for name in ("extension", "starts", "firsts"))
    arrays = arrays and all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ("starts", "sizes"))
    said = all(getattr(a, name) == getattr(b, name) for name in ("archives", "stamps", "extensions"))
    return labels and arrays and said and list(a.paths) == list(b.paths) and a.digest() == b.digest()


def test_what_is_kept_is_what_the_headers_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [made.random_archive(tmp_path / f"{seed}.tar", random.Random(seed)) for seed in range(30)]
    good: dict[str, TarShards] = {}
    for path in map(str, paths):
        try:
            good[path] = listed(path)
        except ar.DataError:  # of archives without a sample
            with pytest.raises(ar.DataError):
                listed(path)
    assert len(good) > 10

    def never(*_: Any) -> Any:
        raise AssertionError("headers are read again")

    monkeypatch.setattr(shards, "list_members", never)
    assert all(alike(listed(path), found) for path, found in good.items())
    assert len(TarShards(list(good)).paths) == sum(len(one.paths) for one in good.values())


def archive(path: Path, *names: str) -> Path:
    return made.write(path, {f"{name}.txt": name.encode() for name in names})


def rewritten(path: Path) -> None:
    """In place, to the same size and time."""
    before = path.stat()
    data = bytearray(path.read_bytes().replace(b"bbb.txt", b"ccc.txt"))
    for at in range(0, len(data), 512):
        if data[at : at + 3] == b"ccc" and data[at + 257 : at + 262] == b"ustar":
            block = data[at : at + 148] + b" " * 8 + data[at + 156 : at + 512]
            data[at + 148 : at + 156] = b"%06o\0 " % sum(block)
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replaced(path: Path) -> None:
    """By another one of the same size and time."""
    before = path.stat()
    other = archive(path.with_suffix(".new"), "aaa", "ccc")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)


def grown(path: Path) -> None:
    with tarfile.open(path, "a") as file:
        info = tarfile.TarInfo("ccc.txt")
        info.size = 3
        file.addfile(info, io.BytesIO(b"ccc"))


CHANGES = (rewritten, replaced, grown)


def told_of(change: Callable[[Path], None], folder: Path) -> None:
    """In the process that has the one before open, and in another."""
    path = archive(folder / "a.tar", "aaa", "bbb")
    assert [listed(str(path)).paths.name(k) for k in range(2)] == ["aaa", "bbb"]
    change(path)
    for _ in range(2):
        found = listed(str(path))
        assert "ccc" in [found.paths.name(k) for k in range(len(found.paths))]
        OPENED.clear()


@pytest.mark.parametrize("change", CHANGES)
def test_another_archive_is_listed_anew(change: Callable[[Path], None], tmp_path: Path) -> None:
    told_of(change, tmp_path)


def damaged(folder: Path, seeds: range) -> None:
    path = archive(folder / "a.tar", *(f"{k:03}" for k in range(40)))
    wanted = listed(str(path))
    (file,) = ARCHIVES.files()
    whole = file.path.read_bytes()
    for seed in seeds:
        rng, data = random.Random(seed), bytearray(whole)
        at = rng.randrange(len(data))
        if seed % 3:
            data[at] ^= 1 << rng.randrange(8)
        else:
            data[at:] = bytes(len(data) - at) if seed % 2 else b""
        file.path.write_bytes(data)
        assert alike(listed(str(path)), wanted)


def test_whatever_the_cache_holds(tmp_path: Path) -> None:
    damaged(tmp_path, range(120))


def test_what_was_written_just_before_a_long_reading_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who wrote once more while it was read, in the same tick of the clock, left its times."""
    real = shards.list_members

    def slowly(*given: Any) -> Any:
        clock[0] += 10**10
        return real(*given)

    path = archive(tmp_path / "a.tar", "aaa")
    clock = [path.stat().st_ctime_ns + 10**9]
    monkeypatch.setattr(cache, "SETTLED_NS", 2 * 10**9)
    monkeypatch.setattr(shards, "list_members", slowly)
    monkeypatch.setattr(cache, "now_ns", lambda: clock[0])
    listed(str(path))
    assert not list(ARCHIVES.files())
    listed(str(path))
    assert list(ARCHIVES.files())


test_planted_faults_are_caught = planted_faults(
    {
        "size and time alone, as programs that set times leave them": (
            lambda fixture: told_of(rewritten, fixture("tmp_path")),
            (cache, "stamp_of", lambda about: f"{about.st_size} {about.st_mtime_ns}"),
        ),
        "the one before is read, whatever lies at its path": (
            lambda fixture: told_of(replaced, fixture("tmp_path")), (OPENED, "forget", lambda *_: None),
        ),
        "the digest is not compared": (
            lambda fixture: damaged(fixture("tmp_path"), range(120)), (cache, "_digest", lambda *_: bytes(32)),
        ),
    },
    Exception,
)  # fmt: skip
