"""A recipe as `transform=` of other people's datasets: any form of sample, and no call draws what another one drew."""

import pickle
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from PIL import Image
from support.checks import planted_faults
from support.datasets import WAYS
from torch.utils.data import DataLoader, Dataset, IterableDataset

import augrecipes as ar
from augrecipes.data import sample_keys
from augrecipes.data.order import Share
from augrecipes.data.sample_keys import CallKeys
from augrecipes.data.transform import BatchTransform
from augrecipes.recipe.parse import parse_text

RECIPE = "{version: 1, recipe: drawn, steps: [RandomGamma: {p: 1.0, gamma_limit: [20, 400]}, HorizontalFlip], eval: []}"
PICTURE = np.random.default_rng(0).integers(0, 256, (9, 8, 3), np.uint8)


def made(recipe: str = RECIPE, mode: Any = "train", **options: Any) -> Any:
    return parse_text(recipe).transform(mode, **options)


def bits(found: Any) -> bytes:
    return bytes(found.numpy().tobytes())


class Labelled(NamedTuple):
    image: Any
    label: int


FORMS: dict[str, Any] = {
    "array": (PICTURE, lambda found: found),
    "tensor": (torch.from_numpy(PICTURE).permute(2, 0, 1), lambda found: found),
    "Pillow": (Image.fromarray(PICTURE), lambda found: found),
    "tuple": ((PICTURE, 7), lambda found: found[0]),
    "list": ([PICTURE, 7], lambda found: found[0]),
    "named tuple": (Labelled(PICTURE, 7), lambda found: found.image),
    "dict": ({"image": PICTURE, "label": 7}, lambda found: found["image"]),
    "WebDataset": ({"jpg": Image.fromarray(PICTURE), "cls": 7}, lambda found: found["jpg"]),
    "Hugging Face": ({"img": [Image.fromarray(PICTURE)], "label": [7]}, lambda found: found["img"][0]),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_every_form_gives_the_recipes_sample_in_that_form(form: str, mode: Any) -> None:
    sample, picture_of = FORMS[form]
    found = made(mode=mode)(sample)
    key = CallKeys().next()
    expected = parse_text(RECIPE).compile(mode).at(key[1], key[0])(image=PICTURE)["image"]
    assert type(found) is type(sample) or form in ("array", "Pillow")
    assert np.array_equal(picture_of(found).numpy(), expected)
    if isinstance(sample, dict):
        assert list(found) == list(sample)
        assert [v for k, v in found.items() if k in ("label", "cls")] in ([7], [[7]])
    elif isinstance(sample, tuple | list):
        assert found[1] == 7


# -- keys -------------------------------------------------------------------------------------------------------------


class Wrapped(Dataset[Any]):
    """A dataset of somebody else's, with a transform."""

    def __init__(self, transform: Any, indexed: bool, n: int = 7) -> None:
        self.transform, self.indexed, self.n = transform, indexed, n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> Any:
        row = {"image": PICTURE} | ({"index": index} if self.indexed else {})
        return self.transform(row)["image"]


class Stream(IterableDataset[Any]):
    """WebDataset's and LitData's kind."""

    def __init__(self, transform: Any) -> None:
        self.transform = transform

    def __iter__(self) -> Iterator[Any]:
        return (self.transform(PICTURE) for _ in range(5))


def all_differ(ds: Any, passes: int = 3, **way: Any) -> None:
    """The law: no two calls draw alike, whatever the seed of torch, and whatever reads."""
    batches = DataLoader(ds, 2, **way)
    seen = []
    for _ in range(passes):
        torch.manual_seed(0)
        seen += [bits(image) for batch in batches for image in batch]
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("way", ["here", "forked", "forked, that stay"])
@pytest.mark.parametrize("indexed", [False, True])
def test_no_call_repeats_another(way: str, indexed: bool) -> None:
    all_differ(Wrapped(made(), indexed), **WAYS[way])
    if not indexed:
        all_differ(Stream(made()), **WAYS[way])


def test_an_index_has_the_draws_of_the_dataset() -> None:
    """Visit k to index i is sample i of epoch k, as in `ar.Samples` over the same images."""
    ds, t = ar.Samples([PICTURE] * 7, parse_text(RECIPE), seed=5), made(seed=5)
    for epoch in range(3):
        assert [bits(t(PICTURE, index=i)) for i in range(7)] == [bits(ds[epoch, i]["image"]) for i in range(7)]
    for epoch in (9, 2):
        t.set_epoch(epoch)
        assert [bits(t(PICTURE, index=i)) for i in range(7)] == [bits(ds[epoch, i]["image"]) for i in range(7)]
        again = [bits(t(PICTURE, index=i)) for i in range(7)]
        assert not {*again} & {bits(ds[e, i]["image"]) for e in range(10) for i in range(7)}
    t.set_epoch(1)
    far = [t({"image": PICTURE, "index": i})["image"] for i in (3, 3 + sample_keys._INDICES)]  # which share their count
    expected = [
        parse_text(RECIPE).compile(seed=5).at(i, 1)(image=PICTURE)["image"] for i in (3, 3 + sample_keys._INDICES)
    ]
    assert [x.numpy().tobytes() for x in far] == [x.tobytes() for x in expected]


def test_names_are_indices_too() -> None:
    t, again = made(), made()
    first = [bits(t({"jpg": PICTURE, "__key__": name})["jpg"]) for name in ("a/1", "a/2", "b")]
    assert len({*first}) == 3
    assert [bits(again({"jpg": PICTURE, "__key__": n})["jpg"]) for n in ("b", "a/2", "a/1")] == first[::-1]
    column = made(index="id")
    assert bits(column({"image": PICTURE, "id": np.int64(4)})["image"]) == bits(made()(PICTURE, index=4))
    with pytest.raises(ar.DataError, match="no 'id'"):
        column({"image": PICTURE})


def test_a_set_epoch_makes_calls_without_an_index_begin_again() -> None:
    t = made()
    runs = []
    for epoch in (3, 3, 4):
        t.set_epoch(epoch)
        runs.append([bits(t(PICTURE)) for _ in range(4)])
    assert runs[0] == runs[1]
    assert not {*runs[0]} & {*runs[2]}


@pytest.mark.parametrize("index", [None, 5])
def test_processes_that_train_one_model_do_not_draw_alike(monkeypatch: pytest.MonkeyPatch, index: int | None) -> None:
    seen = []
    for rank in range(3):
        t = made()
        monkeypatch.setattr(sample_keys, "share_of_process", lambda rank=rank: Share(rank, 3))
        seen += [bits(t(PICTURE, index=index)) for _ in range(4)]
    assert len({*seen}) == 12


@pytest.mark.parametrize(
    ("sample", "text"),
    [
        ({"photo": PICTURE}, "'photo'"),
        ({"image": PICTURE, "boxes": [[1, 2, 3, 4]]}, "no boxes"),
        (None, "no image|NoneType"),
        (PICTURE.astype(np.int64), "uint8"),
    ],
)
def test_what_is_wrong_is_told(sample: Any, text: str) -> None:
    with pytest.raises(ar.DataError, match=text):
        made()(sample)


def test_bags_are_refused() -> None:
    with pytest.raises(ar.RecipeError, match="bag"):
        ar.load("stained-tissue-bag").transform()


def at_shared_counts(self: CallKeys, index: Any) -> Any:
    self._owners.fill_(index)
    return true_at(self, index)


true_at: Any = CallKeys.at
test_planted_faults_are_caught = planted_faults({
    "workers that count alone": (
        lambda _: all_differ(Wrapped(made(), False), **WAYS["forked"]), (CallKeys, "_share", lambda self: None),
    ),
    "processes that count alike": (
        lambda fixture: test_processes_that_train_one_model_do_not_draw_alike(fixture("monkeypatch"), None),
        (sample_keys.ReadCounter, "process_share", lambda self: Share(0, 1)),
    ),
    "indices that share a count": (
        lambda _: test_an_index_has_the_draws_of_the_dataset(),
        (sample_keys, "_INDICES", 4), (CallKeys, "at", at_shared_counts),
    ),
})  # fmt: skip


# A recipe over batches of columns: the samples of (epoch, index), however rows are batched, wherever it runs.


PLAIN = "{version: 1, recipe: plain, steps: [HorizontalFlip, RandomGamma: {p: 1.0}, Rotate: {p: 1.0}], eval: []}"
SIZES = "{version: 1, recipe: s, steps: [RandomScale: {p: 1.0}, HorizontalFlip], eval: []}"
N = 12


def columns(rng: np.random.Generator, ragged: bool = False) -> dict[str, Any]:
    sizes = [(32, 28 + 2 * (k % 3) * ragged) for k in range(N)]
    images = np.empty(N, object)
    for k, size in enumerate(sizes):
        images[k] = rng.integers(0, 256, (*size, 3), np.uint8)
    image = images if ragged else np.stack(list(images))
    return {"image": image, "index": np.arange(N) + 3, "label": np.arange(N) % 3, "name": np.array([*map(str, sizes)])}


def taken(batch: dict[str, Any], rows: Any) -> dict[str, Any]:
    return {name: column[rows] for name, column in batch.items()}


def rowwise(batch: dict[str, Any]) -> dict[int, bytes]:
    """The image of each index."""
    return {int(i): image.tobytes() for i, image in zip(batch["index"], batch["image"], strict=True)}


def holds(make: Any, ragged: bool) -> None:
    """The law: samples go by index and epoch, not by batches, their order, or copies of the function."""
    rng, chance = np.random.default_rng(0), random.Random(0)
    given = columns(rng, ragged)
    recipe = parse_text(SIZES if ragged else PLAIN)
    ds = ar.Samples([{"image": image} for image in given["image"]], recipe, seed=5)
    for epoch in (0, 3):
        whole = rowwise(make(recipe, epoch)(given))
        for k in range(N):
            pipeline = recipe.compile(seed=5)
            image = np.asarray(pipeline.at(k + 3, epoch)(image=given["image"][k])["image"])
            assert whole[k + 3] == image.tobytes()
        assert whole != rowwise(make(recipe, epoch + 1)(given))
        seen: dict[int, bytes] = {}
        rows = chance.sample(range(N), N)
        function = make(recipe, epoch)
        while rows:
            some, rows = rows[: (n := chance.randrange(1, 5))], rows[n:]
            function = pickle.loads(pickle.dumps(function)) if chance.random() < 0.5 else function
            seen |= rowwise(function(taken(given, some)))
        assert seen == whole
    assert len(ds) == N


@pytest.mark.parametrize("ragged", [False, True])
def test_samples_are_those_of_index_and_epoch(ragged: bool) -> None:
    holds(lambda recipe, epoch: recipe.map_batches(seed=5, epoch=epoch), ragged)


def test_a_place_in_the_batch_for_an_index_is_caught() -> None:
    class ByPlace(BatchTransform):
        def __call__(self, batch: Any) -> dict[str, Any]:
            return super().__call__({**batch, "index": np.arange(len(batch["index"]))}) | {"index": batch["index"]}

    with pytest.raises(AssertionError):
        holds(lambda recipe, epoch: ByPlace(recipe, seed=5, epoch=epoch), False)


def test_columns_stay_and_sizes_are_stacked() -> None:
    given = columns(np.random.default_rng(0))
    made = parse_text(PLAIN).map_batches()(given)
    assert [*made] == [*given]
    assert made["label"] is given["label"]
    assert (made["image"].shape, made["image"].dtype) == ((N, 3, 32, 28), np.float32)
    ragged = parse_text(SIZES).map_batches()(columns(np.random.default_rng(0), True))
    assert ragged["image"].dtype == object
    assert ragged["image"][0].ndim == 3
    nothing = {"image": np.zeros((0, 4, 4, 3), np.uint8)}
    assert parse_text(PLAIN).map_batches()(nothing)["image"] is nothing["image"]


def test_without_an_index_nothing_is_drawn() -> None:
    given = columns(np.random.default_rng(0))
    given.pop("index")
    with pytest.raises(ar.DataError, match=r"has no column 'index' or '__key__' or 'path', .*; there is 'image'"):
        parse_text(PLAIN).map_batches(seed=5)(given)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"index": np.arange(3)}, "a batch is a dict of columns of one length"),
        ({"index": np.arange(N) - 9}, "-9: an index is at least 0, got -9"),
        ({"index": np.arange(N) / 2}, "an index is an integer or text"),
        ({"epoch": 3}, "a batch is a dict of columns"),
        ({"image": [None] * N}, "3: has no image"),
        ({"image": [b"nonsense"] * N}, "3: .*not an image"),
    ],
)
def test_what_is_wrong_is_told_with_the_row(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ar.DataError, match=said):
        parse_text(PLAIN).map_batches()({**columns(np.random.default_rng(0)), **change})
