"""The loader: a torch DataLoader whose batches depend on seed and epoch alone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any, Literal, cast

import torch
from torch.utils.data import DataLoader

from augrecipes.compiler.seeds import mix
from augrecipes.data import allocator
from augrecipes.data.arguments import choose_collate, choose_weights, count, length
from augrecipes.data.epoch import check_epoch, clocks
from augrecipes.data.fetch import Collator, Fetcher
from augrecipes.data.passes import Pass
from augrecipes.data.sampler import Batches, EpochSampler, Plan
from augrecipes.data.skips import Skipped, told
from augrecipes.data.state import Progress, fingerprint, restore, save
from augrecipes.data.worker import WorkerInit

_log = logging.getLogger("augrecipes")
_OURS = {
    "sampler": "weights=, shuffle= or ds.subset(indices)",
    "batch_sampler": "batch_size=",
    "collate_fn": "collate=",
}


class Loader(DataLoader[Any]):
    """See `loader`, which makes one.

    Attributes:
        skipped: records of samples of the pass under way, or of the last one, that could not be read and were
            replaced, and of tiles that were left out of their bags (datasets with `on_error="skip"`). Cleared when a
            pass begins.
    """

    skipped: list[Skipped]

    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        *,
        num_workers: int = 0,
        shuffle: bool = False,
        seed: int = 0,
        drop_last: bool = False,
        rank: int = 0,
        world_size: int = 1,
        collate: Literal["default", "list", "pad"] | Callable[[list[Any]], Any] = "default",
        weights: Any = None,
        samples_per_epoch: int | None = None,
        in_order: bool = True,
        pin_memory: bool = False,
        persistent_workers: bool | None = None,
        multiprocessing_context: Any = None,
        prefetch_factor: int | None = None,
        timeout: float = 0,
        tune_allocator: bool = True,
        worker_init_fn: Callable[[int], None] | None = None,
        **torch_options: Any,
    ) -> None:
        for name, instead in _OURS.items():
            if torch_options.pop(name, None) is not None:
                raise TypeError(f"the loader brings its own {name}; use {instead}")
        plan = Plan(
            n=length(dataset),
            batch_size=count("batch_size", batch_size, 1),
            seed=int(seed),
            shuffle=bool(shuffle),
            weights=choose_weights(weights, dataset),
            samples=None if samples_per_epoch is None else count("samples_per_epoch", samples_per_epoch, 1),
            drop_last=bool(drop_last),
            rank=count("rank", rank, 0),
            world_size=count("world_size", world_size, 1),
        )
        if plan.rank >= plan.world_size:
            raise ValueError(f"rank must be below world_size, got rank {rank} of {world_size}")
        if timeout < 0 or num_workers < 0:
            raise ValueError(f"timeout and num_workers must not be negative, got {timeout} and {num_workers}")
        workers: dict[str, Any] = {"worker_init_fn": WorkerInit(tune_allocator, worker_init_fn)}
        if num_workers:
            # Starting a process afresh takes seconds: such workers stay, unless the user says otherwise.
            method = multiprocessing_context or torch.multiprocessing.get_start_method()
            name = method if isinstance(method, str) else method.get_start_method()
            workers |= {
                "persistent_workers": name != "fork" if persistent_workers is None else persistent_workers,
                "multiprocessing_context": method,
                "prefetch_factor": prefetch_factor,
                "timeout": timeout,
            }
        self._plan, self._sampler = plan, EpochSampler.of(plan)
        self._tune = tune_allocator
        # A generator of its own: reading must neither use nor disturb the user's random numbers.
        self._generator = torch.Generator()
        self._clocks = clocks(dataset)
        self._clock_marks = self._marks()
        self._progress = self._start = Progress(max((c.epoch for c in self._clocks), default=0))
        self._inner: tuple[DataLoader[Any], Batches] | None = None
        self.skipped = []
        shared = {"num_workers": num_workers, "pin_memory": pin_memory, "in_order": in_order, **workers}
        super().__init__(
            dataset,
            batch_size=plan.batch_size,
            sampler=self._sampler,
            drop_last=plan.drop_last,
            collate_fn=choose_collate(collate, dataset),
            generator=self._generator,
            **shared,
            **torch_options,
        )
        self._options = {**shared, **torch_options}

    # -- epochs -------------------------------------------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        """The epoch of the pass under way, or of the next pass when none is."""
        self._look_at_clocks()
        return self._progress.epoch

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the next pass runs. Where a state of this very epoch was loaded, the pass resumes there."""
        epoch = check_epoch(epoch)
        if self._start is not self._progress or self._start.epoch != epoch:
            self._start = self._progress = Progress(epoch)
        self._clock_marks = self._marks()

    def _marks(self) -> list[int]:
        return [clock.changes for clock in self._clocks]

    def _look_at_clocks(self) -> None:
        """Follow a `set_epoch` of a dataset that came after the loader's own last one."""
        now = self._marks()
        for clock, seen, before in zip(self._clocks, now, self._clock_marks, strict=True):
            if seen != before:
                self.set_epoch(clock.epoch)
        self._clock_marks = now

    # -- passes -------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Batches in a whole epoch of this rank."""
        return self._plan.batches

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        self._look_at_clocks()
        start = self._start
        self._sampler.epoch = start.epoch
        inner, batches = self._inner or self._build()
        batches.begin(start.epoch, start.done, start.ahead)
        if self.persistent_workers:
            self._inner = inner, batches
        elif not self.num_workers and self._tune:
            allocator.tune()
        # Seeds what users' own code draws in workers: different in every epoch, equal in every run.
        self._generator.manual_seed(mix(self._plan.seed, start.epoch, self._plan.rank) >> 1)
        return Pass(self, iter(inner), start)

    def _build(self) -> tuple[DataLoader[Any], Batches]:
        batches = Batches(self._plan)
        inner: DataLoader[Any] = DataLoader(
            Fetcher(self.dataset),
            batch_sampler=batches,
            collate_fn=cast("Any", Collator(self.collate_fn)),  # it gets what Fetcher returns
            generator=self._generator,
            **self._options,
        )
        return inner, batches

    def _begun(self, progress: Progress) -> None:
        """The first batch is being asked for: the pass counts from here, and the next `iter` runs the next epoch."""
        self.skipped = []
        self._progress = progress
        self._start = Progress(progress.epoch + 1)

    def _finished(self, progress: Progress) -> None:
        if self._progress == progress and self._start == Progress(progress.epoch + 1):
            self._progress = self._start
        if self.skipped:
            _log.warning("epoch %d: %s", progress.epoch, told(self.skipped))

    def _give_up_workers(self) -> None:
        """Leave a broken set of workers; the next pass starts new ones."""
        self._inner = None

    # -- states -------------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Where the loader stands: epoch, batches handed out (prefetched ones do not count), and what it belongs to.

        Plain numbers and text, for `torch.save` or JSON.
        """
        self._look_at_clocks()
        return save(self._progress, fingerprint(self._plan, self.dataset))

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Let the next pass go on where `state` was taken; batches before it are not read again.

        Raises:
            LoaderError: the state was taken from a loader of other samples, order or batches; names what differs.
        """
        self._start = self._progress = restore(state, fingerprint(self._plan, self.dataset), self._plan.batches)
        self._clock_marks = self._marks()


def loader(
    dataset: Any,
    batch_size: int = 1,
    *,
    num_workers: int = 0,
    shuffle: bool = False,
    seed: int = 0,
    drop_last: bool = False,
    rank: int = 0,
    world_size: int = 1,
    collate: Literal["default", "list", "pad"] | Callable[[list[Any]], Any] = "default",
    weights: Any = None,
    samples_per_epoch: int | None = None,
    **options: Any,
) -> Loader:
    """Load batches that depend on (dataset, seed, epoch) alone.

    Not on the number of workers, how they were started, where a run was resumed, or anyone's random state. The result
    is a torch DataLoader. Every pass runs the next epoch: 0, 1, 2, ... A pass from which a batch was taken counts,
    finished or not. `set_epoch(e)`, of the loader or of the dataset, says that the next pass runs epoch e.

    Args:
        dataset: an ImageFolder, PairedImages or TileBags, torch's Subset or ConcatDataset over some, or any dataset
            with a length.
        batch_size: samples in a batch.
        num_workers: processes that read; 0 reads in this process. Options about workers are ignored then.
        shuffle: a new permutation every epoch, the same in every run.
        seed: of the permutation and of weighted draws; the augmentation has the dataset's seed.
        drop_last: leave out incomplete batches. With several ranks every rank then has equally many batches; without,
            some ranks may have one sample, and so one batch, more.
        rank: which shard this process reads; sample k of the epoch belongs to rank k % world_size.
        world_size: number of shards; together they hold every sample of the epoch once.
        collate: `default` stacks and refuses what does not fit, `list` keeps tensors as lists, `pad` enlarges images
            and masks, fills bags up with empty tiles, and adds a padding mask, a function gets the list of samples.
            See `augrecipes.data.collate`.
        weights: one number a sample: draw with replacement, in proportion. `"balanced"` weighs every class alike.
            A dataset's own weight column is `ds.weights`; it is used when it is given here.
        samples_per_epoch: length of an epoch over all ranks. Beyond the dataset's length, samples are repeated with
            draws of their own; below it, an epoch is a part of a permutation (without shuffle: the first samples).
        options: `in_order=False` hands out a batch as soon as it is ready, so that no bag waits for a larger one;
            `persistent_workers=None` keeps workers that were not forked; `tune_allocator=False` leaves glibc's
            allocator as it is; `pin_memory`, `multiprocessing_context`, `prefetch_factor`, `timeout`,
            `worker_init_fn` are torch's.

    Raises:
        DataError: while iterating: a sample cannot be read (and the dataset has `on_error="raise"`).
        CollateError: while iterating: samples do not fit together.
        LoaderError: while iterating: a worker died. Where that happens between two batches, torch itself raises a
            RuntimeError ("DataLoader worker ... is killed by signal") at whatever line the program has reached.
        ValueError, TypeError: an argument makes no sense.

    >>> import torch
    >>> from torch.utils.data import TensorDataset
    >>> batches = list(loader(TensorDataset(torch.arange(5)), batch_size=2))
    >>> [b[0].tolist() for b in batches]
    [[0, 1], [2, 3], [4]]
    """
    return Loader(
        dataset,
        batch_size,
        num_workers=num_workers,
        shuffle=shuffle,
        seed=seed,
        drop_last=drop_last,
        rank=rank,
        world_size=world_size,
        collate=collate,
        weights=weights,
        samples_per_epoch=samples_per_epoch,
        **options,
    )
