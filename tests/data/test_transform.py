"""A recipe as `transform=` of other people's datasets: any form of sample, and no call draws what another one drew."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from kinds import IMAGE, PAIR
from PIL import Image
from torch.utils.data import DataLoader, Dataset, IterableDataset

import augrecipes as ar
from augrecipes.data import visits
from augrecipes.data.order import Share
from augrecipes.data.visits import CallKeys
from augrecipes.errors import DataError, RecipeError
from augrecipes.recipe.parse import parse_text

RECIPE = "{version: 1, recipe: drawn, steps: [RandomGamma: {p: 1.0, gamma_limit: [20, 400]}, HorizontalFlip], eval: []}"
PICTURE = np.random.default_rng(0).integers(0, 256, (9, 8, 3), np.uint8)


def made(recipe: str = RECIPE, mode: Any = "train", **options: Any) -> Any:
    return parse_text(recipe).transform(mode, **options)


def bits(found: Any) -> bytes:
    return bytes(found.numpy().tobytes())


class Labelled(NamedTuple):
    picture: Any
    label: int


FORMS: dict[str, Any] = {
    "array": (PICTURE, lambda found: found),
    "tensor": (torch.from_numpy(PICTURE).permute(2, 0, 1), lambda found: found),
    "Pillow": (Image.fromarray(PICTURE), lambda found: found),
    "tuple": ((PICTURE, 7), lambda found: found[0]),
    "list": ([PICTURE, 7], lambda found: found[0]),
    "named tuple": (Labelled(PICTURE, 7), lambda found: found.picture),
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


def test_annotations_follow_their_picture() -> None:
    image = np.random.default_rng(0).integers(0, 256, (32, 28, 3), np.uint8)
    mask = image[..., 0].astype(np.int64)
    boxes = [[1, 2, 20.5, 25]]
    t, pipeline = made(IMAGE.recipe), parse_text(IMAGE.recipe).compile()
    expected = pipeline.at(4, 0)(
        image=image, mask=mask.astype(np.uint8), boxes=np.array(boxes, np.float32), box_labels=[5]
    )
    found = t({"image": image, "mask": mask, "boxes": boxes, "box_labels": [5], "id": "a"}, index=4)
    for name in ("image", "mask", "boxes"):
        assert np.array_equal(found[name].numpy(), expected[name])
    assert (found["box_labels"].tolist(), found["id"]) == ([*expected["box_labels"]], "a")
    for other in (made(IMAGE.recipe)((image, mask), index=4), made(IMAGE.recipe)(image, mask, index=4)):
        assert torch.equal(other[0], found["image"])
        assert torch.equal(other[1], found["mask"])
    swapped = made(IMAGE.recipe, keys=("mask", "image"))((mask, image), index=4)
    numbers = made(IMAGE.recipe, keys={"image": 2, "mask": 0})((mask, "x", image), index=4)
    named = made(IMAGE.recipe, keys={"image": "photo", "mask": "seg"})({"photo": image, "seg": mask}, index=4)
    assert torch.equal(swapped[0], found["mask"])
    assert numbers[1] == "x"
    assert torch.equal(numbers[2], found["image"])
    assert torch.equal(named["photo"], found["image"])
    assert torch.equal(named["seg"], found["mask"])


def test_pairs() -> None:
    hr = np.random.default_rng(0).integers(0, 256, (40, 36, 3), np.uint8)
    rows = {"lr": hr[::2, ::2], "hr": hr}
    expected = parse_text(PAIR.recipe).compile().at(3, 0)(**rows)
    found = made(PAIR.recipe)({**rows, "name": "x"}, index=3)
    both = made(PAIR.recipe, keys=("lr", "hr"))((rows["lr"], hr), index=3)
    for k, name in enumerate(("lr", "hr")):
        assert np.array_equal(found[name].numpy(), expected[name])
        assert torch.equal(both[k], found[name])


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


WAYS: dict[str, dict[str, Any]] = {
    "here": {},
    "2 forked": {"num_workers": 2, "multiprocessing_context": "fork"},
    "2 that stay": {"num_workers": 2, "multiprocessing_context": "fork", "persistent_workers": True},
}
SPAWNED = {"num_workers": 1, "multiprocessing_context": "spawn"}


def all_differ(ds: Any, passes: int = 3, **way: Any) -> None:
    """The law: no two calls draw alike, whatever the seed of torch, and whatever reads."""
    batches = DataLoader(ds, 2, **way)
    seen = []
    for _ in range(passes):
        torch.manual_seed(0)
        seen += [bits(picture) for batch in batches for picture in batch]
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("indexed", [False, True])
def test_no_call_repeats_another(way: str, indexed: bool) -> None:
    all_differ(Wrapped(made(), indexed), **WAYS[way])
    if not indexed:
        all_differ(Stream(made()), **WAYS[way])


@pytest.mark.parametrize("indexed", [False, True])
def test_spawned_workers_go_on(indexed: bool) -> None:
    all_differ(Wrapped(made(), indexed), passes=2, **SPAWNED)


def test_an_index_has_the_draws_of_the_dataset() -> None:
    """Visit k to index i is sample i of epoch k, as in `ar.Samples` over the same pictures."""
    ds, t = ar.Samples([PICTURE] * 7, parse_text(RECIPE), seed=5), made(seed=5)
    for epoch in range(3):
        assert [bits(t(PICTURE, index=i)) for i in range(7)] == [bits(ds[epoch, i]["image"]) for i in range(7)]
    for epoch in (9, 2):
        t.set_epoch(epoch)
        assert [bits(t(PICTURE, index=i)) for i in range(7)] == [bits(ds[epoch, i]["image"]) for i in range(7)]
        again = [bits(t(PICTURE, index=i)) for i in range(7)]
        assert not {*again} & {bits(ds[e, i]["image"]) for e in range(10) for i in range(7)}
    t.set_epoch(1)
    far = [t({"image": PICTURE, "index": i})["image"] for i in (3, 3 + visits._INDICES)]  # which share their count
    expected = [parse_text(RECIPE).compile(seed=5).at(i, 1)(image=PICTURE)["image"] for i in (3, 3 + visits._INDICES)]
    assert [x.numpy().tobytes() for x in far] == [x.tobytes() for x in expected]


def test_names_are_indices_too() -> None:
    t, again = made(), made()
    first = [bits(t({"jpg": PICTURE, "__key__": name})["jpg"]) for name in ("a/1", "a/2", "b")]
    assert len({*first}) == 3
    assert [bits(again({"jpg": PICTURE, "__key__": n})["jpg"]) for n in ("b", "a/2", "a/1")] == first[::-1]
    column = made(index="id")
    assert bits(column({"image": PICTURE, "id": np.int64(4)})["image"]) == bits(made()(PICTURE, index=4))
    with pytest.raises(DataError, match="no 'id'"):
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
        monkeypatch.setattr(visits, "share_of_process", lambda rank=rank: Share(rank, 3))
        seen += [bits(t(PICTURE, index=index)) for _ in range(4)]
    assert len({*seen}) == 12


def test_threads_and_copies() -> None:
    t = made()
    with ThreadPoolExecutor(4) as pool:
        assert len({bits(found) for found in pool.map(t, [PICTURE] * 64)}) == 64
    fresh = made()
    fresh(PICTURE)
    expected = bits(copy.deepcopy(fresh)(PICTURE))
    assert bits(pickle.loads(pickle.dumps(fresh))(PICTURE)) == expected == bits(fresh(PICTURE))


def test_eval_draws_nothing() -> None:
    t = made(mode="eval")
    assert len({bits(t(PICTURE)) for _ in range(3)}) == 1


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
    with pytest.raises(DataError, match=text):
        made()(sample)


def test_bags_are_refused() -> None:
    with pytest.raises(RecipeError, match="bag"):
        ar.load("stained-tissue-bag").transform()


class TestPlantedFaults:
    def test_workers_that_count_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(CallKeys, "_share", lambda self: None)
        with pytest.raises(AssertionError):
            all_differ(Wrapped(made(), False), **WAYS["2 forked"])

    def test_processes_that_count_alike(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(visits.Visits, "of_process", lambda self: Share(0, 1))
        with pytest.raises(AssertionError):
            test_processes_that_train_one_model_do_not_draw_alike(monkeypatch, None)

    def test_indices_that_share_a_count(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(visits, "_INDICES", 4)
        true = CallKeys.at
        monkeypatch.setattr(CallKeys, "at", lambda self, index: (self._seen.fill_(index), true(self, index))[1])
        with pytest.raises(AssertionError):
            test_an_index_has_the_draws_of_the_dataset()
