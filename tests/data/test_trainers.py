"""Lightning, accelerate, Ray Train and Hugging Face's Trainer, where they are installed, with loaders and datasets."""

import json
import os
import socket
import sys
import warnings
from collections.abc import Iterator
from functools import partial
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


@pytest.mark.parametrize(("wrapped", "theirs"), [(False, False), (False, True), (True, True)])
def test_lightning_in_two_processes(wrapped: bool, theirs: bool, tmp_path: Path) -> None:
    pytest.importorskip("lightning")
    in_two_processes(_lightning_rank, os.fspath(tmp_path), wrapped, theirs)
    seen = [one for rank in range(2) for one in torch.load(tmp_path / f"{rank}.pt")]
    assert len(seen) == 2 * 3 * 7
    assert {i % (N + 1) for i, _ in seen} == set(range(N + 1))
    drawn = [one[1] for one in seen]
    assert len(drawn) - len(set(drawn)) == 0


# -- accelerate, and Hugging Face's Trainer ---------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("view", [lambda ds: ds, lambda ds: Subset(ds, [3, 1, 8])])
def test_accelerate_prepares(view: Any, way: str) -> None:
    accelerate = pytest.importorskip("accelerate")
    made, own = (listing(view(Gathering(N)), shuffle=True, seed=4, **WAYS[way]) for _ in range(2))
    prepared = accelerate.Accelerator(cpu=True).prepare(made)
    assert len(prepared) == len(own)
    epochs = [found(own) for _ in range(3)]
    assert [found(prepared) for _ in range(3)] == epochs
    rest = listing(view(Gathering(N)), shuffle=True, seed=4, **WAYS[way])
    assert found(accelerate.skip_first_batches(rest, 1)) == epochs[0][2:]


def accelerated(folder: Path, way: dict[str, Any], *, start: tuple[int, int] = (0, 0), stop: Any = None) -> list[Any]:
    """What three epochs give a training loop from a place on, to another one, where it saves; it loads if it can."""
    accelerate = pytest.importorskip("accelerate")
    accelerator, layer = accelerate.Accelerator(cpu=True), nn.Linear(1, 1)
    made = listing(Gathering(N), shuffle=True, **way)
    model, optimizer, prepared = accelerator.prepare(layer, torch.optim.SGD(layer.parameters(), 0.1), made)
    if start > (0, 0):
        accelerator.load_state(folder / "saved")
    seen: list[Any] = []
    for epoch in range(start[0], 3):
        prepared.set_epoch(epoch)
        skipped = start[1] if epoch == start[0] else 0
        batches = accelerate.skip_first_batches(prepared, skipped) if skipped else prepared
        for step, batch in enumerate(batches, skipped + 1):
            accelerator.backward(model(torch.zeros(1, 1)).sum())
            optimizer.step()
            optimizer.zero_grad()
            seen.append((epoch, kept(batch)))
            if (epoch, step) == stop:
                accelerator.save_state(folder / "saved")
                return seen
    return seen


def stopped_and_resumed(folder: Path, way: dict[str, Any], rank: int = 0) -> None:
    whole, place = accelerated(folder, way), (1, 2)
    parts = accelerated(folder, way, stop=place) + accelerated(folder, way, start=place)
    assert parts == whole
    torch.save(whole, folder / f"{rank}.pt")


@pytest.mark.parametrize("way", WAYS)
def test_accelerate_resumes_behind_skipped_batches(way: str, tmp_path: Path) -> None:
    stopped_and_resumed(tmp_path, WAYS[way])
    assert torch.load(tmp_path / "0.pt") == expected(1)


def expected(ranks: int) -> list[Any]:
    """Each epoch's batches with its number, and of several ranks those of rank 0 first."""
    own = listing(Gathering(N), shuffle=True)
    epochs = [[(epoch, kept(batch)) for batch in own] for epoch in range(3)]
    return [one for rank in range(ranks) for batches in epochs for one in batches[rank::ranks]]


def in_a_rank(rank: int, port: int) -> None:
    warnings.simplefilter("ignore")
    os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": str(port), "RANK": str(rank), "WORLD_SIZE": "2"}
    os.environ |= {"LOCAL_RANK": str(rank)}


def _resuming_rank(rank: int, port: int, folder: str, way: dict[str, Any]) -> None:
    in_a_rank(rank, port)
    stopped_and_resumed(Path(folder), way, rank)
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("way", ["here", "forked"])
def test_accelerate_resumes_in_two_processes(way: str, tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    in_two_processes(_resuming_rank, os.fspath(tmp_path), WAYS[way])
    assert [one for rank in range(2) for one in torch.load(tmp_path / f"{rank}.pt")] == expected(2)


def _accelerate_rank(rank: int, port: int, folder: str, mine: bool) -> None:
    accelerate = pytest.importorskip("accelerate")
    in_a_rank(rank, port)
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


def hugging_face(folder: Path, view: Any = lambda ds: ds, resume: str | None = None) -> list[Any]:
    """What three epochs of Hugging Face's Trainer give a model, which is saved at every fourth step."""
    transformers, seen = pytest.importorskip("transformers"), list[Any]()
    pytest.importorskip("accelerate")

    class Keeps(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(1, 1)

        def forward(self, image: Any, index: Any, **_: Any) -> Any:
            seen.append([*zip(index.tolist(), (bytes(one.numpy().tobytes()) for one in image), strict=True)])
            return {"loss": self.layer(image.float().mean().reshape(1, 1)).sum()}

    class Trainer(transformers.Trainer):  # type: ignore[misc,name-defined]
        def get_train_dataloader(self) -> Any:
            return self.accelerator.prepare(loader(view(Gathering(N)), 2, shuffle=True))

    arguments = transformers.TrainingArguments(
        str(folder), num_train_epochs=3, report_to=[], use_cpu=True, save_steps=4, disable_tqdm=True
    )
    Trainer(model=Keeps(), args=arguments).train(resume_from_checkpoint=resume and str(folder / resume))
    return seen


def test_hugging_faces_trainer(tmp_path: Path) -> None:
    view = partial(Subset, indices=range(N))
    whole = hugging_face(tmp_path, view)
    assert whole == [one for epoch in range(3) for one in batched(epoch)]
    steps = len(whole) // 3
    assert steps == 6
    for saved in (4, 8, 12):  # twice in the middle of an epoch, and at its end
        assert hugging_face(tmp_path, view, f"checkpoint-{saved}") == whole[saved:]


def batched(epoch: int) -> list[Any]:
    own = loader(Gathering(N), 2, shuffle=True)
    own.set_epoch(epoch)
    return [[*zip(b["index"].tolist(), (bytes(one.numpy().tobytes()) for one in b["image"]), strict=True)] for b in own]


def _hugging_rank(rank: int, port: int, folder: str) -> None:
    in_a_rank(rank, port)
    whole = hugging_face(Path(folder))
    resumed = hugging_face(Path(folder), resume="checkpoint-4")
    torch.save((whole, resumed), f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


def test_hugging_faces_trainer_in_two_processes(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    in_two_processes(_hugging_rank, os.fspath(tmp_path))
    ranks = [torch.load(tmp_path / f"{rank}.pt") for rank in range(2)]
    for rank, (whole, resumed) in enumerate(ranks):
        assert whole == [one for epoch in range(3) for one in batched(epoch)[rank::2]]
        assert resumed == whole[4:]


# -- Ray Train -------------------------------------------------------------------------------------------------------


def epoch_of(ds: Any, epoch: int) -> dict[int, bytes]:
    """The images of an epoch by index, made one by one."""
    return {i: bytes(ds[epoch, i]["image"].numpy().tobytes()) for i in range(len(ds))}


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
