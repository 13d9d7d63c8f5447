"""Datasets of every kind obey the same laws, and a saved state holds every argument that changes their samples."""

import inspect
import itertools
import logging
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from kernel_sets import using
from support.annotations import Picture, Set, Thing, coco, labelme
from support.datasets import Counting
from support.encoded_images import Jpeg
from support.folders import draw
from support.kind_laws import LAWS, listing, run
from support.kinds import (
    BAG,
    IMAGE,
    KINDS,
    VIEWS,
    Kind,
    N,
    arrays,
    by_kind,
    folders,
    open_packed,
    pixels,
    recipe_of,
    samples,
)
from torch.utils.data import Subset

from augrecipes import AugrecipesError, DataError, LoaderError, Packed, loader, versions
from augrecipes.data.batching import Pool
from augrecipes.data.dataset import RecipeDataset
from augrecipes.native.kernels import library
from augrecipes.recipe.parse import parse_text


@pytest.fixture(autouse=True)
def small_batches_are_lent_memory_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("augrecipes.data.batching.LEAST_BYTES", 1)


@by_kind
@pytest.mark.parametrize("law", LAWS)
def test_law(roots: dict[str, Path], kind: Kind, law: str) -> None:
    LAWS[law](lambda **options: kind.open(roots[kind.name], **{"seed": 3, **options}))


@by_kind
def test_a_worker_that_is_not_forked_reads_alike(roots: dict[str, Path], kind: Kind) -> None:
    ds = kind.open(roots[kind.name], seed=3)
    made = loader(ds, 5, num_workers=1, shuffle=True, collate="list", multiprocessing_context="forkserver")
    reference = listing(ds, shuffle=True)
    for _ in range(2):
        assert [pixels(s) for s in samples(made)] == [pixels(s) for s in samples(reference)]


@by_kind
def test_states_know_their_dataset(roots: dict[str, Path], kind: Kind, tmp_path: Path) -> None:
    root = roots[kind.name]
    ds = kind.open(root, seed=3)
    kind.fill(tmp_path)
    (tmp_path / kind.files(N - 1)).rename(tmp_path / kind.files(N - 1).replace(".png", "0.png"))
    state = loader(ds).state_dict()
    others = {
        "dataset_seed": kind.open(root, seed=4),
        "mode": kind.open(root, seed=3, mode="eval"),
        "recipe": kind.open(root, kind.renamed(), seed=3),
        "subset": ds.subset(range(N - 1, -1, -1)),
    }
    if kind.name != "pair":  # the other half would miss its partner
        others["files"] = kind.open(tmp_path, seed=3)
    for name, other in others.items():
        with pytest.raises(LoaderError, match=f"{name}: saved"):
            loader(other).load_state_dict(state)


class TooSoon(Pool):
    """Lends memory again that has not come back."""

    def _take(self, size: int) -> Any:
        memory = super()._take(size)
        self._free.append(memory)
        return memory


def test_a_batch_that_is_written_to_again_is_noticed(roots: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("augrecipes.data.batching.Pool", TooSoon)
    for kind in KINDS:
        with pytest.raises(AssertionError):
            LAWS["backends_do_not_matter"](lambda **options: kind.open(roots[kind.name], seed=3, **options))  # noqa: B023


class TestBroken:
    """One sample of which nothing can be read any more, since its files were listed."""

    @pytest.fixture
    def spoilt(self, roots: dict[str, Path], tmp_path: Path) -> Any:
        def make(kind: Kind, **options: Any) -> tuple[RecipeDataset, Path]:
            root = tmp_path / kind.name
            shutil.copytree(roots[kind.name], root)
            ds = kind.open(root, seed=3, **options)
            path = root / kind.files(5)
            for each in path.parent.iterdir() if kind.name == "bag" else [path]:
                each.write_bytes(each.read_bytes()[:60])
            return ds, path

        return make

    @by_kind
    @pytest.mark.parametrize("workers", [0, 1])
    def test_raise_names_the_file(self, spoilt: Any, kind: Kind, workers: int) -> None:
        ds, path = spoilt(kind, **({"max_tiles": 5} if kind.name == "bag" else {}))
        with pytest.raises(DataError) as caught:
            run(ds, num_workers=workers)
        assert caught.value.path == str(path)

    @by_kind
    def test_skip_replaces_and_counts(self, spoilt: Any, kind: Kind, caplog: pytest.LogCaptureFixture) -> None:
        ds, _ = spoilt(kind, on_error="skip")
        made = listing(ds, 5, shuffle=True)
        found = samples(made)
        assert len(found) == N
        assert {s["index"] for s in found} == set(range(N)) - {5}
        assert all(pixels(s) == pixels(ds[s["index"]]) for s in found)
        (skipped,) = (s for s in made.skipped if s.bag is None)
        assert (skipped.index, skipped.epoch) == (5, 0)
        assert skipped.replacement in {s["path"] for s in found}
        assert "1 samples could not be read" in caplog.text
        for workers, batch_size in ((2, 5), (1, 1)):
            assert run(ds, batch_size, shuffle=True, num_workers=workers) == [pixels(s) for s in found]


Real = Callable[..., Any]


def of_a_stream(real: Real) -> Real:
    """Draws depend on how many samples were read before."""
    turns = itertools.count(1)
    return lambda self, epoch, virtual: {**real(self, epoch, virtual + 1000 * N * next(turns)), "index": virtual}


def its_own(real: Real) -> Real:
    """Keeps its samples and hands out the same tensors again."""
    kept: dict[Any, dict[str, Any]] = {}

    def read(self: Any, *key: int) -> dict[str, Any]:
        key = (*key, self.mode, self.seed)
        return dict(kept[key] if key in kept else kept.setdefault(key, real(self, *key[:2])))

    return read


def renumbered(real: Real) -> Real:
    def subset(self: Any, indices: Any, *, mode: Any = None) -> Any:
        made = real(self, indices, mode=mode)
        made.sample_keys.listed = np.arange(len(made))
        return made

    return subset


def shared_state(real: Real) -> Real:
    """Keeps what it is reading where other threads find it, as steps do that belong to one thread."""

    def sample(self: Any, *key: int) -> Any:
        self._key = key
        time.sleep(0.002)
        return real(self, *self._key)

    return sample


def one_buffer(real: Real) -> Real:
    """Writes all samples to the same memory."""
    buffers: dict[str, torch.Tensor] = {}

    def read(self: Any, *key: int) -> dict[str, Any]:
        return {
            name: buffers.setdefault(name, value).copy_(value) if isinstance(value, torch.Tensor) else value
            for name, value in real(self, *key).items()
        }

    return read


# For each law the method of a dataset that is wrong, and what it does: made of what it should do.
FAULTS: dict[str, tuple[str, Callable[[Real], Real]]] = {
    "keys_are_integers_of_any_sort": (
        "__getitem__", lambda real: lambda self, key: real(self, key if isinstance(key, int | tuple) else 0),
    ),
    "a_sample_says_what_it_is": ("path", lambda real: lambda self, index: real(self, index + 1)),
    "set_epoch_is_heard": ("read_sample", of_a_stream),
    "no_two_samples_share_their_draws": ("read_sample", lambda real: lambda self, epoch, key: real(self, 0, key)),
    "repeats_are_the_same_file_with_other_draws": (
        "read_sample", lambda real: lambda self, epoch, virtual: {**real(self, epoch, virtual), "index": virtual % N},
    ),
    "backends_do_not_matter": ("make_sample", shared_state),
    "batches_belong_to_the_user": ("read_sample", one_buffer),
    "passes_can_be_resumed_at_any_batch": ("read_sample", of_a_stream),
    "shards_share_the_samples_out": ("read_sample", of_a_stream),
    "epochs_are_shuffled_differently": (
        "read_sample", lambda real: lambda self, epoch, virtual: real(self, epoch, 0 if virtual == 5 else virtual),
    ),
    "weights_draw_repeats_anew": (
        "__init__",
        lambda real: lambda self, *args, weights=None, **how: real(
            self, *args, weights=weights and [1.0] * N, **how
        ),
    ),
    "subsets_keep_their_samples": ("subset", renumbered),
    "eval_draws_nothing": ("subset", lambda real: lambda self, indices, **_: real(self, indices)),
    "views_pass_epochs_on": ("read_sample", of_a_stream),
    "pickles_read_alike": (
        "__getstate__",
        lambda _: lambda self: {**vars(self), "pipeline": self.recipe.compile(self.mode, seed=self.seed + 1)},
    ),
    "threads_do_not_matter": ("read_sample", of_a_stream),
    "samples_own_their_memory": ("read_sample", its_own),
    "records_replay_samples": (
        "read_sample",
        lambda real: lambda self, *key: {
            name: [] if name == "applied" else value for name, value in real(self, *key).items()
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "law"), [*zip(itertools.cycle(KINDS), LAWS, strict=False)], ids=str)
def test_every_law_catches_a_planted_fault(roots: dict[str, Path], kind: Kind, law: str) -> None:
    name, fault = FAULTS[law]
    methods = {"__module__": __name__, name: fault(getattr(kind.dataset, name))}
    wrong = globals()["Wrong"] = type("Wrong", (kind.dataset,), methods)

    def make(**options: Any) -> Any:
        return Kind("wrong", wrong, kind.recipe, kind.fill, kind.where, kind.files).open(
            roots[kind.name], **{"seed": 3, **options}
        )

    with pytest.raises(AssertionError):
        LAWS[law](make)


# A saved state holds every argument that changes samples: either the samples are the same, or the state is refused.


# Of every argument of every kind another value than the default: text stands for a path below the data. A new argument
# has to come here, or to OF_LISTS.
OTHER: dict[str, Any] = {
    "mode": "eval", "seed": 7, "optimize": "fast", "on_error": "skip", "weights": [1.0] * 12, "samples_per_epoch": 30,
    "exif": "ignore", "channels": 1, "max_pixels": 2000, "depth": "8bit", "frames": "first", "layout": "flat",
    "cache": False, "save_applied_params": True, "max_tiles": 2, "min_tiles": 2, "pick": "stride", "threads": 1,
    "tissue": None, "min_tissue": 0.9, "max_white": 0.1,
    "check": "names", "outside": True, "verify": "always", "cache_size": 1 << 20,
}  # fmt: skip
# Of arguments that go with a list of samples: the test writes the list, in which these values make other samples.
OF_LISTS: dict[str, Any] = {
    "columns": {"image": {"image": "other"}, "views": {"image": "other"},
                "pair": {"lr": "other"}, "bag": {"image": "other"}},
    "box_classes": ["moth", "bee", "ant"], "crowds": "keep", "drop_shapes": ["rectangle"],
}  # fmt: skip
# In another order than theirs. Pairs have none.
CLASSES: dict[str, Any] = {"image": ["emu", "dog", "cat"], "views": ["emu", "dog", "cat"], "bag": ["yes", "no"]}
OF_BAGS = {"max_tiles", "min_tiles", "pick", "threads"}
# They say where samples come from: a test of their own.
SOURCES = {"self", "root", "roots", "recipe", "files", "masks", "targets", "split", "labels", "names", "store"}


WARPS = """
version: 1
recipe: warps
steps:
  - Rotate: {limit: [20, 30], border_mode: reflect_101, p: 1.0}
  - Resize: {height: 24, width: 24}
"""


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    found = folders(tmp_path_factory)
    # Larger than `max_pixels` below, unlike the others.
    draw(found["image"] / "cat" / "0.png", seed=0, size=(60, 64))
    return found


def everything(ds: RecipeDataset) -> list[Any]:
    """The samples of an epoch; an error where one is raised."""
    try:
        samples = [ds[i] for i in range(min(len(ds), 4))]
    except AugrecipesError as error:
        return [type(error)]
    return [{key: value.tobytes() for key, value in arrays(sample).items()} for sample in samples]


def open_with(kind: Kind, root: Path, packed: bool, **options: Any) -> RecipeDataset:
    return open_packed(kind, root, **options) if packed else kind.open(root, recipe_of(kind), **options)


def check_argument(open_one: Callable[..., RecipeDataset], **other: Any) -> None:
    """The law: with another value the samples are the same, or their state is refused."""
    here, there = open_one(), open_one(**other)
    a, b = everything(here), everything(there)
    refused = here.fingerprint() != there.fingerprint() or len(here) != len(there)
    failed = any(isinstance(one, type) for one in (*a, *b))  # nobody is handed other samples
    assert refused or failed or a == b, f"{other}: other samples, and no difference in the fingerprint"


def cases() -> list[Any]:
    return [
        pytest.param(kind, packed, name, id=f"{'packed-' if packed else ''}{kind.name}-{name}")
        for kind in KINDS
        for packed in (False, True)
        for name in inspect.signature(Packed if packed else kind.dataset).parameters
        if name not in SOURCES | OF_LISTS.keys()
        and not (packed and kind is not BAG and name in OF_BAGS)
        and not (name == "classes" and kind.name not in CLASSES)
    ]


@pytest.mark.parametrize(("kind", "packed", "name"), cases())
def test_every_argument_is_held_or_changes_nothing(kind: Kind, packed: bool, name: str, roots: Any) -> None:
    other = {**OTHER, "classes": CLASSES.get(kind.name)}
    assert name in other, f"{name} is a new argument: say another value of it in OTHER"
    check_argument(lambda **options: open_with(kind, roots[kind.name], packed, **options), **{name: other[name]})


def listed(kind: Kind, root: Path, name: str, to: Path) -> Path:
    """A list of some of the samples below `root`: a CSV file with another column, or COCO with a crowd, or labelme."""
    if name == "columns":
        lines = {
            "image": ["image,other", *(f"cat/{i}.png,dog/{i}.png" for i in range(4))],
            "pair": ["hr,lr,other", *(f"hr/{i:04}.png,lr/{i:04}x2.png,lr/{i + 4:04}x2.png" for i in range(4))],
            "bag": ["bag,image,other", *(f"{i},{BAG.files(i)},{BAG.files(i + 4)}" for i in range(4))],
        }["image" if kind is VIEWS else kind.name]
        rows = [
            ",".join(field if "/" not in field else str(root / field) for field in line.split(",")) for line in lines
        ]
        (to / "list.csv").write_text("\n".join(rows))
        return to / "list.csv"
    things = (Thing("ant", (2, 2, 22, 21)), Thing("bee", (2, 2, 22, 22)), Thing("moth", (2, 2, 22, 23), flagged=True))
    return (labelme if name == "drop_shapes" else coco)(
        to, Set(tuple(Picture(f"{k}.png", 28, 32, things) for k in range(4)), ("ant", "bee", "moth"))
    )


def cases_of_lists() -> list[Any]:
    return [
        pytest.param(kind, name, id=f"{kind.name}-{name}")
        for kind in KINDS
        for name in OF_LISTS
        if name in inspect.signature(kind.dataset).parameters
    ]


def test_what_goes_with_lists_is_no_argument_of_a_store() -> None:
    assert not OF_LISTS.keys() & inspect.signature(Packed).parameters.keys()


@pytest.mark.parametrize(("kind", "name"), cases_of_lists())
def test_every_argument_of_lists_is_held(kind: Kind, name: str, roots: Any, tmp_path: Path) -> None:
    files = listed(kind, roots[kind.name], name, tmp_path)
    where = {} if files.suffix == ".json" else {"outside": True}

    def open_one(**options: Any) -> RecipeDataset:
        return kind.dataset(files=files, recipe=parse_text(kind.recipe), **where, **options)  # type: ignore[no-any-return]

    value = OF_LISTS[name][kind.name] if name == "columns" else OF_LISTS[name]
    assert everything(open_one()) != everything(open_one(**{name: value})), "the other value has to change samples"
    check_argument(open_one, **{name: value})


def test_the_law_sees_a_list_that_is_forgotten(
    roots: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = RecipeDataset.fingerprint
    monkeypatch.setattr(RecipeDataset, "fingerprint", lambda self: {**whole(self), "files": ""})
    columns = [(kind, "columns") for kind in KINDS]
    for kind, name in (*columns, (IMAGE, "box_classes"), (IMAGE, "crowds")):
        with pytest.raises(AssertionError, match="no difference in the fingerprint"):
            test_every_argument_of_lists_is_held(kind, name, roots, tmp_path)


@pytest.mark.skipif(library() is None, reason="no native kernels here")
def test_fast_is_another_level_and_none_is_not(roots: dict[str, Path]) -> None:
    made = {level: loader(IMAGE.open(roots["image"], optimize=level), 4) for level in ("none", "exact", "fast")}
    made["exact"].load_state_dict(made["none"].state_dict())
    with pytest.raises(LoaderError, match="optimize: saved 'fast', here 'exact'"):
        made["none"].load_state_dict(made["fast"].state_dict())
    state = made["fast"].state_dict()
    with using(None):  # as on a machine for which none were built
        plain = loader(IMAGE.open(roots["image"], optimize="fast"), 4)
        plain.load_state_dict(made["none"].state_dict())
        with pytest.raises(LoaderError, match="optimize: saved 'fast', here 'exact'; without native kernels"):
            plain.load_state_dict(state)
        assert plain.state_dict()["made_with"]["kernels"] == "none"
    with pytest.raises(LoaderError, match="channels: saved 3, here 1"):
        loader(IMAGE.open(roots["image"], channels=1), 4).load_state_dict(made["exact"].state_dict())


@pytest.mark.parametrize("missing", ["optimize", "channels", "exif", "mode", "dataset_seed", "max_tiles"])
def test_the_law_sees_an_argument_that_is_forgotten(
    missing: str, roots: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = RecipeDataset.fingerprint
    monkeypatch.setattr(
        RecipeDataset, "fingerprint", lambda self: {k: v for k, v in whole(self).items() if k != missing}
    )
    kind = BAG if missing == "max_tiles" else IMAGE
    argument = "seed" if missing == "dataset_seed" else missing
    root, recipe = roots[kind.name], recipe_of(kind)
    if missing == "exif":  # an image that says how it is turned
        root = tmp_path / "turned"
        root.mkdir()
        (root / "a.jpg").write_bytes(Jpeg(40, 60, turn=3).data)
    if missing == "optimize":
        recipe = WARPS
    with pytest.raises(AssertionError, match="no difference in the fingerprint"):
        check_argument(lambda **options: kind.open(root, recipe, **options), **{argument: OTHER[argument]})


def test_files_are_told_apart_by_names_masks_labels_and_boxes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        draw(tmp_path / f"{name}.png", seed=ord(name), size=(40, 40))
        draw(tmp_path / "masks" / f"{name}.png", seed=ord(name) + 9, size=(40, 40))
    recipe = parse_text(
        "{version: 1, recipe: t, inputs: {mask: optional}, steps: [HorizontalFlip], eval: [], output: {layout: chw}}"
    )
    tables: list[str] = []
    for text in ("image\na.png\nb.png\n", "image,mask\na.png,masks/a.png\nb.png,masks/b.png\n",
                 "image,mask\na.png,masks/b.png\nb.png,masks/a.png\n", "image,label\na.png,0\nb.png,1\n",
                 "image,label\na.png,1\nb.png,0\n", "image\nb.png\na.png\n"):  # fmt: skip
        path = tmp_path / f"list-{len(tables)}.csv"
        path.write_text(text)
        tables.append(IMAGE.dataset(files=path, recipe=recipe).fingerprint()["files"])
    for name in ("a", "b"):
        draw(tmp_path / "masks" / f"{name}_other.png", seed=ord(name) + 5, size=(40, 40))
    (tmp_path / "images").mkdir()
    for name in ("a", "b"):
        (tmp_path / f"{name}.png").rename(tmp_path / "images" / f"{name}.png")
    for names in ("{stem}.png", "{stem}_other.png"):
        ds = IMAGE.dataset(tmp_path / "images", recipe, masks=tmp_path / "masks" / names, layout="flat")
        tables.append(ds.fingerprint()["files"])
    assert len(set(tables)) == len(tables)


def test_indices_of_a_torch_subset_are_held() -> None:
    state = loader(Subset(Counting(9), [1, 2])).state_dict()
    loader(Subset(Counting(9), [1, 2])).load_state_dict(state)
    with pytest.raises(LoaderError, match="indices: saved"):
        loader(Subset(Counting(9), [2, 1])).load_state_dict(state)


# -- libraries and processors -----------------------------------------------------------------------------------------


def test_other_versions_and_processors_are_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "augrecipes")
    versions._warned.clear()
    state = loader(Counting(4)).state_dict()
    loader(Counting(4)).load_state_dict(state)
    assert not caplog.messages
    assert state["made_with"]["processor"] == versions.features()
    monkeypatch.setattr(versions, "features", lambda: "riscv64 RVV")
    monkeypatch.setattr(versions, "versions", lambda: {"opencv": "9.9"})
    for _ in range(2):
        loader(Counting(4)).load_state_dict(state)
    (message,) = caplog.messages
    assert "(here 9.9)" in message
    assert "a processor of another family" in message
    assert "(here riscv64)" in message
    with pytest.raises(LoaderError, match="damaged"):
        loader(Counting(4)).load_state_dict(state | {"made_with": 3})
    with pytest.raises(LoaderError, match="damaged"):
        loader(Counting(4)).load_state_dict(state | {"fingerprint": [1]})
