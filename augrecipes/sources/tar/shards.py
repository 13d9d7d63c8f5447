"""Tar archives in WebDataset's layout as a source with random access.

The index of an archive is kept as arrays, which pickle small, and is cached between runs as long as the archive is
unchanged. Nothing is ever unpickled.
"""

import io
import json
import os
from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import chain
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes import cache, machine, paths
from augrecipes.errors import DataError, retry_parser
from augrecipes.images.reading import MAX_BYTES
from augrecipes.sources.paths import PathTable
from augrecipes.sources.source import Source
from augrecipes.sources.tar.archives import OPENED, Archive, Member, find_archives, list_members

IMAGES = frozenset(extension.decode() for extension in paths.EXTENSIONS - {b"npy"})
_TEXTS = ("txt", "text", "transcript")
_NUMBERS = ("cls", "cls2", "class", "count", "index", "inx", "id")
_OBJECTS = ("json", "jsn")
# Keys of a sample's JSON that count as parts of the sample.
_FROM_JSON = ("label", "boxes", "box_labels", "keypoints", "keypoint_labels")
_MOST_FILES = 256  # of a sample
_THREADS = 8  # for listing archives, which mostly waits for network file systems
_LONGEST_NUMBER = 24  # bytes of a file that holds a class
_CLASS = b"cls"

Grouped = dict[bytes, dict[bytes, int]]


def _index_archive(path: str) -> tuple[str, cache.Arrays]:
    """The fingerprint of an archive, and its index as arrays, from the cache if it is unchanged."""
    stamp = cache.stamp_of_file(path, "tar archive")
    OPENED.forget((path, stamp))
    archive = OPENED.at(path, stamp)
    status = archive.status()
    key = f"{status.st_dev:x}-{status.st_ino:x}"
    return stamp, cache.memo(cache.ARCHIVES, key, cache.stamp_of(status), lambda: _scan(path, archive))


def _scan(path: str, archive: Archive) -> cache.Arrays:
    members = list_members(path, archive)
    samples = _group_files(path, members)
    extensions = dict.fromkeys(extension for files in samples.values() for extension in files)
    numbers = {extension: number for number, extension in enumerate(extensions)}
    keys = PathTable.from_names(list(samples))
    order = [k for files in samples.values() for k in files.values()]
    arrays: cache.Arrays = {
        "keys": np.frombuffer(bytes(keys.blob), np.uint8),
        "offsets": keys.offsets,
        "extensions": np.frombuffer(b"\0".join(extensions), np.uint8),
        "firsts": np.cumsum([0, *map(len, samples.values())], dtype=np.int64),
        "extension": np.array([numbers[extension] for files in samples.values() for extension in files], np.int32),
        "starts": np.array([members[k].start for k in order], np.int64),
        "sizes": np.array([members[k].size for k in order], np.int64),
    }
    labels = _labels(archive, members, samples)
    return arrays if labels is None else {**arrays, "labels": labels}


def _group_files(path: str, members: Sequence[Member]) -> Grouped:
    """For each key, the numbers of its files by extension."""
    samples: Grouped = {}
    for k, (name, place, *_) in enumerate(members):
        if (parts := split_name(name)) is None:
            continue
        files = samples.setdefault(parts[0], {})
        if parts[1] in files:
            raise DataError(f"at byte {place:,}: {os.fsdecode(name)!r} is in the archive twice", path)
        files[parts[1]] = k
        if len(files) > _MOST_FILES:
            raise DataError(
                f"at byte {place:,}: {os.fsdecode(name)!r} is one of more than {_MOST_FILES} files of "
                f"sample {os.fsdecode(parts[0])!r}: a key ends at the first dot of the names of its files",
                path,
            )
    if not samples:
        raise DataError("has no sample in it: their files are called KEY.jpg, KEY.cls, KEY.mask.png and so on", path)
    return samples


def _labels(archive: Archive, members: Sequence[Member], samples: Grouped) -> NDArray[np.int64] | None:
    """The integer classes of the samples; None unless all have one."""
    labels = []
    for files in samples.values():
        k = files.get(_CLASS)
        if k is None or members[k].size > _LONGEST_NUMBER:
            return None
        try:
            labels.append(int(archive.at_most(members[k].start, members[k].size)))
        except ValueError:
            return None
    try:
        return np.array(labels, np.int64)
    except OverflowError:
        return None


def split_name(name: bytes) -> tuple[bytes, bytes] | None:
    """The key of a sample and the extension of its file, split at the first dot of a name; None without a dot.

    >>> split_name(b"train/0001.mask.PNG"), split_name(b"README"), split_name(b"a.b/._0001.jpg")
    ((b'train/0001', b'mask.png'), None, None)
    """
    dot = name.find(b".", name.rfind(b"/") + 1)
    if dot <= name.rfind(b"/") + 1:
        return None
    return name[:dot], name[dot + 1 :].lower()


def part_name(extension: str) -> str:
    """The name of a file in its sample; for images, arrays and annotations without their format.

    >>> part_name("jpg"), part_name("mask.png"), part_name("hr.tiff"), part_name("boxes.json"), part_name("caption.txt")
    ('jpg', 'mask', 'hr', 'boxes', 'caption.txt')
    """
    name, _, format = extension.rpartition(".")
    # Text and JSON keep their format, so that they are never taken for the path of an image on this machine.
    short = format in IMAGES or format == "npy" or (format in _OBJECTS and name in _FROM_JSON)
    return name if name and short else extension


def decode_file(extension: str, data: bytes) -> Any:
    """The content of a file, decoded by its extension; images and unknown files stay bytes.

    Raises:
        DataError: the content does not suit the extension.

    >>> decode_file("cls", b"7\\n"), decode_file("json", b'{"a": 1}'), decode_file("jpg", b"x")
    (7, {'a': 1}, b'x')
    """
    read = _READERS.get(extension.rpartition(".")[2], bytes)
    try:
        return read(data)
    except (ValueError, EOFError, RecursionError, MemoryError, TokenError) as error:
        raise DataError(f".{extension} cannot be read: {str(error) or type(error).__name__}") from None


def _array(data: bytes) -> Any:
    # Not `np.load`, which also opens archives of arrays, and leaves them open.
    return retry_parser(lambda: np.lib.format.read_array(io.BytesIO(data), allow_pickle=False))


_READERS: dict[str, Callable[[bytes], Any]] = {
    **dict.fromkeys(_NUMBERS, int), **dict.fromkeys(_TEXTS, bytes.decode), **dict.fromkeys(_OBJECTS, json.loads),
    "npy": _array,
}  # fmt: skip


class TarShards(Source):
    """The source of the samples in tar archives: an item is a dict of the files of one key.

    Files are called `KEY.jpg`, `KEY.cls`, `KEY.mask.png` and so on; a key ends at the first dot. Images stay encoded,
    as bytes; `cls` becomes an integer, `json` its value, `npy` an array; all else stays bytes. `mask.png` becomes the
    part `mask`. Boxes, keypoints and a label in the JSON become parts of the sample, too. It can be pickled.

    Args:
        archives: a path, a folder of archives, a pattern with `*`, or several of these.

    Attributes:
        archives: the paths of the archives.
        stamps: their fingerprints, which differ when they change.
        paths: the paths of the samples: their archive, and their key.
        firsts: int64 (n + 1): sample i has the files `firsts[i]` to `firsts[i + 1]`.
        extensions: the distinct extensions of files.
        extension: int32, the number of each file's extension in `extensions`.
        starts: int64, the first byte of each file in its archive.
        sizes: int64, the number of bytes of each file.
        columns: `path`; and `label`, int64 (n,), if every sample has a file `cls` with an integer.

    Raises:
        DataError: there are no archives, or one is damaged or has entries that are not read.

    >>> import io, tarfile, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "train-0.tar")
    ...     with tarfile.open(path, "w") as archive:
    ...         for name, data in (("a.cls", b"7"), ("a.caption.txt", b"a cat")):
    ...             info = tarfile.TarInfo(name)
    ...             info.size = len(data)
    ...             archive.addfile(info, io.BytesIO(data))
    ...     shards = TarShards(os.path.join(folder, "train-*.tar"))
    ...     shards[0], shards.columns["label"].tolist()
    ({'__key__': 'a', 'cls': 7, 'caption.txt': 'a cat'}, [7])
    """

    def __init__(self, archives: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> None:
        patterns = [archives] if isinstance(archives, str | os.PathLike) else archives
        named = [path for content in patterns for path in find_archives(os.fspath(content))]
        if not named:
            raise DataError("no archive is given")
        if len({*named}) < len(named):
            raise DataError("is given twice", next(path for path in named if named.count(path) > 1))
        stamps, contents = zip(*machine.in_threads(_index_archive, named, _THREADS), strict=True)
        self.archives, self.stamps = tuple(named), tuple(stamps)
        own = [os.fsdecode(content["extensions"].tobytes()).split("\0") for content in contents]
        numbers = {name: number for number, name in enumerate(dict.fromkeys(chain(*own)))}
        self.extensions = tuple(numbers)
        self.extension = np.concatenate(
            [np.array([numbers[name] for name in names], np.int32)[content["extension"]]
             for names, content in zip(own, contents, strict=True)]
        )  # fmt: skip
        keys = []
        for path, content in zip(named, contents, strict=True):
            roots = np.zeros(len(content["offsets"]) - 1, np.int32)
            keys.append(PathTable((os.fsencode(path),), content["keys"].tobytes(), content["offsets"], roots))
        self.paths = PathTable.concat(keys)
        before = np.cumsum([0, *(len(content["starts"]) for content in contents)])
        ends = [content["firsts"][1:] + count for content, count in zip(contents, before[:-1], strict=True)]
        self.firsts = np.concatenate([np.zeros(1, np.int64), *ends])
        self.starts, self.sizes = (
            np.concatenate([content[name] for content in contents]) for name in ("starts", "sizes")
        )
        labelled = all("labels" in content for content in contents)
        labels = {"label": np.concatenate([content["labels"] for content in contents])} if labelled else {}
        self.columns = {"path": self.paths, **labels}
        digest = blake2b("\0".join(self.extensions).encode(errors="surrogateescape"), digest_size=16)
        for part in (self.paths.blob, self.paths.offsets, self.firsts, self.extension, self.sizes):
            digest.update(part if isinstance(part, bytes) else np.ascontiguousarray(part).data)
        self._digest = digest.hexdigest()

    def __len__(self) -> int:
        return len(self.paths)

    def digest(self) -> str:
        """Identifies the samples: keys, and names and sizes of their files, wherever the archives lie."""
        return self._digest

    def read(self, index: int) -> dict[str, Any]:
        """The sample of one key: its decoded files by name."""
        keys, at = self.paths, int(index)
        archive = int(keys.root_of[at])
        opened = OPENED.at(self.archives[archive], self.stamps[archive])
        sample: dict[str, Any] = {"__key__": keys.name(at)}
        for k in range(self.firsts[at], self.firsts[at + 1]):
            extension, size = self.extensions[self.extension[k]], int(self.sizes[k])
            name = part_name(extension)
            if name in sample:
                raise DataError(f"two of its files are called {name!r}, one of them .{extension}", keys[at])
            if size > MAX_BYTES:
                raise DataError(f".{extension}: {size:,} bytes are more than the limit of {MAX_BYTES:,}", keys[at])
            data = opened.bytes_at(int(self.starts[k]), size)
            try:
                sample[name] = decode_file(extension, data)
            except DataError as error:
                raise error.with_path(keys[at]) from error.__cause__
        record: dict[str, Any] = next((sample[name] for name in _OBJECTS if isinstance(sample.get(name), dict)), {})
        return {**{name: record[name] for name in _FROM_JSON if name in record}, **sample}
