"""Samples of a source of one's own: those of the files that it holds, whatever form they come in."""

import pickle
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from support.checks import planted_faults
from support.kind_laws import LAWS, OF_SAMPLES, drawn
from support.kinds import FORMS, IMAGE, PAIR, Files, Kind, agree, by_turns, open_packed, source_of
from support.kinds import KINDS_GIVEN as KINDS
from torch.utils.data import Subset

import augrecipes as ar
from augrecipes.bench.run import Options
from augrecipes.recipe.parse import parse_text
from augrecipes.sources import items, opened
from augrecipes.sources import sample_inputs as pictures
from augrecipes.sources.opened import NamedSource, OpenedSource

by_kind = pytest.mark.parametrize("kind", KINDS, ids=str)
BOXED = IMAGE.recipe  # takes a mask, boxes and keypoints
PLAIN = "{version: 1, recipe: plain, steps: [HorizontalFlip, RandomGamma: {p: 1.0}], eval: []}"


@by_turns(OF_SAMPLES, KINDS)
def test_law(roots: dict[str, Path], kind: Kind, law: str) -> None:
    LAWS[law](lambda **options: source_of(kind, roots[kind.name], **{"seed": 3, **options}))


def of_the_files(roots: dict[str, Path], kind: Kind, form: str, **options: Any) -> None:
    assert agree(source_of(kind, roots[kind.name], form, **options), kind.open(roots[kind.name], **options))


@by_kind
@pytest.mark.parametrize("form", FORMS)
def test_samples_are_those_of_the_files(roots: dict[str, Path], kind: Kind, form: str) -> None:
    of_the_files(roots, kind, form, seed=3)
    of_the_files(roots, kind, form, mode="eval")


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_images_of_all_channels(channels: int) -> None:
    """Grey, with alpha, of Pillow's modes: as Pillow converts them, and as files of them are read."""
    rng = np.random.default_rng(0)
    recipe = parse_text("{version: 1, recipe: raw, steps: [], eval: [], output: {dtype: uint8, layout: hwc}}")
    for mode in ("L", "RGB", "RGBA", "P", "1", "LA", "CMYK", "YCbCr"):
        image = Image.fromarray(rng.integers(0, 256, (8, 9, 3), np.uint8)).convert(mode)
        wanted = np.asarray(image.convert({1: "L", 3: "RGB", 4: "RGBA"}[channels])).reshape(8, 9, channels)
        assert np.array_equal(ar.Samples([image], recipe, channels=channels)[0]["image"].numpy(), wanted)
    for stored in (1, 3, 4):
        array = rng.integers(0, 256, (8, 9, stored), np.uint8)
        forms = [array, array / 255, (array / 255).astype(np.float16), torch.from_numpy(array).permute(2, 0, 1)]
        forms += [array[:, :, 0]] if stored == 1 else []
        for form in forms:
            if stored == 4 != channels:  # nothing says that the fourth is alpha
                with pytest.raises(ar.DataError, match=r"4 channels, and . are wanted: .*channels: 4"):
                    ar.Samples([form], recipe, channels=channels)[0]
                continue
            found = ar.Samples([form], recipe, channels=channels)[0]["image"].numpy()
            assert found.shape == (8, 9, channels)
            if stored == channels:
                assert np.abs(found.astype(int) - array).max() <= (1 if getattr(form, "dtype", 0) == np.float16 else 0)


def test_labels_are_known_before_samples_are_read(roots: dict[str, Path]) -> None:
    files = Files(IMAGE, roots["image"], "array")
    ds = ar.Samples(files, parse_text(PLAIN))
    assert ds.labels.tolist() == files.targets.tolist()
    assert ds.classes == files.classes
    part = ar.Samples(Subset(files, [5, 1]), parse_text(PLAIN))
    assert part.labels.tolist() == [int(files.targets[5]), int(files.targets[1])]
    told = ar.Samples([np.zeros((9, 9, 3), np.uint8)] * 3, parse_text(PLAIN), labels=[2, 0, 2])
    assert [told[i]["label"] for i in range(3)] == told.labels.tolist() == [2, 0, 2]
    assert len([*ar.loader(told, 2, weights="balanced")]) == 2
    own = ar.Samples([(np.zeros((9, 9, 3), np.uint8), 5)] * 3, parse_text(PLAIN), labels=[2, 0, 2])
    assert own[0]["label"] == 5  # what the item says
    with pytest.raises(ar.DataError, match="of 3 samples should be as many integers"):
        ar.Samples([np.zeros((9, 9, 3), np.uint8)] * 3, parse_text(PLAIN), labels=[1])


# -- what else reads it -----------------------------------------------------------------------------------------------


@by_kind
@pytest.mark.parametrize("form", ["array", "bytes"])
def test_stores_of_it_give_its_samples(roots: dict[str, Path], kind: Kind, form: str, tmp_path: Path) -> None:
    ds = source_of(kind, roots[kind.name], form, seed=3)
    ar.pack(kind.recipe, ds, tmp_path / "store", workers=0)
    assert agree(ar.Packed(tmp_path / "store", parse_text(kind.recipe), seed=3), ds)


def test_labels_that_come_with_samples_are_packed(tmp_path: Path) -> None:
    rows = [(np.full((9, 9, 3), k, np.uint8), 10 - k) for k in range(6)]
    rows[4] = (np.zeros(3), 9)  # cannot be read
    ar.pack(PLAIN + "\n", rows, tmp_path / "store", workers=0)
    packed = ar.Packed(tmp_path / "store", parse_text(PLAIN))
    assert [packed[i]["label"] for i in (0, 1, 2, 3, 5)] == [10, 9, 8, 7, 5]
    with pytest.raises(ar.DataError, match=r"list\[4\]"):
        packed[4]


MODULE = """
import numpy as np
import augrecipes as ar

stack = np.random.default_rng(0).integers(0, 256, (6, 150, 140, 3), np.uint8)

class Own:
    columns = {"label": range(6)}

    def __len__(self):
        return 6

    def read(self, index):
        return {"image": stack[index]}

made = Own()
train = ar.Samples([{"photo": image, "kind": k} for k, image in enumerate(stack)], "folder-128",
                   keys={"image": "photo", "label": "kind"})
damaged = [*stack, np.zeros(3), stack[0][:40]]
"""
COMMANDS = (
    "check-data folder-128 {}",
    "preview folder-128 {} -o grid.png",
    "verify folder-128 {} --samples 2",
    "pack folder-128 {} -o store --workers 0",
    "bench folder-128 {} --samples 4 --no-effects --seconds 0.01",
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Any:
    """Runs a command beside `own.py`: its status, and what it prints."""
    from augrecipes.cli import main

    (tmp_path / "own.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)

    def command(words: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main(words.split())
        return int(ended.value.code or 0), capsys.readouterr().out

    return command


@pytest.mark.parametrize("name", ["train", "Own", "made"])
def test_every_command_takes_a_source_by_name(name: str, run: Any) -> None:
    assert [run(command.format(f"own.py:{name}"))[0] for command in COMMANDS] == [0] * len(COMMANDS)
    packed = ar.Packed("store", "folder-128")
    ds = pickle.loads(pickle.dumps(ar.Samples(NamedSource(f"own.py:{name}"), "folder-128")))  # as workers have it
    assert agree(packed, ds)
    assert [packed[i]["label"] for i in range(6)] == [*range(6)]


def test_what_is_wrong_with_a_source_is_told_by_its_name(run: Any) -> None:
    code, text = run("check-data folder-128 own.py:damaged")
    assert (code, "own.py:damaged[6]" in text) == (1, True)
    with pytest.raises(ar.AugrecipesError, match="there is no absent in it, but"):
        ar.Samples(NamedSource("own.py:absent"), "folder-128")


# Sources that are not as they should be: each defect is told with its sample, or the sample is replaced.


GOOD = np.zeros((32, 28, 3), np.uint8)
WRONG: dict[str, tuple[Any, str]] = {
    "uint16": (GOOD.astype(np.uint16), "depth="),
    "int64": (GOOD.astype(np.int64), "uint8"),
    "0 to 255 in floats": (np.full((32, 28, 3), 200.0), "0..1|0 to 1"),
    "chw": (np.zeros((3, 32, 28), np.uint8), 'axes="chw"'),
    "one axis": (np.zeros(9, np.uint8), "H×W×C"),
    "nothing": (np.zeros((0, 9, 3), np.uint8), "shape"),
    "None": (None, "no image"),
    "an object": (object(), "Pillow"),
    "no file": ("nowhere.png", "nowhere.png"),
    "not an image": (b"nonsense", "not an image"),
    "Pillow's I;16": (Image.fromarray(np.zeros((9, 9), np.uint16)), "8 bits"),
    "no image": ({"photo": GOOD}, "'photo'.*keys="),
    "a mask of another size": ({"image": GOOD, "mask": np.zeros((9, 9), int)}, "9×9 px, but it is 32×28"),
    "a mask of colours": ({"image": GOOD, "mask": np.eye(32, 28)[..., None] * [1, 2, 3]}, "mask"),
    "too large labels": ({"image": GOOD, "mask": np.full((32, 28), 2**40)}, "32 bits"),
    "boxes of three": ({"image": GOOD, "boxes": [[1, 2, 3]]}, r"\(n, 4\)"),
    "labels of boxes": ({"image": GOOD, "boxes": [[1, 2, 3, 4]], "box_labels": ["cat"]}, "integers"),
    "three parts": ((GOOD, 1, 2), "keys="),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told_with_the_sample(name: str) -> None:
    row, text = WRONG[name]
    ds = ar.Samples([GOOD, row], parse_text(BOXED), name="mine")
    with pytest.raises(ar.DataError, match=text) as told:
        ds[1]
    assert name == "no file" or told.value.path == "mine[1]"
    skipping = ar.Samples([GOOD, row], parse_text(BOXED), name="mine", on_error="skip")
    dl = ar.loader(skipping, 2)
    list(dl)
    assert [record.index for record in dl.skipped] == [1]


def test_a_source_that_fails_is_a_data_error() -> None:
    class Broken(list[Any]):
        def __getitem__(self, index: Any) -> Any:
            raise OSError("disk on fire")

    with pytest.raises(ar.DataError, match=r"Broken\[0\]: the source fails: OSError: disk on fire"):
        ar.Samples(Broken([1]), parse_text(PLAIN))[0]


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ([], ar.DataError),
        (7, TypeError),
        (iter([GOOD]), TypeError),
        ("nowhere", ar.DataError),
        (__file__, ar.DataError),
    ],
)
def test_what_is_no_source(source: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        ar.Samples(source, parse_text(PLAIN))


def test_datasets_of_ours_are_no_sources(roots: dict[str, Path]) -> None:
    with pytest.raises(TypeError, match="give what it reads"):
        ar.Samples(IMAGE.open(roots["image"]), parse_text(PLAIN))
    with pytest.raises(ar.RecipeError, match="TileBags"):
        ar.Samples([GOOD], "stained-tissue-bag")


def test_required_and_untaken_annotations() -> None:
    needs = parse_text("{version: 1, recipe: a, inputs: {mask: required}, steps: [HorizontalFlip], eval: []}")
    with pytest.raises(ar.DataError, match="requires mask"):
        ar.Samples([GOOD], needs)[0]
    without = parse_text("{version: 1, recipe: a, inputs: {mask: absent}, steps: [HorizontalFlip], eval: []}")
    assert "mask" not in ar.Samples([{"image": GOOD, "mask": GOOD[..., 0]}], without)[0]


@pytest.mark.parametrize("dtype", ["<f4", "<f8", ">f8"])
def test_masks_of_floats_keep_their_bits(dtype: str) -> None:
    """What of them fits in 32 bits is float32, 64 bits stay so."""
    takes = parse_text("{version: 1, recipe: a, inputs: {mask: required}, steps: [HorizontalFlip: {p: 1}], eval: []}")
    mask = np.arange(2**24 - 20, 2**24 - 20 + 32 * 28).reshape(32, 28).astype(dtype)
    samples = [{"image": GOOD, "mask": mask}]
    wanted = np.dtype(f"f{mask.itemsize}")
    batch = next(iter(ar.loader(ar.Samples(samples, takes), batch_size=1)))
    for found in (ar.Samples(samples, takes)[0], takes.transform("train")(samples[0]), {"mask": batch["mask"][0]}):
        array = np.asarray(found["mask"])
        assert array.dtype == wanted
        assert np.array_equal(array, mask[:, ::-1])


# Sources of columns: a dict of arrays, an HDF5 file; their rows are samples.


@given(st.dictionaries(st.sampled_from(["image", "label", "id", "other"]), st.integers(0, 4), min_size=1))
def test_law_columns_of_one_length_are_rows(lengths: dict[str, int]) -> None:
    """Whatever the columns are called: of one length they are rows, of several an error says each."""
    columns = {name: np.arange(10 * count).reshape(count, 10) for name, count in lengths.items()}
    if len(set(lengths.values())) > 1:
        with pytest.raises(TypeError, match="columns of a source have one length") as raised:
            OpenedSource(columns)
        assert all(f"{name}: {count}" in str(raised.value) for name, count in lengths.items())
        return
    source = OpenedSource(lambda: columns)
    assert len(source) == next(iter(lengths.values()))
    for index in range(len(source)):
        row = source.read(index)
        assert row.keys() == columns.keys()
        assert all((value == columns[name][index]).all() for name, value in row.items())


def test_columns_of_an_hdf5_file_and_splits(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    images = np.random.default_rng(0).integers(0, 256, (5, 140, 150, 3), np.uint8)
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["image"], file["label"] = images, np.arange(5)
    ds = ar.Samples(partial(h5py.File, tmp_path / "data.h5"), "folder-128")
    expected = ar.Samples([{"image": image, "label": k} for k, image in enumerate(images)], "folder-128")
    assert len(ds) == 5
    for k in range(5):
        assert (ds[k]["label"], ds[k]["image"].tolist()) == (k, expected[k]["image"].tolist())
    with pytest.raises(TypeError, match=r"holds splits, train, test: give one of them, source\['train'\]"):
        ar.Samples({"train": list(images), "test": list(images)}, "folder-128")


laid_out, encoded = pictures._as_hwc, pictures.encoded
test_planted_faults_are_caught = planted_faults(
    {
        "channels in another order": (
            lambda fixture: of_the_files(fixture("roots"), IMAGE, "array"),
            (pictures, "_as_hwc", lambda *args: laid_out(*args)[:, :, ::-1]),
        ),
        "labels of others": (
            lambda fixture: test_labels_that_come_with_samples_are_packed(fixture("tmp_path")),
            (items.SourceTable, "label_of", lambda self, unit: 0),
        ),
        "a form that differs": (
            lambda fixture: of_the_files(fixture("roots"), PAIR, "bytes"),
            (pictures, "encoded", lambda data, **how: encoded(data, **{**how, "channels": 1})),
        ),
        "rows of the next sample's values": (
            lambda _: test_law_columns_of_one_length_are_rows.hypothesis.inner_test({"image": 3}),  # type: ignore[attr-defined]
            (opened.NamedColumns, "read", lambda self, k: {n: c[k - 1] for n, c in self.arrays.items()}),
        ),
    },
    (AssertionError, ar.DataError),
)  # fmt: skip


# A source of somebody else, a dict of arrays behind `ar.Source`: everything that reads samples reads its own.


CROPS = """
version: 1
recipe: crops
steps:
  - RandomCrop: {height: 24, width: 28}
  - HorizontalFlip
  - RandomBrightnessContrast: {p: 1.0}
eval:
  - CenterCrop: {height: 24, width: 28}
"""
ROWS = 12


class Arrays(ar.Source):
    """Two arrays of one length, by name."""

    classes = ("even", "odd")

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self.arrays = arrays
        names = [f"arrays.npz[{k}]" for k in range(len(self))]
        self.columns = {"label": arrays["label"], "path": names, "weight": arrays["label"] + 0.5, "own": 1}

    def __len__(self) -> int:
        return len(self.arrays["label"])

    def read(self, index: int) -> dict[str, Any]:
        return {name: values[index] for name, values in self.arrays.items()}

    def digest(self) -> str:
        return str(self.arrays["image"].sum())


class ThreeMembers:
    """The members of the protocol, and nothing else: of no class of ours, without items, path and digest."""

    def __init__(self) -> None:
        self._source = source()
        self.columns = self._source.columns

    def __len__(self) -> int:
        return len(self._source)

    def read(self, index: int) -> dict[str, Any]:
        return {name: value for name, value in self._source.read(index).items() if name != "label"}


def source(n: int = ROWS) -> Arrays:
    image = np.random.default_rng(7).integers(0, 256, (n, 40, 44, 3), np.uint8)
    return Arrays({"image": image, "mask": image[..., 0] // 64, "label": np.arange(n) % 2})


def test_what_is_known_of_it_is_known_of_the_dataset() -> None:
    ds, rows = ar.Samples(source(), CROPS, seed=3), [source().read(i) for i in range(ROWS)]
    assert (ds.classes, ds.labels.tolist(), ds.path(5)) == (["even", "odd"], [0, 1] * 6, "arrays.npz[5]")
    assert ds.weights.tolist() == [0.5, 1.5] * 6
    other = ar.Samples(Arrays({**source().arrays, "image": rows[0]["image"][None]}), CROPS)
    assert ds.fingerprint()["files"] != other.fingerprint()["files"]
    assert agree(ds, ar.Samples(ThreeMembers(), CROPS, seed=3))
    listed = ar.Samples(rows, CROPS, seed=3)
    assert [drawn(ds[1, i]) for i in range(ROWS)] == [drawn(listed[1, i]) for i in range(ROWS)]


@pytest.mark.parametrize("name", ["label", "weight", "group"])
def test_a_column_has_a_value_of_its_kind_for_each_sample(name: str) -> None:
    for values in ([1] * (ROWS - 1), [object()] * ROWS, [[1, 2]] * ROWS):
        wrong = source()
        wrong.columns = {name: values}
        with pytest.raises(ar.DataError, match=f"column {name!r} of a source of {ROWS} samples should be as many"):
            ar.Samples(wrong, CROPS)


@pytest.mark.parametrize("make", [source, ThreeMembers])
def test_everything_that_reads_samples_takes_it(make: Any, tmp_path: Path) -> None:
    made, recipe = make(), ar.load(CROPS)
    (batch,) = ar.loader(ar.Samples(made, recipe, seed=3), ROWS)
    assert (tuple(batch["image"].shape), batch["label"].tolist()) == ((ROWS, 3, 24, 28), [0, 1] * 6)
    assert agree(ar.Samples(make, recipe, seed=3), ar.Samples(made, recipe, seed=3))  # opened in each process
    assert ar.sample_grid(recipe, made, rows=2).std() > 5
    assert ar.verify(recipe, made, samples=3).ok
    ar.pack(recipe, made, tmp_path / "store", workers=0)
    assert agree(ar.Packed(tmp_path / "store", recipe, seed=3), ar.Samples(made, recipe, seed=3))
    sides = ar.bench({"crops": recipe}, made, Options(samples=4, seconds=0.1, effects=False)).sides
    assert len(sides) == 2


# What reads files is a source as well: given to `ar.Samples` it has the samples of its dataset.


@by_kind
def test_files_and_stores_are_sources(roots: dict[str, Path], kind: Kind) -> None:
    files = kind.open(roots[kind.name], seed=3)
    for ds in (files, source_of(kind, roots[kind.name], "bytes", seed=3), open_packed(kind, roots[kind.name], seed=3)):
        made = ar.Samples(ds.source, ds.recipe, seed=3)
        assert agree(made, ds)
        assert (made.path(2), len(ds.source), len([*ds.source])) == (ds.path(2), len(ds), len(ds))
