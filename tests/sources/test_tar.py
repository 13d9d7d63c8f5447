"""Tar archives as WebDataset lays them out: what Python's reader finds in them, or a typed error that says where."""

import gzip
import io
import os
import pickle
import random
from pathlib import Path
from typing import Any

import pytest
from support import folders as made
from support.checks import in_a_soak, in_threads, planted_faults

from augrecipes.errors import DataError
from augrecipes.lru import OpenFiles
from augrecipes.sources.tar import archives, shards
from augrecipes.sources.tar.shards import TarShards


def raw(found: TarShards) -> dict[str, dict[str, bytes]]:
    """The bytes of each file by key and extension, as an archive's listing says where they are."""
    known, result = found, {}
    for i in range(len(known.paths)):
        archive = archives.OPENED.at(known.archives[0], known.stamps[0])
        result[known.paths.name(i)] = {
            known.extensions[known.extension[k]]: archive.bytes_at(int(known.starts[k]), int(known.sizes[k]))
            for k in range(known.firsts[i], known.firsts[i + 1])
        }
    return result


def agrees_with_python(folder: Path, seeds: range) -> None:
    """The law: files of all formats of archives, by key, are those that Python's own reader finds."""
    for seed in seeds:
        path = made.random_archive(folder / f"{seed}.tar", random.Random(seed))
        assert raw(TarShards(path)) == made.grouped(path), seed


@in_a_soak("seeds", range(60), range(5000))
def test_archives_hold_what_python_finds_in_them(tmp_path: Path, seeds: range) -> None:
    agrees_with_python(tmp_path, seeds)


def behind_the_header(info: Any, real: Any = archives._member) -> Any:
    member = real(info)
    return member._replace(start=member.place + 512)


# -- damage -----------------------------------------------------------------------------------------------------------


def headers_of(path: Path) -> list[int]:
    """Where the headers are, of long names and pax records, too."""
    import tarfile

    with tarfile.open(path) as archive:
        return [info.offset for info in archive.getmembers()]


def tells_of_damage(folder: Path, seeds: range) -> None:
    """The law: a header that is damaged, and an archive that is cut off, is an error that names the archive."""
    for seed in seeds:
        rng = random.Random(seed)
        path = made.random_archive(folder / f"{seed}.tar", rng)
        whole, before = path.read_bytes(), raw(TarShards(path))
        end = len(whole.rstrip(b"\0"))
        for case in range(6):
            data = bytearray(whole)
            if case < 4:
                at = rng.choice(headers_of(path)) + rng.randrange(512)
                data[at] ^= 1 << rng.randrange(8)
            else:
                del data[rng.randrange(end) :]
            hurt = folder / f"hurt-{seed}-{case}.tar"
            hurt.write_bytes(data)
            try:
                found = raw(TarShards(hurt))
            except DataError as error:
                assert error.path == str(hurt)
            else:  # of a checksum's own blanks, say
                assert found == before, (seed, case)
                assert case < 4, (seed, case)


@in_a_soak("seeds", range(40), range(3000))
def test_damage_is_told(tmp_path: Path, seeds: range) -> None:
    tells_of_damage(tmp_path, seeds)


def survives(folder: Path, seeds: range) -> None:
    """The law: whatever a file holds, there are samples, or an error that names it; and nothing is read beyond it."""
    for seed in seeds:
        rng = random.Random(seed)
        data = bytearray(made.random_archive(folder / "whole.tar", rng).read_bytes())
        for _ in range(rng.choice((1, 2, 9))):
            at = rng.randrange(0, len(data) // 512) * 512
            match rng.randrange(4):
                case 0:
                    kind = rng.choice((b"0", b"1", b"2", b"5", b"L", b"K", b"x", b"g", b"S", b"V", b"7", b"\xff"))
                    size = rng.choice((b"%011o\0" % rng.randrange(9999), b"77777777777\0", b"\x80" + rng.randbytes(11)))
                    data[at : at + 512] = made.header(rng.randbytes(9), kind=kind, size_field=size)
                case 1:
                    data[at : at + 512] = data[: rng.randrange(512)]
                case 2:
                    data[at:at] = rng.randbytes(rng.randrange(900))
                case _:
                    del data[at : at + rng.randrange(2000)]
        path = folder / "hurt.tar"
        path.write_bytes(data)
        try:
            found = TarShards(path)
            values = [found[i] for i in range(len(found))]
        except DataError as error:
            assert str(error.path).startswith(str(path))
        else:
            assert len(values) == len(found) > 0
            assert (found.starts + found.sizes <= len(data)).all()


@in_a_soak("seeds", range(150), range(5000))
def test_whatever_comes(tmp_path: Path, seeds: range) -> None:
    survives(tmp_path, seeds)


GOOD = made.member(b"0.jpg", b"first")
WRONG: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", r"not a tar archive .empty file"),
    "text": (b"nonsense " * 200, r"not a tar archive"),
    "gzip": (gzip.compress(GOOD + made.END), r"not a tar archive .*unpack a compressed one first"),
    "no sample": (made.member(b"README", b"x") + made.END, r"no sample in it: their files are called KEY\.jpg"),
    "only an end": (made.END, r"no sample in it"),
    "no end": (GOOD, r"at byte 1,024: no header and no end: the archive was cut off"),
    "cut in a file": (made.member(b"0.jpg", b"x" * 600)[:-600], r"0: .0\.jpg. is cut off: 600 bytes should"),
    "joined": (GOOD + made.END + GOOD + made.END, r"at byte 1,024: no header and no end: .*`tar --concatenate`"),
    "huge": (GOOD + made.header(b"1.jpg", size_field=b"\x80" + b"\x7f" * 11) + made.END, r"1,024: '1\.jpg' is cut off"),
    "negative": (GOOD + made.header(b"1.jpg", size_field=b"\xff" * 12) + made.END, r"1,024: .*is cut off|no header"),
    "no octal": (GOOD + made.header(b"1.jpg", size_field=b"00000000089\0") + made.END, r"1,024: no header"),
    "upwards": (GOOD + made.member(b"a/../../1.jpg") + made.END, r"1,024: 'a/\.\./\.\./1\.jpg' its name holds"),
    "control": (GOOD + made.member(b"a\x1b[2J.jpg") + made.END, r"control characters, which are not taken"),
    "symbolic": (GOOD + made.member(b"1.jpg", kind=b"2", link=b"0.jpg") + made.END, r"type b'2'.*`tar --dereference"),
    "a link to nothing": (
        GOOD + made.member(b"1.jpg", kind=b"1", link=b"x.jpg") + made.END, r"not a plain file",
    ),
    "a device": (GOOD + made.member(b"1.jpg", kind=b"3") + made.END, r"not a plain file .type b'3'"),
    "sparse": (GOOD + made.member(b"1.jpg", kind=b"S") + made.END, r"links and sparse files"),
    "sparse by pax": (
        GOOD + made.member(b"p", b"22 GNU.sparse.major=1\n", b"x") + made.member(b"1.jpg") + made.END, r"sparse files",
    ),
    "volumes": (GOOD + made.member(b"1.jpg", kind=b"M") + made.END, r"not a plain file"),
    "an unknown type": (GOOD + made.member(b"1.jpg", kind=b"Q") + made.END, r"not a plain file .type b'Q'"),
    "pax that is none": (GOOD + made.member(b"p", b"99 path=x\n", b"x") + GOOD + made.END, r"at byte 1,024"),
    "pax of nothing": (GOOD + made.member(b"p", b"12 path=a.b\n", b"x") + made.END, r"at byte 1,024"),
    "one name for all": (made.member(b"p", b"12 path=a.b\n", b"g") + GOOD + made.END, r"gives all files one name"),
    "a size of pax": (
        GOOD + made.member(b"p", b"20 size=99999999999\n", b"x") + made.member(b"1.jpg") + made.END, r"is cut off",
    ),
    "an endless name": (
        made.header(b"p", 2**21, b"L") + bytes(2**21) + GOOD + made.END, r"names and the like are beyond all limits",
    ),
    "twice": (GOOD + GOOD + made.END, r"at byte 1,024: '0\.jpg' is in the archive twice"),
    "dots in keys": (
        b"".join(made.member(b"v1.%d.jpg" % k) for k in range(300)) + made.END, r"of sample 'v1': a key ends at",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told_with_its_place(name: str, tmp_path: Path) -> None:
    data, said = WRONG[name]
    path = tmp_path / "a.tar"
    path.write_bytes(data)
    with pytest.raises(DataError, match=said) as told:
        TarShards(path)
    assert told.value.path == str(path)


# -- what is read ------------------------------------------------------------------------------------------------------


def test_listing_reads_headers_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an archive of large files a few kilobytes a file are read; twice as many files are twice as many reads."""
    read: list[int] = []

    class Counted(io.FileIO):
        def readinto(self, room: Any, /) -> int:
            read.append(found := super().readinto(room) or 0)
            return found

    monkeypatch.setattr(archives.io, "FileIO", Counted)
    counts = []
    for n in (20, 40):
        path = made.write(tmp_path / f"{n}.tar", {f"{k}.jpg": bytes(50_000) for k in range(n)})
        TarShards([str(path)])
        counts.append((len(read), sum(read)))
        read.clear()
    assert 20 <= counts[0][0] <= 20 + 4
    assert 40 <= counts[1][0] <= 40 + 4
    assert counts[1][1] <= 40 * 4096 + 2**16


def test_parts_of_a_sample(tmp_path: Path) -> None:
    files = {
        "a/0.jpg": b"picture", "a/0.mask.png": b"mask", "a/0.cls": b"3\n", "a/0.caption.txt": b"a cat", "a/0.x": b"?",
        "a/0.json": b'{"boxes": [[1, 2, 3, 4]], "label": 9, "image": "/etc/passwd"}', "a/0.image.txt": b"/etc/passwd",
        "a/1.JPG": b"", "a/1.cls": b"4",
    }  # fmt: skip
    found = TarShards(made.write(tmp_path / "x.tar", files))
    assert found[0] == {
        "__key__": "a/0", "jpg": b"picture", "mask": b"mask", "cls": 3, "caption.txt": "a cat", "x": b"?",
        "json": {"boxes": [[1, 2, 3, 4]], "label": 9, "image": "/etc/passwd"}, "image.txt": "/etc/passwd",
        "boxes": [[1, 2, 3, 4]], "label": 9,
    }  # fmt: skip
    assert found[-1] == {"__key__": "a/1", "jpg": b"", "cls": 4}
    assert found.columns["label"].tolist() == [3, 4]
    assert found.paths[1] == str(tmp_path / "x.tar" / "a/1")
    with pytest.raises(IndexError):
        found[2]


def npy_header(shape: str) -> bytes:
    said = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(said).to_bytes(2, "little") + said


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("cls", b"cat"),
        ("json", b"{"),
        ("json", b"[" * 100_000),
        ("npy", b"x"),
        ("txt", b"\xff"),
        ("npy", b""),
        ("npy", b"PK\x03\x04junk"),
        ("npy", npy_header("((((((")),
        ("npy", npy_header("(10**9,)")),
        ("npy", npy_header(f"({10**13},)")),
    ],
)
def test_files_that_do_not_hold_what_they_are_called(name: str, data: bytes, tmp_path: Path) -> None:
    path = made.write(tmp_path / "x.tar", {f"0.{name}": data})
    with pytest.raises(DataError, match=rf"\.{name} cannot be read") as told:
        TarShards(path)[0]
    assert told.value.path == str(path / "0")


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "owned"),)

    import numpy as np

    npy = io.BytesIO()
    np.save(npy, np.array([Evil()], object), allow_pickle=True)
    found = TarShards(made.write(tmp_path / "x.tar", {"0.pkl": pickle.dumps(Evil()), "1.npy": npy.getvalue()}))
    assert isinstance(found[0]["pkl"], bytes)
    with pytest.raises(DataError, match=r"\.npy cannot be read"):
        found[1]
    assert not (tmp_path / "owned").exists()


# -- several archives --------------------------------------------------------------------------------------------------


@pytest.fixture
def several(tmp_path: Path) -> list[Path]:
    return [
        made.write(tmp_path / f"train-{a:03}.tar", {f"{k}.bin": b"%d %d" % (a, k) for k in range(5)}) for a in range(4)
    ]


def test_archives_by_patterns(several: list[Path], tmp_path: Path) -> None:
    wanted = [b"%d %d" % (a, k) for a in range(4) for k in range(5)]
    patterns: list[Any] = [
        tmp_path / "train-*.tar", tmp_path, several, f"{tmp_path}/train-00[0-3].tar",
        [tmp_path / "train-00[01].tar", tmp_path / "train-00[23].tar"],
    ]  # fmt: skip
    for pattern in patterns:
        found = TarShards(pattern)
        assert [found[k]["bin"] for k in range(20)] == wanted
        assert found.paths[7] == str(several[1] / "2")
    (tmp_path / "._train-000.tar").write_bytes(b"left by another system")
    assert len(TarShards(tmp_path)) == 20
    with pytest.raises(DataError, match="is given twice"):
        TarShards([*several, several[1]])
    assert len({TarShards(paths).digest() for paths in (several, several[:3], several[::-1])}) == 2
    (tmp_path / "a[1].tar").write_bytes(several[0].read_bytes())
    assert len(TarShards(tmp_path / "a[1].tar")) == 5  # a file that is called so


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("val-*.tar", "there is no archive of this name"),
        ("empty", "no tar archive is in this folder"),
        ("x.tar", "no such file"),
    ],
)
def test_patterns_of_nothing(several: list[Path], tmp_path: Path, pattern: str, said: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=said):
        TarShards(tmp_path / pattern)


@pytest.mark.parametrize("how", ["as here", "as on Windows", "in small pieces"])
def test_few_archives_are_open_at_a_time(several: list[Path], monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """One at a time, and many threads that read from all."""
    pread: Any = getattr(os, "pread", None)
    if how == "as on Windows":
        monkeypatch.delattr(os, "pread", raising=False)
    elif pread is not None and how == "in small pieces":  # as file systems over a network may give them
        monkeypatch.setattr(os, "pread", lambda handle, many, place: pread(handle, min(many, 100), place))
    monkeypatch.setattr(shards, "OPENED", kept := OpenFiles(archives.Archive, 1))
    found = pickle.loads(pickle.dumps(TarShards(several)))
    wanted = [b"%d %d" % (a, k) for a in range(4) for k in range(5)]

    def read(seed: int) -> None:
        rng = random.Random(seed)
        assert all(found[k]["bin"] == wanted[k] for k in (rng.randrange(20) for _ in range(300)))

    in_threads(read, 6)
    assert len(kept) == 1


def test_an_archive_that_changed_is_told(several: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "OPENED", OpenFiles(archives.Archive, 64))
    found = TarShards(several)
    monkeypatch.setattr(shards, "OPENED", OpenFiles(archives.Archive, 64))
    os.utime(several[1], ns=(1, 1))
    assert found[4]["bin"] == b"0 4"
    with pytest.raises(DataError, match=r"train-001\.tar: was changed since it was listed"):
        found[5]
    with several[0].open("r+b") as file:  # while it is open
        file.truncate(600)
    with pytest.raises(DataError, match=r"train-000\.tar: was changed since it was listed"):
        found[4]


def overwritten(path: Path) -> None:
    """The law: an archive that is written anew in its place, while it is open, gives no other sample's bytes."""
    made.write(path, {"0.bin": b"old", "1.bin": b"more"})
    found = TarShards(path)
    assert found[0]["bin"] == b"old"
    about = path.stat()
    made.write(path, {"0.bin": b"new", "1.bin": b"more"})  # as large as it was
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns + 1))
    with pytest.raises(DataError, match="was changed since it was listed"):
        found[0]


def test_an_archive_that_is_written_anew_is_told(tmp_path: Path) -> None:
    overwritten(tmp_path / "x.tar")


test_planted_faults_are_caught = planted_faults(
    {
        "keys end at the last dot": (
            lambda fixture: agrees_with_python(fixture("tmp_path"), range(60)),
            (shards, "split_name", lambda name: tuple(name.lower().rsplit(b".", 1)) if b"." in name else None),
        ),
        "files begin behind their headers": (
            lambda fixture: agrees_with_python(fixture("tmp_path"), range(60)),
            (archives, "_member", behind_the_header),
        ),
        "names as they are": (
            lambda fixture: agrees_with_python(fixture("tmp_path"), range(60)),
            (archives, "_clean_name", lambda text: text.encode()),
        ),
        "what tarfile says alone, which takes a damaged header for the end": (
            lambda fixture: tells_of_damage(fixture("tmp_path"), range(40)),
            (archives, "_check_end", lambda rest: None),
        ),
        "looking only when it is opened": (
            lambda fixture: overwritten(fixture("tmp_path") / "x.tar"),
            (archives.Archive, "bytes_at", archives.Archive.at_most),
        ),
    },
    (AssertionError, DataError, pytest.fail.Exception),
)  # fmt: skip
