"""Ray Train, timm's loaders and loops, and StatefulDataLoader, where they are installed, with loaders and datasets."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from support.datasets import Gathering
from support.kind_laws import direct
from support.kinds import pixels
from torch import nn

from augrecipes.data.loader import loader

N = 12
pytestmark = pytest.mark.filterwarnings("ignore")


def pair_of(samples: Any) -> tuple[Any, Any]:
    """Batches as timm's loops take them: pictures and labels; the labels are the indices here, to be told apart."""
    return torch.stack([s["image"] for s in samples]), torch.tensor([s["index"] for s in samples])


def told(batches: Any) -> list[tuple[int, bytes]]:
    """Index and bytes of each picture of (pictures, indices)."""
    return [
        (int(i), bytes(x.numpy().tobytes()))
        for images, targets in batches
        for i, x in zip(targets, images, strict=True)
    ]


def epoch_of(ds: Any, epoch: int) -> dict[int, bytes]:
    """The pictures of an epoch by index, made one by one."""
    return {i: bytes(ds[epoch, i]["image"].numpy().tobytes()) for i in range(len(ds))}


# -- timm -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("multi", [False, True])
def test_timms_loaders_over_our_datasets_do_not_freeze(workers: int, multi: bool) -> None:
    """`create_loader` builds DataLoaders of its own kinds, which samples are asked of as of a plain one."""
    data = pytest.importorskip("timm.data")
    ds = Gathering(N)
    made = data.create_loader(
        ds, input_size=(3, 8, 8), batch_size=4, is_training=True, use_prefetcher=False, num_workers=workers,
        collate_fn=pair_of, use_multi_epochs_loader=multi, persistent_workers=workers > 0, device=torch.device("cpu"),
    )  # fmt: skip
    passes, epochs = [dict(told(made)) for _ in range(3)], [epoch_of(Gathering(N), epoch) for epoch in range(4)]
    if multi and workers:
        # Its workers read on into the next pass while others are at the last one: draws may come in another order.
        for i in range(N):
            drawn = [seen[i] for seen in passes]
            assert len({*drawn}) == 3 and {*drawn} <= {epoch[i] for epoch in epochs}
    else:
        assert passes == epochs[:3]


def test_timms_loop_with_our_loader() -> None:
    """Its optimizer and schedule, its prefetcher around `ar.loader`, and the epoch said to the sampler as it does."""
    timm = pytest.importorskip("timm")
    from timm.data.loader import PrefetchLoader
    from timm.optim import create_optimizer_v2
    from timm.scheduler import create_scheduler_v2

    ds, own = Gathering(N), loader(Gathering(N), 4, shuffle=True, seed=3, collate=pair_of)
    made = loader(ds, 4, shuffle=True, seed=3, collate=pair_of)
    fed = PrefetchLoader(made, mean=(0.0,) * 3, std=(1 / 255,) * 3, device=torch.device("cpu"))
    model = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, N))
    optimizer = create_optimizer_v2(model, opt="sgd", lr=0.1)
    schedule, epochs = create_scheduler_v2(optimizer, sched="cosine", num_epochs=3, updates_per_epoch=len(fed))
    meter = timm.utils.AverageMeter()
    for epoch in range(min(3, epochs)):
        if hasattr(fed.sampler, "set_epoch"):
            fed.sampler.set_epoch(epoch)
        seen = []
        for images, targets in fed:
            loss = nn.functional.cross_entropy(model(images / 255), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            meter.update(loss.item(), len(targets))
            seen += [(int(i), bytes(x.byte().numpy().tobytes())) for i, x in zip(targets, images, strict=True)]
        schedule.step(epoch + 1, meter.avg)
        assert seen == told(own)


# -- Ray Train --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ray_with_cpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Ray on this machine alone."""
    ray = pytest.importorskip("ray", reason="Ray Train wants it: pip install 'ray[train]'")
    pytest.importorskip("ray.train.torch", exc_type=ImportError)  # it wants more than `ray` brings
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}
    paths = os.pathsep.join(path for path in sys.path if path)
    ray.init(
        num_cpus=4, include_dashboard=False, object_store_memory=80_000_000, log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": paths}},
    )  # fmt: skip
    yield ray
    ray.shutdown()


@pytest.mark.parametrize("prepared", [False, True])
def test_ray_train_shares_an_epoch_among_its_workers(ray_with_cpus: Any, tmp_path: Path, prepared: bool) -> None:
    from ray.train import RunConfig, ScalingConfig
    from ray.train.torch import TorchTrainer

    def train(config: dict[str, Any]) -> None:
        import ray.train.torch as of_ray
        from ray import train
        from support.datasets import Gathering

        from augrecipes.data.loader import loader

        made = loader(Gathering(config["n"]), 2, shuffle=True, seed=5, collate=list)
        made = of_ray.prepare_data_loader(made) if config["prepared"] else made
        seen = [[(s["index"], s["image"].numpy().tobytes().hex()) for batch in made for s in batch] for _ in range(3)]
        Path(config["out"], f"{train.get_context().get_world_rank()}.json").write_text(json.dumps(seen))
        train.report({"seen": len(seen)})

    given = {"n": N, "prepared": prepared, "out": str(tmp_path)}
    TorchTrainer(
        train, train_loop_config=given, scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(storage_path=str(tmp_path / "runs")),
    ).fit()  # fmt: skip
    shares = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)]
    for epoch in range(3):
        together = [(i, bytes.fromhex(p)) for share in shares for i, p in share[epoch]]
        assert len(together) == N
        assert dict(together) == epoch_of(Gathering(N), epoch)


# -- torchdata --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}])
def test_a_stateful_loader_goes_on_with_the_draws_it_stopped_at(options: dict[str, Any]) -> None:
    """Saved after some batches of the second pass, and loaded into another over a dataset of the same epoch."""
    stateful: Any = pytest.importorskip("torchdata.stateful_dataloader")
    ds = Gathering(N)
    made = stateful.StatefulDataLoader(ds, 2, collate_fn=list, **options)
    assert [pixels(s) for batch in made for s in batch] == direct(ds, 0)
    passing = iter(made)
    head = [pixels(s) for _ in range(2) for s in next(passing)]
    state = made.state_dict()
    again = Gathering(N)
    again.set_epoch(1)
    loaded = stateful.StatefulDataLoader(again, 2, collate_fn=list, **options)
    loaded.load_state_dict(state)
    assert head + [pixels(s) for batch in loaded for s in batch] == direct(Gathering(N), 1)
