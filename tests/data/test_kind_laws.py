"""Images, pairs and bags obey the same laws; and each law catches a dataset that breaks it."""

import itertools
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.kind_laws import LAWS, listing, run
from support.kinds import KINDS, Kind, N, by_kind, pixels, samples

from augrecipes import DataError, LoaderError, loader
from augrecipes.data.batching import Pool
from augrecipes.data.dataset import RecipeDataset


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
        made._keys.listed = np.arange(len(made))
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
    "set_epoch_is_heard": ("_read", of_a_stream),
    "no_two_samples_share_their_draws": ("_read", lambda real: lambda self, epoch, virtual: real(self, 0, virtual)),
    "repeats_are_the_same_file_with_other_draws": (
        "_read", lambda real: lambda self, epoch, virtual: {**real(self, epoch, virtual), "index": virtual % N},
    ),
    "backends_do_not_matter": ("_sample", shared_state),
    "batches_belong_to_the_user": ("_read", one_buffer),
    "passes_can_be_resumed_at_any_batch": ("_read", of_a_stream),
    "shards_share_the_samples_out": ("_read", of_a_stream),
    "epochs_are_shuffled_differently": (
        "_read", lambda real: lambda self, epoch, virtual: real(self, epoch, 0 if virtual == 5 else virtual),
    ),
    "weights_draw_repeats_anew": (
        "__init__",
        lambda real: lambda self, *args, weights=None, **how: real(
            self, *args, weights=weights and [1.0] * N, **how
        ),
    ),
    "subsets_keep_their_samples": ("subset", renumbered),
    "eval_draws_nothing": ("subset", lambda real: lambda self, indices, **_: real(self, indices)),
    "views_pass_epochs_on": ("_read", of_a_stream),
    "pickles_read_alike": (
        "__getstate__",
        lambda _: lambda self: {**vars(self), "pipeline": self.recipe.compile(self.mode, seed=self.seed + 1)},
    ),
    "threads_do_not_matter": ("_read", of_a_stream),
    "samples_own_their_memory": ("_read", its_own),
    "records_replay_samples": (
        "_read",
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
