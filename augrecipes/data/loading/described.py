"""What a loader loads, and who reads, in words."""

from __future__ import annotations

from augrecipes.data.loading.choice import Choice
from augrecipes.data.loading.sampler import BatchSchedule
from augrecipes.errors import counted

_WHO = {"threads": "thread", "processes": "process"}


def described(plan: BatchSchedule, choice: Choice, batches: int, epoch: int) -> list[str]:
    """Facts for people.

    >>> described(BatchSchedule(9, 4, shuffle=True), Choice("threads", 2, ""), 3, 0)
    ['3 batches of 4', 'shuffled', '2 threads', 'seed 0', 'epoch 0']
    """
    order = "weighted" if plan.weights is not None else "shuffled" if plan.shuffle else "in order"
    who = counted(choice.workers, _WHO.get(choice.backend, "reader")) if choice.workers else "no workers"
    sizes = f"{counted(batches, 'batch')} of {plan.batch_size}"
    ranks = [f"rank {plan.rank} of {plan.world_size}"] if plan.world_size > 1 else []
    return [sizes, order, who, f"seed {plan.seed}", f"epoch {epoch}", *ranks]
