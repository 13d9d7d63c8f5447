"""Images, pairs and bags obey the same laws; and each law catches a dataset that breaks it."""

from __future__ import annotations

import itertools
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from support.kind_laws import LAWS, listing, run
from support.kinds import KINDS, Kind, N, by_kind, pixels, samples

from augrecipes.data.batching import Pool
from augrecipes.data.dataset import RecipeDataset
from augrecipes.data.loader import loader
from augrecipes.errors import DataError, LoaderError


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


class Fault(RecipeDataset):
    """A dataset with something wrong; mixed into a class of a kind."""


class DrawsFromAStream(Fault):
    """Draws depend on how many samples were read before."""

    _turns: Any

    def _read(self, epoch: int, virtual: int) -> dict[str, Any]:
        turns = self.__dict__.setdefault("_turns", [0])
        turns[0] += 1
        return {**super()._read(epoch, virtual + 1000 * N * turns[0]), "index": virtual}


class KnowsNoEpochs(Fault):
    def _read(self, epoch: int, virtual: int) -> dict[str, Any]:
        return super()._read(0, virtual)


class ForgetsItsIndex(Fault):
    def _read(self, epoch: int, virtual: int) -> dict[str, Any]:
        return {**super()._read(epoch, virtual), "index": virtual % N}


class HandsOutItsOwn(Fault):
    """Keeps its samples and hands out the same tensors again."""

    def _read(self, epoch: int, virtual: int) -> dict[str, Any]:
        kept = self.__dict__.setdefault("_kept", {})
        if (epoch, virtual, self.mode) not in kept:
            kept[epoch, virtual, self.mode] = super()._read(epoch, virtual)
        return dict(kept[epoch, virtual, self.mode])


class SubsetRenumbers(Fault):
    def subset(self, indices: Any, *, mode: Any = None) -> Any:
        made = super().subset(indices, mode=mode)
        made._order = torch.arange(len(made)).numpy()
        return made


class DrawsInEval(Fault):
    def subset(self, indices: Any, *, mode: Any = None) -> Any:
        return super().subset(indices)


class LosesItsSeed(Fault):
    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "pipeline": self.recipe.compile(self.mode, seed=self.seed + 1)}


class SwapsItsPath(Fault):
    def path(self, index: int) -> str:
        return super().path(index + 1)


class TakesOnlyInt(Fault):
    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(key if isinstance(key, int | tuple) else 0)


class ForgetsWeights(Fault):
    def _hold(self, table: Any, weights: Any, samples_per_epoch: int | None) -> None:
        super()._hold(table, None if weights is None else [1.0] * N, samples_per_epoch)


class SaysNothing(Fault):
    """Keeps the draws to itself."""

    def _read(self, epoch: int, virtual: int) -> dict[str, Any]:
        sample = super()._read(epoch, virtual)
        return {**sample, "applied": []} if "applied" in sample else sample


class SharesItsState(Fault):
    """Keeps what it is reading where other threads find it, as steps do that belong to one thread."""

    def _sample(self, row: int, epoch: int, virtual: int) -> dict[str, Any]:
        self._key = (row, epoch, virtual)
        time.sleep(0.002)
        return super()._sample(*self._key)  # type: ignore[safe-super]


class ReadsIntoOneBuffer(Fault):
    """Writes all samples to the same memory."""

    def _read(self, epoch: int, virtual: int) -> dict[str, Any]:
        sample, buffers = super()._read(epoch, virtual), self.__dict__.setdefault("_buffers", {})
        for key, value in sample.items():
            if isinstance(value, torch.Tensor):
                sample[key] = buffers.setdefault(key, value).copy_(value)
        return sample


class LeavesOneOut(Fault):
    def _read(self, epoch: int, virtual: int) -> dict[str, Any]:
        return super()._read(epoch, 0 if virtual == 5 else virtual)


FAULTS = {
    "keys_are_integers_of_any_sort": TakesOnlyInt,
    "a_sample_says_what_it_is": SwapsItsPath,
    "set_epoch_is_heard": DrawsFromAStream,
    "no_two_samples_share_their_draws": KnowsNoEpochs,
    "repeats_are_the_same_file_with_other_draws": ForgetsItsIndex,
    "workers_and_batches_do_not_matter": DrawsFromAStream,
    "backends_do_not_matter": SharesItsState,
    "batches_belong_to_the_user": ReadsIntoOneBuffer,
    "passes_can_be_resumed_at_any_batch": DrawsFromAStream,
    "shards_share_the_samples_out": DrawsFromAStream,
    "epochs_are_shuffled_differently": LeavesOneOut,
    "weights_draw_repeats_anew": ForgetsWeights,
    "subsets_keep_their_samples": SubsetRenumbers,
    "eval_draws_nothing": DrawsInEval,
    "views_pass_epochs_on": DrawsFromAStream,
    "pickles_read_alike": LosesItsSeed,
    "threads_do_not_matter": DrawsFromAStream,
    "samples_own_their_memory": HandsOutItsOwn,
    "records_replay_samples": SaysNothing,
}


@pytest.mark.parametrize(("kind", "law"), [*zip(itertools.cycle(KINDS), LAWS, strict=False)], ids=str)
def test_every_law_catches_a_planted_fault(roots: dict[str, Path], kind: Kind, law: str) -> None:
    wrong = globals()["Wrong"] = type("Wrong", (FAULTS[law], kind.dataset), {"__module__": __name__})

    def make(**options: Any) -> Any:
        return Kind("wrong", wrong, kind.recipe, kind.fill, kind.where, kind.files).open(
            roots[kind.name], **{"seed": 3, **options}
        )

    with pytest.raises(AssertionError):
        LAWS[law](make)
