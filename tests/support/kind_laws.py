"""Laws of datasets of every kind: functions that raise AssertionError if a law is broken.

Each takes `make(**options)`, which opens a dataset of 12 samples, with a `mode` or `seed` in some.
"""

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from torch.utils.data import ConcatDataset, Subset, random_split

from augrecipes.data.loader import Loader, loader
from support.datasets import Wrapped
from support.kinds import N, arrays, pixels, samples

Make = Callable[..., Any]
Law = Callable[[Make], None]
LAWS: dict[str, Law] = {}


def law(function: Law) -> Law:
    LAWS[function.__name__] = function
    return function


def listing(ds: Any, batch_size: int = 1, **options: Any) -> Loader:
    return loader(ds, batch_size, collate="list", **{"num_workers": 0, "multiprocessing_context": "fork", **options})


def run(ds: Any, batch_size: int = 1, **options: Any) -> list[bytes]:
    """Return the samples of a pass, in order."""
    return [pixels(sample) for sample in samples(listing(ds, batch_size, **options))]


def direct(ds: Any, epoch: int = 0) -> list[bytes]:
    """Return the samples of an epoch, read without a loader."""
    return [pixels(ds[epoch, i]) for i in range(len(ds))]


def drawn(sample: dict[str, Any]) -> bytes:
    """Return the pixels of a sample, without its coordinates."""
    return b"".join(value.tobytes() for key, value in sorted(arrays(sample).items()) if key != "coords")


@law
def keys_are_integers_of_any_sort(make: Make) -> None:
    ds = make()
    for key in (np.int64(5), torch.tensor(5), -7, (0, 5), (np.int64(0), -7)):
        assert pixels(ds[key]) == pixels(ds[5])


@law
def a_sample_says_what_it_is(make: Make) -> None:
    ds = make()
    for i in (0, 5):
        sample = ds[i]
        assert (sample["index"], sample["path"]) == (i, ds.path(i))
        assert ds.labels is None or sample["label"] == ds.labels[i]


@law
def set_epoch_is_heard(make: Make) -> None:
    ds = make()
    first, part = pixels(ds[5]), ds.subset([5])
    ds.set_epoch(2)
    assert pixels(ds[5]) == pixels(ds[2, 5]) == pixels(part[0])
    assert pixels(ds[0, 5]) == first


@law
def no_two_samples_share_their_draws(make: Make) -> None:
    """Other epochs, seeds and repeats give other draws for the same file."""
    ds, other = make(), make(seed=4)
    same_files = [drawn(ds[0, 5]), drawn(ds[1, 5]), drawn(ds[0, 5 + N]), drawn(ds[0, 5 + 2 * N]), drawn(other[0, 5])]
    assert len(set(same_files)) == len(same_files)


@law
def repeats_are_the_same_file_with_other_draws(make: Make) -> None:
    ds, longer = make(), make(samples_per_epoch=30)
    again = ds[0, 5 + N]
    assert (again["index"], again["path"]) == (5 + N, ds[5]["path"])
    assert pixels(longer[5 + N]) == pixels(again)
    assert len(longer) == 30
    assert longer.labels is None or longer.labels.tolist() == [longer[i]["label"] for i in range(30)]
    assert longer[0, 30]["index"] == 3 * N  # beyond every index of the longer one


# Every backend; tests fork the `processes`.
BACKENDS: tuple[dict[str, Any], ...] = (
    {"backend": "batches"},
    *({"backend": "threads", "num_workers": n} for n in (1, 3)),
    {"backend": "processes", "num_workers": 2},
)


@law
def backends_do_not_matter(make: Make) -> None:
    """Batches kept until the end equal the samples read one by one, for every backend and prefetch."""
    ds = make()
    expected = [sorted(direct(ds, epoch)) for epoch in (0, 1)]
    order = [s["index"] for s in samples(listing(ds, shuffle=True))]
    ahead = {**BACKENDS[2], "prefetch_bytes": 1}, {**BACKENDS[3], "batch_size": 1, "prefetch_factor": 5}
    for options in (*BACKENDS, *ahead):
        made = loader(make(), **{"batch_size": 5, "shuffle": True, "multiprocessing_context": "fork", **options})
        kept = [list(made), list(made)]
        assert [[pixels(s) for s in sorted(samples(p), key=pixels)] for p in kept] == expected
        assert [s["index"] for s in samples(kept[0])] == order


@law
def batches_belong_to_the_user(make: Make) -> None:
    """Writing into a batch changes no other sample."""
    ds = make()
    expected = direct(ds)
    for options in BACKENDS:
        found = []
        for batch in loader(ds, 3, multiprocessing_context="fork", **options):
            found += [pixels(sample) for sample in samples([batch])]
            for value in arrays(batch).values():
                value[...] = 0
        assert found == expected


@law
def passes_can_be_resumed_at_any_batch(make: Make) -> None:
    ds = make()
    reference = run(ds, shuffle=True)
    one_worker = {**BACKENDS[3], "num_workers": 1}
    for options, batches in ((BACKENDS[0], range(4)), (BACKENDS[2], (1, 3)), (one_worker, (2,))):
        for taken in batches:
            first = listing(ds, 5, shuffle=True, **options)
            passing = iter(first)
            head = samples(next(passing) for _ in range(min(taken, len(first))))
            resumed = listing(make(), 5, shuffle=True)
            resumed.load_state_dict(first.state_dict())
            assert [pixels(s) for s in [*head, *samples(resumed)]][: len(reference)] == reference


@law
def shards_share_the_samples_out(make: Make) -> None:
    parts = [run(make(), shuffle=True, rank=rank, world_size=3) for rank in range(3)]
    assert sorted(p for part in parts for p in part) == sorted(direct(make()))


@law
def epochs_are_shuffled_differently(make: Make) -> None:
    made = listing(make(), shuffle=True)
    orders = [[s["index"] for s in samples(made)] for _ in range(3)]
    assert len(set(map(tuple, orders))) == 3
    assert all(sorted(order) == list(range(N)) for order in orders)


@law
def weights_draw_repeats_anew(make: Make) -> None:
    ds = make(weights=[float(i == 5) for i in range(N)])
    assert ds.weights.tolist() == [float(i == 5) for i in range(N)]
    found = samples(listing(ds, weights=ds.weights, samples_per_epoch=4))
    assert [s["index"] for s in found] == [5 + N * k for k in range(4)]
    assert [pixels(s) for s in found] == [pixels(ds[0, 5 + N * k]) for k in range(4)]
    assert len({drawn(s) for s in found}) == 4


@law
def subsets_keep_their_samples(make: Make) -> None:
    ds = make()
    part = ds.subset([7, -1, 0])
    assert [pixels(part[i]) for i in range(3)] == [pixels(ds[i]) for i in (7, N - 1, 0)]
    assert part[0, 3]["index"] == 7 + N
    assert pixels(part.subset([2])[0]) == pixels(ds[0])
    marked = ds.subset([i in (4, 5) for i in range(N)])
    assert run(marked) == [pixels(ds[4]), pixels(ds[5])]
    thrice = ds.subset([5, 5, 5])
    assert [thrice[i]["index"] for i in range(3)] == [5, 5 + N, 5 + 2 * N]


@law
def eval_draws_nothing(make: Make) -> None:
    ds = make(mode="eval")
    assert pixels(ds[0, 3]) == pixels(ds[9, 3]) == pixels(make().subset([3], mode="eval")[0])


@law
def views_pass_epochs_on(make: Make) -> None:
    ds, other = make(), make(seed=9)
    part = random_split(ds, [4, N - 4], torch.Generator().manual_seed(0))[0]
    views: list[tuple[Any, list[bytes]]] = [
        (Subset(ds, [3, 1]), [pixels(ds[2, 3]), pixels(ds[2, 1])]),
        (ConcatDataset([ds, other]), [*direct(ds, 2), *direct(other, 2)]),
        (Wrapped(Subset(ConcatDataset([ds, other]), [N + 1, 0])), [pixels(other[2, 1]), pixels(ds[2, 0])]),
        (part, [pixels(ds[2, i]) for i in part.indices]),
    ]
    views.append((ConcatDataset([view for view, _ in views]), [one for _, expected in views for one in expected]))
    for view, expected in views:
        made = listing(view, num_workers=int(view is views[-1][0]))
        made.set_epoch(2)
        assert [pixels(s) for s in samples(made)] == expected


@law
def pickles_read_alike(make: Make) -> None:
    ds = make()
    ds.set_epoch(3)
    again = pickle.loads(pickle.dumps(ds))
    assert again.epoch == 3
    assert direct(again, 3) == direct(ds, 3)


@law
def threads_do_not_matter(make: Make) -> None:
    ds = make()
    expected = direct(ds) * 2
    with ThreadPoolExecutor(4) as pool:
        assert [pixels(s) for s in pool.map(ds.__getitem__, [*range(N)] * 2)] == expected


@law
def samples_own_their_memory(make: Make) -> None:
    ds = make()
    expected = pixels(ds[5])
    first = ds[5]
    ds[6], ds[7]
    assert pixels(first) == expected
    for value in first.values():
        if isinstance(value, torch.Tensor):
            value.zero_()
    assert pixels(ds[5]) == expected


@law
def records_replay_samples(make: Make) -> None:
    """With `save_applied_params` the samples are the same, and record their draws."""
    ds, telling = make(), make(save_applied_params=True)
    for i in (0, 5):
        sample = telling[i]
        assert sample.pop("applied")
        assert pixels(sample) == pixels(ds[i])


OF_THE_LOADER = {
    "epochs_are_shuffled_differently",
    "passes_can_be_resumed_at_any_batch",
    "shards_share_the_samples_out",
    "views_pass_epochs_on",
}
"""Laws of the loader and of the base class of datasets, which are tried on few kinds."""
OF_SAMPLES = sorted(LAWS.keys() - OF_THE_LOADER)
