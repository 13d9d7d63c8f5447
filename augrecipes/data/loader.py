"""The loader: a torch DataLoader whose batches depend on seed and epoch alone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal

from torch.utils.data import DataLoader

from augrecipes.data import checks, epochs, passes, processes, threads
from augrecipes.data.collate import collate_for
from augrecipes.data.order import BatchSchedule, Share, share_of, weights_of
from augrecipes.data.reader_plan import Backend, ReaderPlan, pins_memory, plan_readers, start_method
from augrecipes.data.samplers import LoaderBatches, LoaderSampler, SampledSchedule, ranks_of, schedule_by
from augrecipes.data.state import LoaderPosition, fingerprint, restore, save
from augrecipes.errors import counted
from augrecipes.report import Displayed
from augrecipes.sources.opened import check_items

# Batches that are read ahead for each worker, unless `prefetch_factor` says otherwise: torch's own number; and how many
# bytes threads read ahead at most, unless `prefetch_bytes` does: eight batches of 256 float32 images of 224².
_AHEAD, _MOST_BYTES = 2, 1 << 30
_WHO = {"threads": "thread", "processes": "process"}
_log = logging.getLogger("augrecipes")


class Loader(Displayed, DataLoader[Any]):
    """Load batches that depend on (dataset, seed, epoch) alone.

    Not on the number of workers, how they were started, where a run was resumed, or anyone's random state. The result
    is a torch DataLoader. Every pass runs the next epoch: 0, 1, 2, ... A pass from which a batch was taken counts,
    finished or not. `set_epoch(e)`, of the loader or of the dataset, says that the next pass runs epoch e, also where
    that pass was asked for already, and no batch was.

    Args:
        dataset: an ImageFolder, PairedImages or TileBags, torch's Subset or ConcatDataset over some, or any dataset
            with a length; `set_epoch(epoch)` of a dataset of yours is called before each pass, wherever it is read.
        batch_size: samples in a batch.
        num_workers: how many threads read, or processes (see `backend`); 0: this thread. None and `"auto"`: one for
            each core that this process may use, divided by the ranks on this machine (torchrun's LOCAL_WORLD_SIZE).
        backend: `threads`: in threads of this process, all of which work on the batch that is due first. `processes`:
            in workers, each of which makes whole batches. `batches`: in this thread, when a batch is asked for. None:
            threads, but processes where Python of your own takes part (docs/LOADING.md); the log has a line.
        shuffle: a new permutation every epoch, the same in every run.
        seed: of the permutation and of weighted draws; the augmentation has the dataset's seed.
        drop_last: leave out incomplete batches, and with several ranks the few samples that do not go round; an error
            where nothing would be left.
        rank: which share this process reads. Ranks take batches in turns, so that batch k of an epoch is the same
            whatever their number; the last round, where it is not whole, is shared out in equal pieces. Unless it is
            said, it is that of torch.distributed, or of torchrun's environment (RANK, WORLD_SIZE), also where those are
            set up after the loader; a line in the log says so.
        world_size: number of shares; together they hold every sample of the epoch.
        even: every rank has equally many samples and batches: where samples do not go round, up to world_size - 1
            more, with draws of their own, are added from the epoch's beginning (`index` tells: it is len(dataset) or
            more). False: every sample once, and some ranks have one sample, and so maybe one batch, more.
        collate: `default` stacks and refuses what does not fit, `list` keeps tensors as lists, `pad` enlarges images
            and masks, fills bags up with empty tiles, and adds a padding mask, a function gets the list of samples.
            See `augrecipes.data.collate`. Batches of a recipe with `batch:` are mixed, see `augrecipes.data.collate`.
        sampler: of positions, anything with a length that can be gone through: it says the order, once a pass, under
            global random generators, and a `generator=` of torch's, that seed and epoch decide; its `set_epoch` is
            called. What comes again has draws of its own. Ranks share out what it says, unless it knows ranks itself (a
            DistributedSampler).
        batch_sampler: the same of batches, lists of positions: by buckets, of several tasks.
        weights: one number a sample: draw in proportion. `"balanced"` weighs every class alike. A dataset's own weight
            column is `ds.weights`; it is used when it is given here.
        samples_per_epoch: length of an epoch over all ranks. Beyond the dataset's length, samples are repeated with
            draws of their own; below it, an epoch is a part of a permutation (without shuffle: the first samples).
        in_order: False hands out a batch as soon as it is ready, so that no bag waits for a larger one; then there are
            states between epochs alone.
        pin_memory: `auto` pins where there is a GPU.
        prefetch_bytes: how much threads may read ahead; unless it is said, 1 GiB. As many batches are under way as fit
            into it, were each as large as the largest so far, but at least one, and at most `prefetch_factor` (2) a
            thread. Processes read `prefetch_factor` batches each.
        persistent_workers: None keeps processes that were not forked.
        tune_allocator: False leaves glibc's allocator as it is.
        collate_fn: `collate` by torch's name for it.
        torch_options: these, `multiprocessing_context`, `timeout`, and `worker_init_fn` (in processes) are torch's.

    Attributes:
        choice: which backend reads, with how many workers, and why.
        backend: `batches`, `threads` or `processes`.
        num_workers: how many threads or processes; 0 with `batches`.

    Raises:
        DataError: while iterating: a sample cannot be read (and the dataset has `on_error="raise"`).
        CollateError: while iterating: samples do not fit together.
        LoaderError: while iterating: a worker died; says which, how, and what helps. Or the pass is another process's,
            or read by another thread.
        ValueError, TypeError: an argument makes no sense; the dataset is a stream.

    >>> import torch
    >>> from torch.utils.data import TensorDataset
    >>> batches = list(loader(TensorDataset(torch.arange(5)), batch_size=2))
    >>> [b[0].tolist() for b in batches]
    [[0, 1], [2, 3], [4]]
    """

    choice: ReaderPlan
    backend: Backend

    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        *,
        num_workers: int | Literal["auto"] | None = None,
        backend: Backend | None = None,
        shuffle: bool = False,
        seed: int = 0,
        drop_last: bool = False,
        rank: int | None = None,
        world_size: int | None = None,
        even: bool = True,
        collate: Literal["default", "list", "pad"] | Callable[[list[Any]], Any] = "default",
        sampler: Any = None,
        batch_sampler: Any = None,
        weights: Any = None,
        samples_per_epoch: int | None = None,
        in_order: bool = True,
        pin_memory: bool | Literal["auto"] = "auto",
        prefetch_bytes: int | None = None,
        persistent_workers: bool | None = None,
        multiprocessing_context: Any = None,
        prefetch_factor: int | None = None,
        timeout: float = 0,
        tune_allocator: bool = True,
        worker_init_fn: Callable[[int], None] | None = None,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        **torch_options: Any,
    ) -> None:
        if timeout < 0:
            raise ValueError(f"timeout must not be negative, got {timeout}")
        if not hasattr(dataset, "__getitems__"):
            check_items(dataset)
        if not len(dataset):
            raise ValueError("the dataset is empty")
        share = Share() if rank is None and world_size is None else share_of(rank, world_size)
        schedule = BatchSchedule(
            n=len(dataset),
            batch_size=checks.count("batch_size", batch_size, 1),
            seed=int(seed),
            shuffle=bool(shuffle),
            weights=weights_of(weights, dataset),
            samples=None if samples_per_epoch is None else checks.count("samples_per_epoch", samples_per_epoch, 1),
            drop_last=bool(drop_last),
            rank=share.rank,
            world_size=share.world_size,
            even=bool(even),
        )
        if sampler is not None or batch_sampler is not None:
            others = {"shuffle": shuffle, "weights": weights, "samples_per_epoch": samples_per_epoch}
            schedule = schedule_by(sampler, batch_sampler, schedule, **others)
        finds_rank = rank is None and not (isinstance(schedule, SampledSchedule) and ranks_of(schedule.sampler))
        merge, method = collate_for(collate_fn or collate, dataset), start_method(multiprocessing_context)
        for_processes = {"multiprocessing_context": multiprocessing_context, "worker_init_fn": worker_init_fn}
        choice = plan_readers(
            dataset, merge, backend=backend, num_workers=num_workers, method=method,
            process_option=next((name for name, value in for_processes.items() if value is not None), None),
        )  # fmt: skip
        ahead, workers = checks.count("prefetch_factor", prefetch_factor or _AHEAD, 1), max(1, choice.workers)
        limit = _MOST_BYTES if prefetch_bytes is None else checks.count("prefetch_bytes", prefetch_bytes, 1)
        options: dict[str, Any] = {"pin_memory": pins_memory(pin_memory), "num_workers": 0}
        if choice.backend == "processes":
            if prefetch_bytes is not None:
                _log.warning("prefetch_bytes is for threads: processes read prefetch_factor batches each ahead")
            options |= {
                "num_workers": choice.workers,
                "worker_init_fn": partial(processes.settle_in, tune_allocator, worker_init_fn),
                "in_order": in_order,
                # Starting a process afresh takes seconds: such workers stay, unless the user says otherwise.
                "persistent_workers": method != "fork" if persistent_workers is None else persistent_workers,
                "multiprocessing_context": multiprocessing_context or method,
                "prefetch_factor": ahead,
                "timeout": timeout,
            }
        options |= torch_options
        self._position = LoaderPosition(schedule, dataset, finds_rank=finds_rank)
        self._sampler: Any = LoaderSampler(self._position, dataset)
        # Nothing is known of a batch that others may overtake, and they do not wait for it.
        budget = threads.Budget(limit, ahead * workers, first=1 if in_order else workers)
        self._readers = passes.ReaderBackend(choice, dataset, merge, budget, tune_allocator, in_order, timeout, options)
        super().__init__(
            dataset,
            batch_size=schedule.batch_size,
            sampler=self._sampler,
            drop_last=schedule.drop_last,
            collate_fn=merge,
            **options,
        )
        self._in_order = bool(in_order) or workers == 1
        self.choice, self.backend, self.num_workers = choice, choice.backend, choice.workers
        # Besides the sampler, which torch lets nobody do.
        batches = batch_sampler or LoaderBatches(self._sampler, schedule.batch_size, schedule.drop_last)
        self.__dict__["batch_sampler"] = batches

    def __repr__(self) -> str:
        return f"<Loader {', '.join(self.facts)} of {self.dataset!r}>"

    @property
    def facts(self) -> list[str]:
        """What it loads, and who reads, in words."""
        schedule, choice = self._schedule, self.choice
        order = "weighted" if schedule.weights is not None else "shuffled" if schedule.shuffle else "in order"
        who = counted(choice.workers, _WHO.get(choice.backend, "reader")) if choice.workers else "no workers"
        ranks = [f"rank {schedule.rank} of {schedule.world_size}"] if schedule.world_size > 1 else []
        sizes = f"{counted(schedule.batches, 'batch')} of {schedule.batch_size}"
        return [sizes, order, who, f"seed {schedule.seed}", f"epoch {self.epoch}", *ranks]

    @property
    def _schedule(self) -> BatchSchedule:
        """What makes up which batch, for the ranks that there are now."""
        self._position.look()
        return self._position.schedule

    @property
    def skipped(self) -> list[epochs.Skipped]:
        """Records of samples of the pass under way, or of the last one, that could not be read and were replaced.

        And of tiles that were left out of their bags (datasets with `on_error="skip"`). Cleared when a pass begins.
        """
        return self._position.skipped

    @property
    def epoch(self) -> int:
        """The epoch of the pass under way, or of the next pass when none is."""
        self._position.look()
        return self._position.progress.epoch

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the next pass runs. Where a state of this very epoch was loaded, the pass resumes there."""
        self._position.set_epoch(epoch)

    def __len__(self) -> int:
        """Batches in a whole epoch of this rank."""
        return self._schedule.batches

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        return passes.EpochIterator(self._position, self._readers)

    def close(self) -> None:
        """End worker processes that stayed from pass to pass now, not when the loader is collected as garbage.

        A pass that they were reading for cannot go on. The loader can be used again: its next pass starts new ones.
        """
        self._readers.close()

    @property
    def _is_accelerate_prepared(self) -> bool:
        """What accelerate's prepare() asks first: it divides the batches by ranks itself, and so gets those of all."""
        self._sampler.is_divided = True
        return False

    def state_dict(self) -> dict[str, Any]:
        """Where the loader stands: epoch, samples handed out (prefetched ones do not count), and what it belongs to.

        Plain numbers and text, for `torch.save` or JSON. Ranks go in step: any rank's state serves all, and as many
        ranks as there are when it is loaded.

        Raises:
            LoaderError: in the middle of an epoch, with `in_order=False` and several workers.
        """
        schedule = self._schedule
        return save(self._position.progress, schedule, fingerprint(schedule, self.dataset), in_order=self._in_order)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Let the next pass go on where `state` was taken; samples before it are not read again.

        What is left of the epoch is shared out among the ranks that there are now, in batches of this loader's size.

        Raises:
            LoaderError: the state was taken from a loader of other samples, or another order; names what differs.
        """
        schedule = self._schedule
        self._position.move(restore(state, schedule, fingerprint(schedule, self.dataset)))


# As functions are written: a loader is made of a dataset.
loader = Loader
