"""Real processes under torchrun: they go on where others stopped, and none waits for one that has died."""

import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed
from support.datasets import Counting

from augrecipes.data.loader import loader
from augrecipes.data.order import epoch_order

HERE = Path(__file__).parent
PATIENCE_SECONDS = 300
pytestmark = [
    pytest.mark.skipif(not torch.distributed.is_available(), reason="torch was built without it"),
    pytest.mark.skipif(sys.platform != "linux", reason="asks /proc, and forks"),
]


def torchrun(ranks: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}", __file__]
    command += map(str, arguments)
    path = os.pathsep.join([str(HERE.parents[1]), str(HERE.parent)])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )


def runs(process: int) -> bool:
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"  # dead, and nobody has asked how it ended


@pytest.mark.soak  # in one process: `test_rank_states.py`
def test_three_ranks_stop_and_two_go_on(tmp_path: Path) -> None:
    together: list[int] = []
    for ranks, steps in ((3, 2), (2, 0)):
        done = torchrun(ranks, tmp_path, steps)
        assert not done.returncode, done.stderr
        told = [json.loads((tmp_path / f"{rank}-of-{ranks}.json").read_text()) for rank in range(ranks)]
        assert len({length for length, _ in told}) == 1
        batches = [taken for _, taken in told]
        together += [i for step in zip(*batches, strict=True) for batch in step for i in batch]
    weights = torch.arange(N, dtype=torch.float64).numpy()
    whole = epoch_order(N, 0, seed=2, weights=weights, samples=N - 1).tolist()
    assert together == whole
    assert json.loads((tmp_path / "state.json").read_text())["epoch"] == 1


def trained(rank: int, port: int, folder: Path) -> None:
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
    train(folder)


def test_a_rank_that_dies_is_an_error_for_the_others(tmp_path: Path) -> None:
    """Here without torchrun, which would end them before they hear of it."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    fresh = multiprocessing.get_context("forkserver")
    ranks = [fresh.Process(target=trained, args=(rank, port, tmp_path)) for rank in range(2)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join(PATIENCE_SECONDS)
    assert [rank.exitcode for rank in ranks] == [1, -signal.SIGKILL]
    assert json.loads((tmp_path / "heard.json").read_text()) == 2  # in the step of a RuntimeError
    # The dead one's worker has ended, too.
    (worker,) = json.loads((tmp_path / "workers.json").read_text())
    until = time.monotonic() + PATIENCE_SECONDS
    while runs(worker):
        assert time.monotonic() < until
        time.sleep(0.05)


# What a rank runs: this file under torchrun, with a folder and a number of steps, to read; and `train`.


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
