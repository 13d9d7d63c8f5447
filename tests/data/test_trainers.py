"""Lightning, accelerate, torchdata and Hugging Face's Trainer, where they are installed, with loaders and datasets."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from support.datasets import WAYS, Gathering, as_they_are
from support.kind_laws import direct
from support.kinds import pixels
from torch import nn
from torch.multiprocessing import spawn
from torch.utils.data import DataLoader, Subset

import augrecipes as ar
from augrecipes.data.loader import loader

N = 12
# Warnings of the libraries, of which each release has its own.
pytestmark = pytest.mark.filterwarnings("ignore")


def listing(ds: Any, batch_size: int = 2, **options: Any) -> Any:
    return loader(ds, batch_size=batch_size, collate=as_they_are, **{"multiprocessing_context": "fork", **options})


def plain(ds: Any, **options: Any) -> Any:
    return DataLoader(ds, 2, collate_fn=as_they_are, **options)


def found(batches: Any) -> list[bytes]:
    return [pixels(sample) for batch in batches for sample in batch]


def in_two_processes(rank: Any, *arguments: Any) -> None:
    """Runs a function of the rank, of a free port where both meet, and of what else it is given."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    spawn(rank, (port, *arguments), nprocs=2)  # type: ignore[no-untyped-call]


# -- Lightning --------------------------------------------------------------------------------------------------------


def kept(batch: Any) -> Any:
    return [(s["index"], pixels(s)) for s in batch]


def lightning_of(
    make: Any, passes: int, stage: str, folder: str, seen: list[Any], *, keep: Any = kept, **options: Any
) -> Any:
    """A model that keeps what it is given, and a Trainer that has run."""
    lightning = pytest.importorskip("lightning")
    hook, more = options.pop("hook", False), options.pop("more", {})

    class Keeps(lightning.LightningModule):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(1, 1)

        def training_step(self, batch: Any, _: int) -> Any:
            seen.append(keep(batch))
            return self.layer(torch.zeros(1, 1)).sum()

        validation_step = predict_step = test_step = training_step

        def transfer_batch_to_device(self, batch: Any, *_: Any) -> Any:
            return batch

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.1)

        def hooked(self) -> Any:
            return make()

        if hook:
            train_dataloader = predict_dataloader = hooked

    settings = {
        "accelerator": "cpu", "max_epochs": passes, "logger": False, "enable_checkpointing": False,
        "enable_progress_bar": False, "enable_model_summary": False, "default_root_dir": folder,
    }  # fmt: skip
    trainer = lightning.Trainer(**{**settings, **options})
    model = Keeps()
    getattr(trainer, stage)(model, *(() if hook else (make(),)), **more)
    return trainer


@pytest.mark.parametrize("hook", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_lightning_fits(way: str, hook: bool, tmp_path: Path) -> None:
    ds, seen = Gathering(N), []
    lightning_of(lambda: listing(ds, **WAYS[way]), 3, "fit", str(tmp_path), seen, hook=hook)
    assert [p for batch in seen for _, p in batch] == [p for epoch in range(3) for p in direct(ds, epoch)]


@pytest.mark.parametrize("hook", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_lightning_predicts_and_overfits(way: str, hook: bool, tmp_path: Path) -> None:
    ds, seen = Gathering(N), []
    options = {**WAYS[way], "shuffle": True, "drop_last": True}
    lightning_of(lambda: listing(ds, 5, **options), 1, "predict", str(tmp_path), seen, hook=hook)
    assert sorted(i for batch in seen for i, _ in batch) == [*range(N)]
    assert all(p == pixels(ds[0, i]) for batch in seen for i, p in batch)
    seen.clear()
    lightning_of(lambda: listing(ds, **options), 2, "fit", str(tmp_path), seen, hook=hook, overfit_batches=2)
    assert len(seen) == 4
    assert [[i for i, _ in batch] for batch in seen[:2]] == [[i for i, _ in batch] for batch in seen[2:]]


@pytest.mark.parametrize("way", ["here", "forked"])
def test_lightning_over_a_plain_loader_does_not_freeze(way: str, tmp_path: Path) -> None:
    ds, seen = Gathering(N), []
    lightning_of(lambda: plain(ds, **WAYS[way]), 3, "fit", str(tmp_path), seen)
    assert [p for batch in seen for _, p in batch] == [p for epoch in range(3) for p in direct(ds, epoch)]


def test_lightning_resumes_in_the_middle_of_an_epoch(tmp_path: Path) -> None:
    """Its checkpoints keep the states of loaders that have one."""
    ds, seen, again = Gathering(N), [], []
    trainer = lightning_of(lambda: listing(ds, shuffle=True), 3, "fit", str(tmp_path), seen, max_steps=8)
    trainer.save_checkpoint(tmp_path / "middle.ckpt")
    made = listing(ds, shuffle=True)
    state = torch.load(tmp_path / "middle.ckpt", weights_only=False)["loops"]["fit_loop"]["state_dict"]
    made.load_state_dict(state["combined_loader"][0])
    whole = listing(ds, shuffle=True)
    expected = [(s["index"], pixels(s)) for _ in range(2) for batch in whole for s in batch]
    again = [(s["index"], pixels(s)) for batch in made for s in batch]
    assert [one for batch in seen for one in batch] + again == expected


def saving(folder: Path | str, steps: int) -> dict[str, Any]:
    """Options of a Trainer that stops after so many steps, and saves `saved.ckpt` at its last."""
    callbacks = pytest.importorskip("lightning.pytorch.callbacks")
    saver = callbacks.ModelCheckpoint(folder, filename="saved", every_n_train_steps=steps, enable_version_counter=False)
    return {"max_steps": steps, "callbacks": [saver], "enable_checkpointing": True}


@pytest.mark.parametrize("way", ["here", "forked"])
@pytest.mark.parametrize("steps", [4, 6])  # in the middle of an epoch, and at its end
def test_lightning_goes_on_from_a_checkpoint(steps: int, way: str, tmp_path: Path) -> None:
    """At an epoch's end it asks for the pass first, and says the epoch then."""
    pytest.importorskip("lightning")
    ds, seen = Gathering(N), []

    def make() -> Any:
        return listing(ds, shuffle=True, **WAYS[way])

    lightning_of(make, 3, "fit", str(tmp_path), seen, **saving(tmp_path, steps))
    lightning_of(make, 3, "fit", str(tmp_path), seen, more={"ckpt_path": tmp_path / "saved.ckpt"})
    whole = listing(ds, shuffle=True)
    assert [p for batch in seen for _, p in batch] == [p for _ in range(3) for p in found(whole)]


def _lightning_rank(rank: int, port: int, folder: str, wrapped: bool, theirs: bool, stops: bool = False) -> None:
    warnings.simplefilter("ignore")
    os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": str(port), "NODE_RANK": "0", "LOCAL_RANK": str(rank)}
    os.environ |= {"WORLD_SIZE": "2", "GROUP_RANK": "0"}
    ds, seen = Gathering(N + 1), []
    make = plain if wrapped else listing
    options: dict[str, Any] = {"strategy": "ddp", "devices": 2, "num_nodes": 1, "use_distributed_sampler": theirs}
    options |= saving(folder, 2) if stops else {}
    lightning_of(lambda: make(ds), 3, "fit", folder, seen, **options)
    torch.save([one for batch in seen for one in batch], f"{folder}/{rank}.pt")


def test_lightning_goes_on_with_fewer_ranks(tmp_path: Path) -> None:
    pytest.importorskip("lightning")
    in_two_processes(_lightning_rank, os.fspath(tmp_path), False, True, True)
    seen = [one for rank in range(2) for one in torch.load(tmp_path / f"{rank}.pt")]
    ds, rest = Gathering(N + 1), []
    lightning_of(lambda: listing(ds), 1, "fit", str(tmp_path), rest, more={"ckpt_path": tmp_path / "saved.ckpt"})
    assert len(seen) == 8
    assert sorted(i for i, _ in seen) + [i for batch in rest for i, _ in batch] == [*range(N + 1)]


@pytest.mark.parametrize(("wrapped", "theirs"), [(False, False), (False, True), (True, True)])
def test_lightning_in_two_processes(wrapped: bool, theirs: bool, tmp_path: Path) -> None:
    pytest.importorskip("lightning")
    in_two_processes(_lightning_rank, os.fspath(tmp_path), wrapped, theirs)
    seen = [one for rank in range(2) for one in torch.load(tmp_path / f"{rank}.pt")]
    assert len(seen) == 2 * 3 * 7
    assert {i % (N + 1) for i, _ in seen} == set(range(N + 1))
    drawn = [one[1] for one in seen]
    assert len(drawn) - len(set(drawn)) == 0


def test_the_data_module_of_the_docs_feeds_a_trainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lightning = pytest.importorskip("lightning")
    page = (Path(__file__).parents[2] / "docs" / "DISTRIBUTED.md").read_text(encoding="utf-8")
    (block,) = [text for text in page.split("```") if text.startswith("text\n")]
    tissue = ar.draw_dataset(tmp_path, tiles=4, photo_count=0, shrink=4).tissue
    for name in ("train", "val"):
        shutil.copytree(tissue, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {"lightning": lightning, "ar": ar}
    exec(block.removeprefix("text\n"), space)
    seen: list[Any] = []
    lightning_of(space["Tissue"], 2, "fit", str(tmp_path), seen, keep=lambda batch: tuple(batch["image"].shape))
    assert {*seen} == {(4, 3, 224, 224)}


# -- accelerate, and Hugging Face's Trainer ---------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_accelerate_prepares(way: str) -> None:
    accelerate = pytest.importorskip("accelerate")
    ds = Gathering(N)
    for view, part in ((ds, ds), (Subset(ds, [3, 1, 8]), None)):
        made, own = listing(view, shuffle=True, seed=4, **WAYS[way]), listing(view, shuffle=True, seed=4)
        prepared = accelerate.Accelerator(cpu=True).prepare(made)
        assert len(prepared) == len(own)
        for _ in range(3):
            assert found(prepared) == found(own)
        assert part is None or len(prepared.dataset) == N
    rest = accelerate.skip_first_batches(listing(ds, shuffle=True, **WAYS[way]), 2)
    assert found(rest) == found(listing(ds, shuffle=True))[4:]


@pytest.mark.parametrize("way", ["here", "forked"])
def test_accelerate_over_a_plain_loader_does_not_freeze(way: str) -> None:
    accelerate = pytest.importorskip("accelerate")
    ds = Gathering(N)
    prepared = accelerate.Accelerator(cpu=True).prepare(plain(ds, **WAYS[way]))
    for epoch in range(3):
        assert found(prepared) == direct(ds, epoch)


def _accelerate_rank(rank: int, port: int, folder: str, mine: bool) -> None:
    accelerate = pytest.importorskip("accelerate")
    os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": str(port), "RANK": str(rank), "WORLD_SIZE": "2"}
    os.environ |= {"LOCAL_RANK": str(rank)}
    ds = Gathering(N)
    prepared = accelerate.Accelerator(cpu=True).prepare(listing(ds, shuffle=True, num_workers=1) if mine else plain(ds))
    seen = [[(s["index"], pixels(s)) for batch in prepared for s in batch] for _ in range(3)]
    torch.save(seen, f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("mine", [True, False])
def test_accelerate_in_two_processes(mine: bool, tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    in_two_processes(_accelerate_rank, os.fspath(tmp_path), mine)
    shares = [torch.load(tmp_path / f"{rank}.pt") for rank in range(2)]
    ds = Gathering(N)
    for epoch in range(3):
        together = [one for share in shares for one in share[epoch]]
        assert sorted(i for i, _ in together) == [*range(N)]
        assert all(p == pixels(ds[epoch, i]) for i, p in together)


def test_hugging_faces_trainer(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    ds, seen = Gathering(N), []

    class Keeps(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(1, 1)

        def forward(self, image: Any, index: Any, **_: Any) -> Any:
            seen.extend(zip(index.tolist(), (bytes(one.numpy().tobytes()) for one in image), strict=True))
            return {"loss": self.layer(image.float().mean().reshape(1, 1)).sum()}

    class Trainer(transformers.Trainer):  # type: ignore[misc,name-defined]
        def get_train_dataloader(self) -> Any:
            return self.accelerator.prepare(loader(ds, 4, shuffle=True))

    arguments = transformers.TrainingArguments(
        str(tmp_path), num_train_epochs=3, report_to=[], use_cpu=True, save_strategy="no", disable_tqdm=True
    )
    Trainer(model=Keeps(), args=arguments).train()
    own = loader(Gathering(N), 4, shuffle=True)
    expected = [
        (int(i), bytes(one.numpy().tobytes()))
        for _ in range(3)
        for batch in own
        for i, one in zip(batch["index"], batch["image"], strict=True)
    ]
    assert seen == expected


# -- torchdata --------------------------------------------------------------------------------------------------------


def test_our_state_is_of_their_protocol() -> None:
    stateful: Any = pytest.importorskip("torchdata.stateful_dataloader.stateful")
    made = listing(Gathering(N))
    assert isinstance(made, stateful.Stateful)
    passing = iter(made)
    head = [pixels(s) for _ in range(2) for s in next(passing)]
    again = listing(Gathering(N))
    again.load_state_dict(made.state_dict())
    assert head + found(again) == direct(Gathering(N))


# Ray Train, timm's loaders and loops, and StatefulDataLoader, where they are installed, with loaders and datasets.


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
