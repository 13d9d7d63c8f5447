"""Arguments of loaders and datasets: who reads, what makes no sense, and what the data has not."""

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import albumentations as A
import numpy as np
import pytest
import torch
from support.datasets import Counting, Gathering
from support.folders import draw
from torch.utils.data import ConcatDataset, IterableDataset, Subset, TensorDataset

import augrecipes as ar
from augrecipes import machine
from augrecipes.data import reader_plan
from augrecipes.data.reader_plan import LOCAL_RANKS
from augrecipes.recipe.parse import parse_text


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_plan, "cores", lambda: 2)
    monkeypatch.delenv(LOCAL_RANKS, raising=False)
    # On Linux Python forked up to 3.13.
    monkeypatch.setattr(torch.multiprocessing, "get_start_method", lambda: "fork")


def samples(text: str = "{version: 1, recipe: t, steps: [HorizontalFlip], eval: []}", source: Any = None) -> ar.Samples:
    return ar.Samples(np.zeros((9, 8, 8, 3), np.uint8) if source is None else source, parse_text(text))


@pytest.mark.parametrize(
    ("asked", "ours", "own"),
    [
        ({}, ("threads", 2), ("processes", 2)),
        ({"num_workers": "auto"}, ("threads", 2), ("processes", 2)),
        ({"num_workers": 0}, ("batches", 0), ("batches", 0)),
        ({"num_workers": 1}, ("threads", 1), ("processes", 1)),
        ({"num_workers": 2, "persistent_workers": True}, ("threads", 2), ("processes", 2)),
        ({"num_workers": 2, "worker_init_fn": print}, ("processes", 2), ("processes", 2)),
        ({"num_workers": 2, "multiprocessing_context": "fork"}, ("processes", 2), ("processes", 2)),
        ({"num_workers": 0, "multiprocessing_context": "fork"}, ("batches", 0), ("batches", 0)),
        ({"backend": "batches"}, ("batches", 0), ("batches", 0)),
        ({"backend": "batches", "num_workers": "auto"}, ("batches", 0), ("batches", 0)),
        ({"backend": "threads"}, ("threads", 2), ("threads", 2)),
        ({"backend": "threads", "num_workers": 5}, ("threads", 5), ("threads", 5)),
        ({"backend": "processes"}, ("processes", 2), ("processes", 2)),
        ({"backend": "processes", "num_workers": "auto"}, ("processes", 2), ("processes", 2)),
    ],
)
def test_who_reads(asked: dict[str, Any], ours: tuple[str, int], own: tuple[str, int]) -> None:
    for ds, found in ((samples(), ours), (Counting(4), own)):
        made = ar.loader(ds, **asked)
        assert (made.choice.backend, made.choice.workers) == (made.backend, made.num_workers) == found


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"backend": "process"}, "backend must be one of batches, threads, processes"),
        ({"num_workers": "all"}, "num_workers must be an integer"),
        ({"num_workers": 1.5}, "num_workers must be an integer"),
        ({"num_workers": True}, "num_workers must be an integer"),
        ({"num_workers": -1}, "at least 0"),
        ({"backend": "batches", "num_workers": 2}, "has no workers"),
        ({"backend": "threads", "num_workers": 0}, "at least one worker"),
        ({"pin_memory": "yes"}, "pin_memory must be"),
        ({"batch_size": 0}, "batch_size must be"),
        ({"batch_size": None}, "batch_size must be"),
        ({"samples_per_epoch": 0}, "samples_per_epoch"),
        ({"collate": "stack"}, "'default', 'list', 'pad'"),
        ({"weights": "even"}, "'balanced'"),
        ({"weights": "balanced"}, "labels"),
        ({"prefetch_bytes": 0}, "prefetch_bytes must be"),
        ({"prefetch_bytes": 1.5}, "prefetch_bytes must be"),
        ({"prefetch_bytes": "1G"}, "prefetch_bytes must be"),
        ({"rank": 0}, "Give both, or neither"),
        ({"world_size": 2}, "Give both, or neither"),
        ({"rank": 2, "world_size": 2}, "rank must be below world_size"),
        ({"sampler": [1], "shuffle": True}, "leave shuffle out"),
        ({"sampler": [1], "weights": [1.0] * 4}, "leave weights out"),
        ({"sampler": [1], "samples_per_epoch": 3}, "leave samples_per_epoch out"),
        ({"batch_sampler": [[1]], "batch_size": 3}, "leave batch_size out"),
        ({"batch_sampler": [[1]], "drop_last": True}, "leave drop_last out"),
        ({"batch_sampler": [[1]], "sampler": [1]}, "not both"),
        ({"dataset": Counting(0)}, "empty"),
        ({"batch_size": 5, "drop_last": True}, "an epoch has 4 samples, and a batch of 5 takes 5;"),
        (
            {"batch_size": 3, "drop_last": True, "rank": 1, "world_size": 2},
            "an epoch has 4 samples, and a batch of 3 for each of 2 ranks takes 6;",
        ),
        ({"batch_size": 2, "drop_last": True, "samples_per_epoch": 1}, "an epoch has 1 sample, and a batch of 2"),
        ({"batch_size": 2, "drop_last": True, "sampler": [3]}, "an epoch has 1 sample, and a batch of 2"),
    ],
)
def test_what_makes_no_sense_is_refused(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ar.loader(**{"dataset": Counting(4), **asked})


def test_drop_last_is_looked_at_again_when_ranks_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    made = ar.loader(Counting(4), 3, drop_last=True)
    assert len(made) == 1
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    for look in (len, list, iter, ar.Loader.state_dict):
        with pytest.raises(ValueError, match=r"has 4 samples, .* each of 2 ranks takes 6; take a smaller batch_size"):
            look(made)


class Stream(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter([1])


class LongStream(Stream):
    def __len__(self) -> int:
        return 1


@pytest.mark.parametrize("stream", [iter([1]), Stream(), LongStream(), 3])
def test_there_must_be_a_length_and_items(stream: Any) -> None:
    for take in (ar.loader, lambda source: ar.Samples(source, "folder-128")):
        with pytest.raises(
            TypeError, match=r"no (len\(\)|items); of a stream, recipe\.transform\(mode\) takes what comes"
        ):
            take(stream)


class OwnSource:
    def __len__(self) -> int:
        return 5

    def __getitem__(self, index: int) -> Any:
        return np.zeros((8, 8, 3), np.uint8)


class OwnFolder(ar.Samples):
    """Adds nothing to reading."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)


@pytest.fixture
def own_step(own_classes: None) -> ar.Samples:
    from augrecipes.compat.albumentations import A

    class OwnStep(A.HorizontalFlip):  # type: ignore[misc,name-defined]
        pass

    ar.register(OwnStep)
    return samples(
        "{version: 1, recipe: t, steps: [OneOf: {steps: [OwnStep, VerticalFlip]}], eval: [Transpose: {p: 1.0}]}"
    )


def test_what_is_python_of_the_users_own(own_step: ar.Samples) -> None:
    recipe = samples().recipe
    ours: list[Any] = [
        samples(), Subset(samples(), [0]), ConcatDataset([samples(), samples()]), samples().subset([1]),
        samples(source=[np.zeros((8, 8, 3), np.uint8)]), samples(source={"image": np.zeros((4, 8, 8, 3), np.uint8)}),
        TensorDataset(torch.arange(4)),
        own_step.subset([0], mode="eval"),
    ]  # fmt: skip
    for ds in ours:
        assert ar.loader(ds).backend == "threads", ds
    own: dict[str, Any] = {
        "the dataset Counting": Counting(4), "the source OwnSource": samples(source=OwnSource()),
        "the dataset OwnFolder": Subset(OwnFolder(np.zeros((9, 8, 8, 3), np.uint8), recipe), [1]),
        "the dataset Gathering": Gathering(4), "the step OwnStep": ConcatDataset([samples(), own_step]),
    }  # fmt: skip
    for reason, ds in own.items():
        choice = ar.loader(ds).choice
        assert choice.backend == "processes"
        assert choice.reason.startswith(reason)
    assert ar.loader(samples(), collate=list).choice.reason.startswith("the collate function")
    assert ar.loader(samples(), collate="list").backend == "threads"


def test_a_rule_that_sees_nothing_is_caught(own_step: ar.Samples, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_plan, "is_registered", lambda name: False)
    with pytest.raises(AssertionError):
        test_what_is_python_of_the_users_own(own_step)


def test_a_decision_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "augrecipes"):
        made = ar.loader(samples())
        assert [record.message for record in caplog.records] == [f"the loader reads with {made.choice}"]
        assert str(made.choice) == "threads:2 (no Python of your own takes part)"
        ar.loader(samples(), backend="threads"), ar.loader(samples(), num_workers=0)
    assert len(caplog.records) == 1  # where nothing was decided nothing is said


def test_processes_that_are_not_forked_are_not_started_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("augrecipes.data.loader.start_method", lambda context: "spawn")
    assert (ar.loader(Counting(4)).backend, ar.loader(samples()).backend) == ("batches", "threads")
    assert ar.loader(Counting(4), num_workers=1).backend == "processes"


@pytest.mark.parametrize(("ranks", "workers"), [("1", 8), ("4", 2), ("16", 1), ("", 8), ("many", 8), ("0", 8)])
def test_ranks_of_a_machine_share_its_cores(ranks: str, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_plan, "cores", lambda: 8)
    monkeypatch.setenv(LOCAL_RANKS, ranks)
    assert ar.loader(samples()).num_workers == workers
    assert ar.loader(samples(), num_workers=5).num_workers == 5


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, 6), ({"cpu.max": "max 100000"}, 6), ({"cpu.max": "150000 100000"}, 2), ({"cpu.max": "nonsense"}, 6),
        ({"cpu.max": "1000 100000"}, 1), ({"cpu.max": "900000 100000"}, 6),
        ({"cpu/cpu.cfs_quota_us": "300000", "cpu/cpu.cfs_period_us": "100000"}, 3),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 6),
    ],
)  # fmt: skip
def test_cores_are_those_of_a_container(
    files: dict[str, str], cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    monkeypatch.setattr(machine, "_CGROUPS", tmp_path)
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda _: set(range(6)), raising=False)
    assert machine.cores() == cores


def test_pinning_without_a_gpu_is_told(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    made = ar.loader(Counting(4))
    assert made.pin_memory is False
    assert caplog.text == ""
    assert ar.loader(Counting(4), pin_memory=True).pin_memory is False
    assert "there is no GPU" in caplog.text


def test_batches_are_pinned_where_there_is_a_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    chosen: list[int] = []
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 3)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda self, device=None: self.clone())
    asked = []
    monkeypatch.setattr(
        "augrecipes.data.fetch.empty_pinned", lambda *what: asked.append(what) or torch.empty(what[0], dtype=what[1])
    )
    for options in ({"num_workers": 0}, {"backend": "threads", "num_workers": 2}):
        made = ar.loader(Gathering(9), 3, **options)
        assert made.pin_memory is True
        assert [b["index"].tolist() for b in made] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
        assert asked.pop() == ((3, 3, 8, 8), torch.uint8)
    assert set(chosen) == {3}
    assert ar.loader(Gathering(9), pin_memory=False).pin_memory is False


# What people write who come from torchvision: refused with what is written instead.


_MAKERS = (ar.ImageFolder, ar.PairedImages, ar.TileBags, ar.SlideBags, ar.Samples, ar.Packed)


@pytest.mark.parametrize("make", _MAKERS)
@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("transform", "give a recipe, or `ar.from_albumentations(transform)`"),
        ("transforms", "give a recipe, or `ar.from_albumentations(transform)`"),
        ("target_transform", "labels come as they are"),
        ("train", "mode='eval'"),
        ("download", "nothing is downloaded"),
    ],
)
def test_what_other_datasets_take_is_refused_with_the_way_out(make: Any, word: str, said: str) -> None:
    with pytest.raises(TypeError, match=rf"^{make.__name__} takes no {word}=: .*{re.escape(said)}"):
        make("somewhere", **{word: None})


def test_a_transform_in_the_place_of_a_recipe_is_named(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"albumentations' Compose: ar\.from_albumentations\(it\)"):
        ar.ImageFolder(tmp_path, A.Compose([A.HorizontalFlip()]))  # type: ignore[arg-type]


# Boxes and keypoints that a recipe declares and the data has not are told before the first sample, once.


DECLARED = {
    "boxes": "boxes: {format: pascal_voc, labels: box_labels}",
    "keypoints": "keypoints: {format: xy}",
    "both": "boxes: {format: pascal_voc}, keypoints: {format: xy}",
}


def recipe(inputs: str) -> Any:
    steps = "[Resize: {height: 8, width: 8}, HorizontalFlip]"
    return parse_text(f"{{version: 1, recipe: declares, inputs: {{{inputs}}}, steps: {steps}, eval: []}}")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name in "ab":
        draw(tmp_path / "data" / name / "1.png", seed=1, size=(20, 20))
    return tmp_path / "data"


def check(told: list[str], name: str) -> None:
    (line,) = told
    words = ("boxes", "keypoints") if name == "both" else (name,)
    assert line.startswith(f"recipe 'declares' declares {' and '.join(words)}, and the data has none")


@pytest.mark.parametrize("name", DECLARED)
def test_what_the_data_has_not_is_told_once(data: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    declares, rows = recipe(DECLARED[name]), data / "rows.csv"
    rows.write_text("image\na/1.png\n")
    for opened in (
        lambda: ar.ImageFolder(data, declares),
        lambda: ar.ImageFolder(data, declares, mode="eval"),
        lambda: ar.ImageFolder(files=rows, recipe=declares),
        lambda: ar.pack(declares, str(data), data.parent / "store", workers=0),
        lambda: ar.Packed(data.parent / "store", declares),
    ):
        opened()
        check(caplog.messages, name)
        caplog.clear()
    rows.write_text('image,boxes\na/1.png,"[[1, 2, 5, 6]]"\n')
    ar.ImageFolder(files=rows, recipe=recipe("boxes: {format: pascal_voc}"))
    assert not caplog.messages


def test_what_is_required_is_an_error_and_what_is_not_declared_is_silent(
    data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ar.DataError, match="requires boxes"):
        ar.ImageFolder(data, recipe("boxes: {format: pascal_voc, presence: required}"))
    ar.ImageFolder(data, recipe("mask: optional"))
    ar.ImageFolder(data, recipe("boxes: absent"))
    assert not caplog.messages


def test_a_planted_fault_is_caught(data: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    monkeypatch.setattr("augrecipes.sources.arguments.warn_of_absent", lambda recipe, given: None)
    with pytest.raises(ValueError, match="not enough values"):
        test_what_the_data_has_not_is_told_once(data, "boxes", caplog)
