"""What a rank runs: `python rank_program.py FOLDER STEPS` under torchrun, to read; and `train`."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed
from support.datasets import Counting

from augrecipes.data.loader import loader

N = 47


def made(**options: Any) -> Any:
    return loader(Counting(N), 3, weights=[*range(N)], samples_per_epoch=N - 1, seed=2, **options)


def read(folder: Path, steps: int) -> None:
    """Go on where a state in the folder says, for so many steps or to the end; rank 0 saves the state."""
    torch.distributed.init_process_group("gloo")
    rank, world_size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    batches, state = made(num_workers=rank % 2), folder / "state.json"
    if state.exists():
        batches.load_state_dict(json.loads(state.read_text()))
    passing, taken = iter(batches), []
    for _ in range(steps or N):
        batch = next(passing, None)
        if batch is None:
            break
        taken.append(batch["index"].tolist())
    torch.distributed.barrier()
    if rank == world_size - 1:
        state.write_text(json.dumps(batches.state_dict()))
    (folder / f"{rank}-of-{world_size}.json").write_text(json.dumps([len(batches), taken]))
    torch.distributed.destroy_process_group()


def train(folder: Path) -> None:
    """Average a number over ranks at every step; rank 1 is killed at the third."""
    torch.distributed.init_process_group("gloo")
    batches = made(num_workers=1, multiprocessing_context="fork")
    for step, batch in enumerate(batches):
        total = batch["image"].double().mean()
        if torch.distributed.get_rank() == 1 and step == 2:
            children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
            (folder / "workers.json").write_text(json.dumps([int(child) for child in children]))
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            torch.distributed.all_reduce(total)
        except RuntimeError:
            (folder / "heard.json").write_text(json.dumps(step))
            raise


if __name__ == "__main__":
    read(Path(sys.argv[1]), int(sys.argv[2]))
