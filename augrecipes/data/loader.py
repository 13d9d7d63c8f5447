"""The loader: a torch DataLoader whose batches depend on seed and epoch alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal

from torch.utils.data import DataLoader

from augrecipes.compat.torch import with_batch_sampler
from augrecipes.data.batches.skips import Skipped
from augrecipes.data.checks import count
from augrecipes.data.loading.ahead import with_files_ahead
from augrecipes.data.loading.arguments import (
    choose_bytes,
    choose_collate,
    choose_pinned,
    choose_samples,
    choose_weights,
    length,
    start_method,
)
from augrecipes.data.loading.backends import Readers
from augrecipes.data.loading.budget import Budget
from augrecipes.data.loading.choice import Backend, Choice, chosen
from augrecipes.data.loading.described import described
from augrecipes.data.loading.outside import LoaderBatches, LoaderSampler
from augrecipes.data.loading.passes import Ledger, Opened, Pass
from augrecipes.data.loading.place import LoaderPosition
from augrecipes.data.loading.ranks import Ranks
from augrecipes.data.loading.sampled import SampledSchedule, check_sampler
from augrecipes.data.loading.sampler import BatchSchedule, orders
from augrecipes.data.loading.state import Dealt, dealt_by, fingerprint, restore, save
from augrecipes.data.loading.worker import WorkerInit
from augrecipes.display import Displayed

# Batches that are read ahead for each worker, unless `prefetch_factor` says otherwise: torch's own number.
_AHEAD = 2


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
        drop_last: leave out incomplete batches, and with several ranks the few samples that do not go round.
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
            See `augrecipes.data.batches.collate`.
        sampler: of positions, anything with a length that can be gone through: it says the order, once a pass, under
            random generators (its own, too) that seed and epoch decide, and its `set_epoch` is called. What comes again
            has draws of its own. Ranks share out what it says, unless it knows ranks itself (a DistributedSampler).
        batch_sampler: the same of batches, lists of positions: by buckets, of several tasks.
        weights: one number a sample: draw in proportion. `"balanced"` weighs every class alike. A dataset's own weight
            column is `ds.weights`; it is used when it is given here.
        replacement: False draws by weights without replacement: an epoch has every sample of positive weight once, the
            heavy ones early, or as many as samples_per_epoch says.
        samples_per_epoch: length of an epoch over all ranks. Beyond the dataset's length, samples are repeated with
            draws of their own; below it, an epoch is a part of a permutation (without shuffle: the first samples).
        in_order: False hands out a batch as soon as it is ready, so that no bag waits for a larger one.
        pin_memory: `auto` pins where there is a GPU.
        prefetch_bytes: how much threads may read ahead; unless it is said, 1 GiB, or a sixteenth of the memory where
            that is less. As many batches are under way as fit into it, were each as large as the largest so far, but at
            least one, and at most `prefetch_factor` (2) a thread. Processes read `prefetch_factor` batches each.
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
        LoaderError: while iterating: a worker died; says which, how, and what helps.
        ValueError, TypeError: an argument makes no sense.

    >>> import torch
    >>> from torch.utils.data import TensorDataset
    >>> batches = list(loader(TensorDataset(torch.arange(5)), batch_size=2))
    >>> [b[0].tolist() for b in batches]
    [[0, 1], [2, 3], [4]]
    """

    choice: Choice
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
        replacement: bool = True,
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
        self._ranks = Ranks(rank, world_size)
        drawn_by = choose_weights(weights, dataset)
        plan = BatchSchedule(
            n=length(dataset),
            batch_size=count("batch_size", batch_size, 1),
            seed=int(seed),
            shuffle=bool(shuffle),
            weights=drawn_by,
            replacement=bool(replacement),
            samples=choose_samples(samples_per_epoch, drawn_by, replacement),
            drop_last=bool(drop_last),
            rank=self._ranks.share.rank,
            world_size=self._ranks.share.world_size,
            even=bool(even),
        )
        if sampler is not None or batch_sampler is not None:
            check_sampler(
                sampler, batch_sampler, shuffle=shuffle, weights=weights, samples_per_epoch=samples_per_epoch,
                **({} if batch_sampler is None else {"drop_last": drop_last, "batch_size": batch_size != 1}),
            )  # fmt: skip
            plan = SampledSchedule(**vars(plan), sampler=sampler, batch_sampler=batch_sampler)
            size = getattr(batch_sampler, "batch_size", None)  # of most of them; each may have its own
            plan = replace(plan, batch_size=size) if isinstance(size, int) and size > 0 else plan
        if timeout < 0:
            raise ValueError(f"timeout must not be negative, got {timeout}")
        merge, method = choose_collate(collate_fn or collate, dataset), start_method(multiprocessing_context)
        for_processes = {"multiprocessing_context": multiprocessing_context, "worker_init_fn": worker_init_fn}
        choice = chosen(
            dataset, merge, backend=backend, num_workers=num_workers, method=method,
            of_processes=next((name for name, given in for_processes.items() if given is not None), None),
        )  # fmt: skip
        pin = choose_pinned(pin_memory)
        ahead = count("prefetch_factor", prefetch_factor or _AHEAD, 1)
        shared: dict[str, Any] = {"pin_memory": pin, "num_workers": 0}
        if choice.backend == "processes":
            # Starting a process afresh takes seconds: such workers stay, unless the user says otherwise.
            stay = method != "fork" if persistent_workers is None else persistent_workers
            shared |= {
                "num_workers": choice.workers,
                "worker_init_fn": WorkerInit(tune_allocator, worker_init_fn),
                "in_order": in_order,
                "persistent_workers": stay,
                "multiprocessing_context": multiprocessing_context or method,
                "prefetch_factor": ahead,
                "timeout": timeout,
            }
        self._plan, self._place = plan, LoaderPosition(dataset)
        self._sampler: Any = LoaderSampler(plan, self._place, dataset)
        budget = Budget(
            choose_bytes(prefetch_bytes, choice.backend),
            most=ahead * max(1, choice.workers),
            # Nothing is known of a batch that others may overtake, and they do not wait for it.
            first=1 if in_order else max(1, choice.workers),
        )
        options = {**shared, **torch_options}
        self._readers = Readers(
            choice,
            dataset,
            merge,
            plan,
            budget,
            tune=tune_allocator,
            in_order=in_order,
            timeout=timeout,
            options=options,
        )
        self._ledger = Ledger(self._place, self._readers)
        super().__init__(
            dataset,
            batch_size=plan.batch_size,
            sampler=self._sampler,
            drop_last=plan.drop_last,
            collate_fn=merge,
            **options,
        )
        self._in_order = bool(in_order)
        self.choice, self.backend, self.num_workers = choice, choice.backend, choice.workers
        with_batch_sampler(self, batch_sampler or LoaderBatches(self._sampler, plan.batch_size, plan.drop_last))

    def __repr__(self) -> str:
        return f"<Loader {', '.join(self.facts)} of {self.dataset!r}>"

    @property
    def facts(self) -> list[str]:
        """What it loads, and who reads, in words."""
        return described(self._plan, self.choice, len(self), self.epoch)

    def next_indices(self) -> list[int]:
        """Indices of the samples that come next; none where a sampler of somebody else's says them, or all are done."""
        self._look()
        start = self._place.start
        if isinstance(self._plan, SampledSchedule):
            return []
        return next((order.indices.tolist() for order in orders(self._plan, start.epoch, start.read, start.ahead)), [])

    @property
    def skipped(self) -> list[Skipped]:
        """Records of samples of the pass under way, or of the last one, that could not be read and were replaced.

        And of tiles that were left out of their bags (datasets with `on_error="skip"`). Cleared when a pass begins.
        """
        return self._ledger.skipped

    @property
    def epoch(self) -> int:
        """The epoch of the pass under way, or of the next pass when none is."""
        self._look()
        return self._place.progress.epoch

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the next pass runs. Where a state of this very epoch was loaded, the pass resumes there."""
        self._place.set_epoch(epoch)

    def __len__(self) -> int:
        """Batches in a whole epoch of this rank."""
        self._look()
        return self._plan.batches

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        return Pass(self._ledger, self._opened)

    def _opened(self) -> Opened:
        self._look()
        start = self._place.start
        wanted = with_files_ahead(self.dataset, orders(self._plan, start.epoch, start.read, start.ahead))
        return Opened(self._readers.read(wanted, start.epoch), start, self._plan.step)

    def close(self) -> None:
        """End worker processes that stayed from pass to pass now, not when the loader is collected as garbage.

        A pass that they were reading for cannot go on. The loader can be used again: its next pass starts new ones.
        """
        self._readers.close()

    def _look(self) -> None:
        """Follow ranks and epochs that were said since the loader last looked."""
        if (share := self._ranks.look(midway=bool(self._place.start.ahead))) is not None:
            self._plan = replace(self._plan, rank=share.rank, world_size=share.world_size)
            self._sampler.plan = self._readers.plan = self._plan
        self._place.look()

    @property
    def _is_accelerate_prepared(self) -> bool:
        """What accelerate's prepare() asks first: it divides the batches by ranks itself, and so gets those of all."""
        self._sampler.taken_apart = True
        return False

    # -- states -------------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Where the loader stands: epoch, samples handed out (prefetched ones do not count), and what it belongs to.

        Plain numbers and text, for `torch.save` or JSON. Ranks go in step: any rank's state serves all, and as many
        ranks as there are when it is loaded. But with `in_order=False` and several ranks each state is its own rank's.
        """
        self._look()
        return save(self._place.progress, self._plan, self._dealt, fingerprint(self._plan, self.dataset))

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Let the next pass go on where `state` was taken; samples before it are not read again.

        What is left of the epoch is shared out among the ranks that there are now, in batches of this loader's size.

        Raises:
            LoaderError: the state was taken from a loader of other samples, or another order; names what differs.
        """
        self._look()
        self._place.move(restore(state, self._plan, self._dealt, fingerprint(self._plan, self.dataset)))

    @property
    def _dealt(self) -> Dealt:
        return dealt_by(self._plan, in_step=self._in_order or self.num_workers <= 1)


# As functions are written: a loader is made of a dataset.
loader = Loader
