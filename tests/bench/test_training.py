"""How much of a training step is waiting: its parts, what stands in, and what a user's file may do wrong."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from small_data import KINDS, MovedClock, kind_data

from augrecipes.bench import training
from augrecipes.bench.sides import Setting, Side, sides_of, stock_side
from augrecipes.bench.step import Device, Wait, device_of, load_step
from augrecipes.bench.training import Case, Training, measure
from augrecipes.errors import BenchError
from augrecipes.recipe.parse import parse_text

SMALL = "import torch\nfrom torch import nn\nmodel = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2), nn.ReLU())\n"
SLEEPY = SMALL + "import small_data\nmodel.register_forward_pre_hook(lambda model, given: small_data.wait(0.05))\n"
LEARNS = ["loading", "forward", "backward", "optimiser"]


@pytest.fixture(autouse=True)
def nothing_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # several would wait for each other where tests run side by side
    yield
    torch.set_num_threads(before)
    for name in [name for name in sys.modules if name.startswith(("augrecipes_user_", "nets"))]:
        del sys.modules[name]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "train.py"


def side_of(kind: str, root: Path, level: str = "exact", **changes: Any) -> Side:
    recipe, data = kind_data(kind, root)
    for key, value in changes.items():
        recipe = replace(recipe, **{key: replace(getattr(recipe, key), **value)})
    return sides_of({"it": recipe}, [level], Setting(data), 4)[0]  # type: ignore[list-item]


def names(found: Training) -> list[str]:
    return [part.name for part in found.parts]


def one(side: Side, step: Any, **options: Any) -> Training:
    (found,) = measure([Case(side, **options)], step, 1 if side.source.kind == "bag" else 2, seconds=0.01)
    assert sum(part.share for part in found.parts) == pytest.approx(1)
    assert all(part.ms > 0 and part.mad >= 0 for part in found.parts)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_parts_of_a_step(kind: str, tmp_path: Path, file: Path) -> None:
    # Of a bag five dimensions arrive, of which the first is the batch.
    file.write_text(SMALL.replace("model = nn.Sequential(", "model = nn.Sequential(nn.Flatten(0, -4), "))
    found = one(side_of(kind, tmp_path / "data"), load_step(str(file)))
    assert names(found) == LEARNS
    assert found.step.endswith(
        "train.py, Sequential; mean square of the output as a stand-in for loss(); SGD as a stand-in"
    )
    assert found.device == "cpu"
    assert found.threads == torch.get_num_threads()
    assert found.steps >= 12


def test_the_slow_part_is_named(tmp_path: Path, file: Path, clock: MovedClock) -> None:
    file.write_text(SLEEPY)
    found = one(side_of("image", tmp_path / "data"), load_step(str(file)))
    assert max(found.parts, key=lambda part: part.ms).name == "forward"
    assert found.step_ms == pytest.approx(50, abs=0.1)
    assert found.waiting < 0.05


def test_the_output_of_pairs_is_compared_with_the_large_scale(tmp_path: Path, file: Path) -> None:
    file.write_text(SMALL + "model = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.PixelShuffle(2))\n")
    found = one(side_of("pair", tmp_path / "data"), load_step(str(file)))
    assert "mean square of output − hr as a stand-in for loss()" in found.step


def test_the_model_sees_every_view(tmp_path: Path, file: Path) -> None:
    file.write_text(
        SMALL
        + "model = nn.Sequential(model, nn.AdaptiveAvgPool2d(1), nn.Flatten())\n"
        + "def loss(output, batch):\n    assert len(output) == 5 * len(batch['index'])\n    return output.mean()\n"
    )
    crop = "steps: [{RandomResizedCrop: {size: [%d, %d]}}]"
    views = f"{{large: {{count: 2, {crop % (24, 24)}}}, small: {{count: 3, {crop % (12, 12)}}}}}"
    recipe = parse_text(f"version: 1\nrecipe: it\nkind: views\nviews: {views}\neval: []\n")
    _, data = kind_data("image", tmp_path / "data")
    (side,) = sides_of({"it": recipe}, ["exact"], Setting(data), 4)
    assert names(one(side, load_step(str(file)))) == LEARNS


@pytest.mark.parametrize("kind", ["image", "pair"])
def test_what_is_left_to_the_device_is_a_part(kind: str, tmp_path: Path, file: Path) -> None:
    file.write_text(
        SMALL + "def loss(output, batch):\n    assert output.dtype == torch.float32\n    return output.mean()\n"
    )
    found = one(side_of(kind, tmp_path / "data", output={"where": "device"}), load_step(str(file), "cpu"))
    assert names(found) == ["loading", "device stage", *LEARNS[1:]]


@dataclass(frozen=True)
class Apart(Device):
    """The processor, in the part of a GPU."""

    waits: list[int]

    @property
    def is_separate(self) -> bool:
        return True

    def wait(self) -> None:
        self.waits.append(1)


def test_a_device_apart_is_copied_to_and_waited_for(tmp_path: Path, file: Path) -> None:
    file.write_text(SMALL)
    device = Apart(torch.device("cpu"), "cuda:0 made up", [])
    side = side_of("image", tmp_path / "data", output={"where": "device"})
    found = one(side, replace(load_step(str(file)), device=device))
    assert names(found) == ["loading", "to device", "device stage", *LEARNS[1:]]
    assert len(device.waits) >= len(found.parts) * found.steps
    assert found.device == "cuda:0 made up"


def test_milliseconds_are_waited_for(tmp_path: Path, clock: MovedClock) -> None:
    found = one(side_of("image", tmp_path / "data"), load_step("2.5"))
    assert names(found) == ["loading", "training step"]
    assert found.step == "2.5 ms, waited for"
    assert found.step_ms == pytest.approx(2.5, abs=0.01)


def test_its_own_loss_and_optimiser(tmp_path: Path, file: Path) -> None:
    file.write_text(
        SMALL
        + "seen = []\n"
        + "def loss(output, batch):\n    seen.append(batch['index'].tolist())\n    return output.square().sum()\n"
        + "def optimizer(model):\n    return torch.optim.AdamW(model.parameters())\n"
    )
    side = side_of("image", tmp_path / "data")
    step = load_step(str(file))
    before = [weight.clone() for weight in step.model.parameters()]  # type: ignore[union-attr]
    stock = stock_side(side, Setting(tmp_path / "data"))
    mine, other = measure([Case(side), Case(stock)], step, 2, seconds=0.01)
    assert mine.step == other.step
    assert mine.step.endswith("train.py, Sequential; loss(); AdamW")
    assert (mine.name, other.name) == ("it · exact", "it · stock")
    seen = step.module.content.seen  # type: ignore[union-attr]
    assert seen[:5] == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]  # four images again and again, with new draws
    assert {tuple(batch) for batch in seen} == {(k, k + 1) for k in range(0, 2 * (mine.steps // 3 + 1), 2)}
    assert not all(torch.equal(was, now) for was, now in zip(before, step.model.parameters(), strict=True))  # type: ignore[union-attr]


@pytest.mark.parametrize("backend", ["threads", "processes"])
def test_those_that_read_ahead(backend: Any, tmp_path: Path, clock: MovedClock) -> None:
    threads = torch.get_num_threads()
    found = one(side_of("image", tmp_path / "data"), load_step("1"), backend=backend, workers=2)
    assert (found.backend, found.workers, found.steps) == (backend, 2, 12)
    assert torch.get_num_threads() == threads


class Bursts:
    """Batches, every fourth of which takes a second of a clock that we set; the first takes a minute."""

    def __init__(self, count: int, now: list[float]) -> None:
        self.count, self.now = count, now

    def set_epoch(self, epoch: int) -> None: ...

    def close(self) -> None: ...

    def __iter__(self) -> Iterator[int]:
        for k in range(self.count):
            self.now[0] += 60 if k == 0 else 1 if k % 4 == 0 else 0
            yield k


def test_bursts_count_and_beginnings_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The median step would not wait at all."""
    now = [0.0]
    monkeypatch.setattr(training, "perf_counter", lambda: now[0])
    monkeypatch.setattr(
        Wait, "__call__", lambda self, batch, lap: (now.__setitem__(0, now[0] + 0.5), lap("training step"))
    )
    run = training._CaseRun(Case(side_of("image", tmp_path / "data")), load_step("1"), 2, 8)
    run.batches = Bursts(9, now)  # type: ignore[assignment]
    assert run.once() == {"loading": 250.0, "training step": 500.0}


NET = "model = nn.Conv2d(3, 4, 3)\n"
WRONG = [
    (f"{NET}nonsense", "train.py:4: it fails when it is run: NameError: name 'nonsense'"),
    ("model = nn.Conv2d(", "it fails when it is run: SyntaxError"),
    ("raise SystemExit(2)", "SystemExit: 2; what it does as a script belongs under `if __name__"),
    ("net = nn.Conv2d(3, 4, 3)", "there is no model in it, but net: say .*train.py:net"),
    ("class Net(nn.Module): pass", "there is no model in it, but Net: say .*train.py:Net"),
    ("x = 1", "there is no model in it, but nothing that is an nn.Module"),
    ("model = 3", "model is a int; it must be an nn.Module, or a function without arguments that makes one"),
    ("def model():\n    return 3", "model is a int"),
    ("def model(width):\n    return 3", r"model\(\), called without arguments, fails: TypeError"),
    ("model = nn.Flatten()", "model has no parameters to train"),
    (f"{NET}loss = 1", "loss is a int"),
    (f"{NET}def optimizer(model):\n    return 1", "optimizer gives a int"),
    (f"{NET}def optimizer():\n    return 1", r"optimizer\(model\) fails: TypeError"),
]
LOSS = f"{NET}def loss(output, batch):\n    return "
FAILS = [
    (
        "model = nn.Linear(7, 4)",
        r"the model fails on a batch of it \(image float32 2×3×24×24, index, path\): RuntimeError: mat1 and",
    ),
    (
        "class Net(nn.Conv2d):\n    def forward(self, x):\n        return [super().forward(x)]\nmodel = Net(3, 4, 3)",
        "train.py: model gives a list; write loss",
    ),
    (f"{LOSS}output", "gives float32 2×4×22×22; it must be a tensor of one number"),
    (f"{LOSS}3.0", "gives a float; it must be"),
    (f"{LOSS}output.detach().mean()", "does not depend on any trained parameter"),
    (f"{LOSS}batch['label']", r"train.py:5: loss\(output, batch\) fails on .*: KeyError: 'label'"),
    (
        f"{NET}class optimizer:\n    zero_grad = print\n    def __init__(self, model): ...\n    def step(self): 1 / 0",
        "train.py:7: the optimiser fails on .*: ZeroDivisionError",
    ),
]


@pytest.mark.parametrize(("text", "told"), WRONG)
def test_a_file_that_cannot_be_used(text: str, told: str, file: Path) -> None:
    file.write_text(f"import torch\nfrom torch import nn\n{text}\n")
    with pytest.raises(BenchError, match=told):
        load_step(str(file))


@pytest.mark.parametrize(("text", "told"), FAILS)
def test_a_step_that_fails(text: str, told: str, tmp_path: Path, file: Path) -> None:
    file.write_text(f"import torch\nfrom torch import nn\n{text}\n")
    with pytest.raises(BenchError, match=told):
        one(side_of("image", tmp_path / "data"), load_step(str(file)))


@pytest.mark.parametrize(
    ("step", "device", "text"),
    [
        ("absent.py", None, "absent.py: no such file"),
        (".py", None, ".py: no such file"),
        ("absent", None, "there is no module absent; a file is named with its ending: absent.py"),
        ("no module.py:net", None, "no module.py: no such file"),
        ("a b", None, "is not a training step: give milliseconds"),
        ("nan", None, "give milliseconds per batch, more than 0"),
        ("-3", None, "give milliseconds per batch, more than 0"),
        ("0", None, "give milliseconds per batch, more than 0"),
        ("3", "cpu", "milliseconds are only waited for"),
        ("absent.py", "gpu", "--device is cpu, cuda or cuda:N"),
        ("absent.py", "mps:x", "--device is cpu, cuda or cuda:N"),
    ],
)
def test_what_is_no_step(
    step: str, device: str | None, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BenchError, match=text):
        load_step(step, device)


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    assert device_of("cpu").name == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device_of().name == "cpu"
    with pytest.raises(BenchError, match="--device is cpu, cuda or cuda:N that is there, not 'cuda:77'"):
        device_of("cuda:77")
    monkeypatch.setattr(torch, "empty", lambda *size, device: None)  # as if there were two
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda index: f"GPU {index}")
    assert [device_of(name).name for name in (None, "cuda:1")] == ["cuda:0 GPU 0", "cuda:1 GPU 1"]


def test_a_module_and_what_lies_beside_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "__init__.py").write_text("")
    (tmp_path / "nets" / "small.py").write_text(
        "from torch import nn\nclass Net(nn.Conv2d):\n    def __init__(self):\n        super().__init__(3, 4, 3)\n"
    )
    (tmp_path / "train.py").write_text("from nets.small import Net\nif __name__ == '__main__':\n    raise SystemExit\n")
    monkeypatch.chdir(tmp_path)
    assert load_step("nets.small:Net").model.__class__.__name__ == "Net"  # type: ignore[union-attr]
    assert load_step("train.py:Net").model.training  # type: ignore[union-attr]
    with pytest.raises(BenchError, match=r"nets\.small: there is no model in it, but Net"):
        load_step("nets.small")
