"""The loader: a torch DataLoader whose batches depend only on seed and epoch."""

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
from augrecipes.errors import counted, logger
from augrecipes.report import Displayed
from augrecipes.sources.opened import check_items

# Defaults of `prefetch_factor` (torch's own) and `prefetch_bytes` (eight batches of 256 float32 images of 224²).
_AHEAD, _MOST_BYTES = 2, 1 << 30
_READER_TITLES = {"threads": "thread", "processes": "process"}


class Loader(Displayed, DataLoader[Any]):
    """A torch DataLoader whose batches depend only on (dataset, seed, epoch).

    They do not depend on the number of workers, their start method, where a run was resumed, or the state of any random
    generator. Every pass runs the next epoch: 0, 1, 2, ... A pass counts once it has yielded a batch, finished or not.
    `set_epoch(e)`, of the loader or of the dataset, makes the next pass run epoch e, even if its iterator exists
    already, as long as it has yielded no batch.

    Args:
        dataset: an ImageFolder, PairedImages, TileBags or other dataset of ours, torch's Subset or ConcatDataset over
            some, or any dataset with a length; if yours has `set_epoch(epoch)`, it is called before each pass, wherever
            it is read.
        batch_size: samples per batch.
        num_workers: the number of threads or processes (see `backend`); 0: read in this thread. None and `"auto"`: one
            per core that this process may use, divided by the ranks on this machine (torchrun's LOCAL_WORLD_SIZE).
        backend: `threads`: threads of this process, which all work on the batch that is due first. `processes`:
            workers, each of which makes whole batches. `batches`: this thread, on demand. None: threads, or processes
            if your own Python takes part (docs/LOADING.md); the log says which.
        shuffle: draw a new permutation every epoch, the same in every run.
        seed: of the permutation and of weighted draws; the augmentation has the dataset's seed.
        drop_last: leave out incomplete batches, and with several ranks the few samples that do not divide evenly; an
            error if nothing would be left.
        rank: the share that this process reads. Ranks take batches in turns, so that batch k of an epoch is the same
            for any number of ranks; an incomplete last round is divided into equal pieces. By default the rank of
            torch.distributed or of torchrun's environment (RANK, WORLD_SIZE), even if these are set up after the
            loader; the log says so.
        world_size: the number of shares; together they hold every sample of the epoch.
        even: give every rank the same number of samples and batches: if samples do not divide evenly, up to
            world_size - 1 are repeated from the epoch's beginning, with draws of their own (their `index` is
            len(dataset) or more). False: every sample once; some ranks have one sample, and perhaps one batch, more.
        collate: `default` stacks, and refuses what does not fit; `list` keeps tensors as lists; `pad` enlarges images
            and masks, fills bags up with empty tiles, and adds a padding mask; a function gets the list of samples.
            Batches of a recipe with `batch:` are mixed. See `augrecipes.data.collate`.
        sampler: an iterable of positions with a length, which decides the order. It is iterated once per pass, after
            its `set_epoch`, with all global random generators and its own `generator=` seeded by seed and epoch. A
            position that comes again has draws of its own. Ranks divide its order, unless it divides by ranks itself
            (a DistributedSampler).
        batch_sampler: the same for batches, lists of positions: for buckets or several tasks.
        weights: sampling weights, one number per sample. `"balanced"` gives every class the same weight. A dataset's
            own weight column is `ds.weights`; pass it here to use it.
        samples_per_epoch: length of an epoch over all ranks. Beyond the dataset's length, samples are repeated with
            draws of their own; below it, an epoch is a part of a permutation (without shuffle: the first samples).
        in_order: False yields a batch as soon as it is ready, so that small bags do not wait for a large one; then
            states can be saved only between epochs.
        pin_memory: `auto` pins memory if there is a GPU.
        prefetch_bytes: how many bytes threads may read ahead, by default 1 GiB. Each batch counts as the largest so
            far; at least one batch and at most `prefetch_factor` (2) per thread are in flight. Processes read
            `prefetch_factor` batches each.
        persistent_workers: None keeps processes that were not forked.
        tune_allocator: False leaves glibc's allocator as it is.
        collate_fn: torch's name for `collate`.
        torch_options: arguments of torch's DataLoader, as are `multiprocessing_context`, `timeout`, and
            `worker_init_fn` (in processes).

    Attributes:
        choice: the backend, its number of workers, and the reason.
        backend: `batches`, `threads` or `processes`.
        num_workers: the number of threads or processes; 0 with `batches`.

    Raises:
        DataError: while iterating: a sample cannot be read (and the dataset has `on_error="raise"`).
        CollateError: while iterating: samples do not fit together.
        LoaderError: while iterating: a worker died; the message says which, how, and the cure. Or another process or
            thread uses the iterator.
        ValueError, TypeError: an argument is out of range, or contradicts another; or the dataset is a stream.

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
                logger.warning("prefetch_bytes is for threads: processes read prefetch_factor batches each ahead")
            options |= {
                "num_workers": choice.workers,
                "worker_init_fn": partial(processes.init_worker, tune_allocator, worker_init_fn),
                "in_order": in_order,
                # Spawning a process takes seconds: by default such workers persist.
                "persistent_workers": method != "fork" if persistent_workers is None else persistent_workers,
                "multiprocessing_context": multiprocessing_context or method,
                "prefetch_factor": ahead,
                "timeout": timeout,
            }
        options |= torch_options
        self._position = LoaderPosition(schedule, dataset, finds_rank=finds_rank)
        self._sampler: Any = LoaderSampler(self._position, dataset)
        # Out of order, all workers start at once: the size of the first batch is known only after others.
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
        # torch forbids to set both a sampler and a batch sampler.
        batches = batch_sampler or LoaderBatches(self._sampler, schedule.batch_size, schedule.drop_last)
        self.__dict__["batch_sampler"] = batches

    def __repr__(self) -> str:
        return f"<Loader {', '.join(self.facts)} of {self.dataset!r}>"

    @property
    def facts(self) -> list[str]:
        """What is loaded, and by what, in words."""
        schedule, choice = self._schedule, self.choice
        order = "weighted" if schedule.weights is not None else "shuffled" if schedule.shuffle else "in order"
        who = counted(choice.workers, _READER_TITLES.get(choice.backend, "reader")) if choice.workers else "no workers"
        ranks = [f"rank {schedule.rank} of {schedule.world_size}"] if schedule.world_size > 1 else []
        sizes = f"{counted(schedule.batches, 'batch')} of {schedule.batch_size}"
        return [sizes, order, who, f"seed {schedule.seed}", f"epoch {self.epoch}", *ranks]

    @property
    def _schedule(self) -> BatchSchedule:
        """Which samples make up which batch, for the current rank and number of ranks."""
        self._position.update()
        return self._position.schedule

    @property
    def skipped(self) -> list[epochs.Skipped]:
        """Records of the samples of the current or last pass that could not be read and were replaced.

        Also of tiles that were left out of their bags (datasets with `on_error="skip"`). Cleared when a pass begins.
        """
        return self._position.skipped

    @property
    def epoch(self) -> int:
        """The epoch of the current pass, or of the next one if there is none."""
        self._position.update()
        return self._position.progress.epoch

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next pass. If a state of this very epoch was loaded, the pass resumes there."""
        self._position.set_epoch(epoch)

    def __len__(self) -> int:
        """The number of batches of this rank in a whole epoch."""
        return self._schedule.batches

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        return passes.EpochIterator(self._position, self._readers)

    def close(self) -> None:
        """End persistent worker processes now, rather than when the loader is garbage collected.

        A pass that they read for cannot continue. The loader can be used again: its next pass starts new processes.
        """
        self._readers.close()

    @property
    def _is_accelerate_prepared(self) -> bool:
        """False. accelerate's prepare() asks this first; as it divides batches by ranks, it gets those of all ranks."""
        self._sampler.is_divided = True
        return False

    def state_dict(self) -> dict[str, Any]:
        """The state of the loader: the epoch, the samples delivered (not prefetched ones), and a fingerprint.

        It has plain numbers and text, for `torch.save` or JSON. Ranks go in step: any rank's state serves all ranks,
        and any number of ranks when it is loaded.

        Raises:
            LoaderError: in the middle of an epoch, with `in_order=False` and several workers.
        """
        schedule = self._schedule
        return save(self._position.progress, schedule, fingerprint(schedule, self.dataset), in_order=self._in_order)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Let the next pass resume where `state` was saved; samples before it are not read again.

        The rest of the epoch is divided among the current ranks, in batches of this loader's size.

        Raises:
            LoaderError: the state belongs to a loader of other samples or another order; names the differences.
        """
        schedule = self._schedule
        self._position.move(restore(state, schedule, fingerprint(schedule, self.dataset)))


# In lower case, since it is called like a function: `ar.loader(dataset)`.
loader = Loader
