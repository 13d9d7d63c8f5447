"""A training step: milliseconds that are waited for, or a model of the user's own with its loss and its optimiser.

A file of the user's is run because it was named, as `--train-step train.py`; recipes never run code. It holds

- `model`: an `nn.Module`, or a class or function that makes one without arguments. `train.py:net` takes `net`. It gets
  the batch's image, of pairs the target of the smallest scale: (batch, C, H, W), of bags (batch, tiles, C, H, W).
- `loss(output, batch)`, if there is one: one number, from what the model gave and the whole batch, a dict. Without it
  the mean square of the output stands in; of pairs, where the shapes agree, that of its distance from the target of the
  largest scale.
- `optimizer(model)`, if there is one: an optimiser of the model's parameters. Without it plain SGD stands in.

As in a script, the folder of the file can be imported from; what stands under `if __name__ == "__main__":` is not run.

>>> import tempfile, pathlib
>>> file = pathlib.Path(tempfile.mkdtemp(), "train.py")
>>> _ = file.write_text('''
... import torch
... from torch import nn
...
... model = nn.Sequential(nn.Conv2d(3, 8, 3, stride=4), nn.ReLU(), nn.Flatten(), nn.LazyLinear(10))
...
... def loss(output, batch):
...     return nn.functional.cross_entropy(output, batch["label"])
...
... def optimizer(model):
...     return torch.optim.AdamW(model.parameters(), lr=1e-3)
... ''')
>>> import augrecipes as ar
>>> parts = []
>>> train = load_step(str(file), "cpu").of(ar.load("folder-128"))
>>> train({"image": torch.zeros(2, 3, 32, 32), "label": torch.tensor([0, 9])}, parts.append)
>>> parts, train.text.endswith("train.py, Sequential; loss(); AdamW")
(['forward', 'backward', 'optimiser'], True)
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from augrecipes.bench.accelerator import Device, device_of
from augrecipes.errors import AugrecipesError, BenchError
from augrecipes.recipe.model import Recipe
from augrecipes.user_code import UserModule, open_module

LOADING, WAITED = "loading", "training step"
_RATE = 1e-3  # of the optimiser that stands in
_LONGEST = 3_600_000.0  # ms

# Called with the name of a part when it is over.
Lap = Callable[[str], None]


@dataclass(frozen=True)
class Wait:
    """A step that takes so long and needs no processor: this thread sleeps, as it would while a GPU works."""

    ms: float
    device: Device

    @property
    def text(self) -> str:
        """For people."""
        return f"{self.ms:g} ms, waited for"

    def of(self, recipe: Recipe) -> Wait:
        """The same for every recipe."""
        del recipe
        return self

    def __call__(self, batch: Any, lap: Lap) -> None:
        """One step."""
        del batch
        time.sleep(self.ms / 1e3)
        lap(WAITED)


@dataclass(frozen=True)
class Taught:
    """A model of the user's, on its device."""

    module: UserModule
    model: nn.Module
    loss: Callable[[Any, Any], Any] | None
    optimizer: Any
    own_optimizer: bool
    device: Device

    def of(self, recipe: Recipe) -> Lesson:
        """As it learns from samples of a recipe."""
        outputs = {name: recipe.outputs.get(name, recipe.output) for name in recipe.scales or ("image",)}
        left = any(output.where == "device" for output in outputs.values())
        stage = recipe.device_stage().to(self.device.where) if left else None
        by_scale = sorted(recipe.scales, key=recipe.scales.__getitem__)
        return Lesson(self, recipe.name, stage, by_scale[0] if by_scale else "image", by_scale[-1] if by_scale else "")


@dataclass
class Lesson:
    """Steps of a user's model with samples of one recipe.

    Attributes:
        taught: the model.
        recipe: its name.
        stage: what is left of the recipe's output to be done on the device.
        takes: the key of what the model gets.
        wanted: of pairs the key of what its output is compared with, where there is no loss; else empty.
    """

    taught: Taught
    recipe: str
    stage: Any
    takes: str
    wanted: str
    _loss: str = field(default="loss()", init=False)

    @property
    def text(self) -> str:
        """For people, once a step has been made: what was run, and what stood in."""
        taught = self.taught
        optimizer = type(taught.optimizer).__name__ + ("" if taught.own_optimizer else " as a stand-in")
        return f"{taught.module.place}, {type(taught.model).__name__}; {self._loss}; {optimizer}"

    def __call__(self, batch: Any, lap: Lap) -> None:
        """One step; `lap` hears of every part when it is over.

        Raises:
            BenchError: the model, its loss or its optimiser fails; the user's file and line are named.
        """
        taught = self.taught
        if taught.device.apart:
            batch = taught.device.take(batch)
            lap("to device")
        if self.stage is not None:
            batch = self.stage(batch)
            lap("device stage")
        with self._blaming("the model", batch):
            output = taught.model(batch[self.takes])
        with self._blaming("loss(output, batch)", batch):
            loss = self._checked(self._loss_of(output, batch))
            lap("forward")
        with self._blaming("backward", batch):
            loss.backward()  # type: ignore[no-untyped-call]
            lap("backward")
        with self._blaming("the optimiser", batch):
            taught.optimizer.step()
            taught.optimizer.zero_grad()
            lap("optimiser")

    def _loss_of(self, output: Any, batch: Any) -> Any:
        if self.taught.loss is not None:
            return self.taught.loss(output, batch)
        if not isinstance(output, Tensor):
            raise BenchError(
                f"{self._where} gives a {type(output).__name__}; write loss(output, batch) beside it, which makes one "
                "number of it"
            )
        wanted = batch[self.wanted] if self.wanted else None
        if wanted is not None and wanted.shape == output.shape:
            self._loss = f"mean square of output − {self.wanted} as a stand-in for loss()"
            return (output - wanted).square().mean()
        self._loss = "mean square of the output as a stand-in for loss()"
        return output.square().mean()

    def _checked(self, loss: Any) -> Tensor:
        if not isinstance(loss, Tensor) or loss.numel() != 1:
            what = _say(loss) if isinstance(loss, Tensor) else f"a {type(loss).__name__}"
            raise BenchError(
                f"{self.taught.module.place}: loss(output, batch) gives {what}; it must be a tensor of one number, "
                "such as loss.mean()"
            )
        if not loss.requires_grad:
            raise BenchError(
                f"{self._where}: the loss does not depend on any parameter that is trained: is there a detach(), an "
                "item() or a no_grad() on the way?"
            )
        return loss

    @property
    def _where(self) -> str:
        return f"{self.taught.module.place}: {self.taught.module.name}"

    @contextmanager
    def _blaming(self, part: str, batch: Any) -> Iterator[None]:
        try:
            yield
        except AugrecipesError:
            raise
        except Exception as error:
            given = ", ".join(f"{key} {_say(value)}" if key == self.takes else key for key, value in batch.items())
            raise self.taught.module.failed(f"{part} fails on a batch of {self.recipe} ({given})", error) from error


Step = Wait | Taught


def load_step(text: str, device: str | None = None) -> Step:
    """What `--train-step` names.

    Args:
        text: milliseconds a batch; or `FILE.py` or `package.module`, and if need be `:NAME`.
        device: `cpu`, `cuda` or `cuda:N`; None: a GPU where there is one.

    Raises:
        BenchError: no such file, module, name or device; not a model; the file fails.

    >>> load_step("30").text
    '30 ms, waited for'
    """
    ms = _number(text)
    if ms is not None:
        if not 0 < ms <= _LONGEST:
            raise BenchError(f"--train-step {text}: milliseconds a batch are more than 0, and at most {_LONGEST:,.0f}")
        if device is not None:
            raise BenchError(f"--device {device}: milliseconds are waited for on no device; it is for a model of yours")
        return Wait(ms, device_of("cpu"))
    where, module = device_of(device), open_module(text, "model", "training step: give milliseconds,", BenchError)
    model = module.made(nn.Module, "an nn.Module").to(where.where).train()
    loss = getattr(module.content, "loss", None)
    if loss is not None and not callable(loss):
        raise BenchError(f"{module.place}: loss is a {type(loss).__name__}; it must be a function loss(output, batch)")
    given = getattr(module.content, "optimizer", None)
    optimizer = _optimizer(module, given, model)
    return Taught(module, model, loss, optimizer, given is not None, where)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else -1.0


def _optimizer(module: UserModule, given: Any, model: nn.Module) -> Any:
    if given is None:
        if not any(parameter.requires_grad for parameter in model.parameters()):
            raise BenchError(f"{module.place}: {module.name} has no parameters to train")
        return torch.optim.SGD(model.parameters(), lr=_RATE)
    made = given
    if callable(given):
        try:
            made = given(model)
        except Exception as error:
            raise module.failed("optimizer(model) fails", error) from error
    if not callable(getattr(made, "step", None)) or not callable(getattr(made, "zero_grad", None)):
        raise BenchError(
            f"{module.place}: optimizer gives a {type(made).__name__}; it must be a function optimizer(model) that "
            "returns an optimiser, such as torch.optim.AdamW(model.parameters())"
        )
    return made


def _say(value: Any) -> str:
    """A tensor's dtype and shape, or what else it is.

    >>> import torch
    >>> _say(torch.zeros(2, 3)), _say([torch.zeros(2)])
    ('float32 2×3', 'a list')
    """
    if not isinstance(value, Tensor):
        return f"a {type(value).__name__}"
    shape = "×".join(map(str, value.shape)) or "of no dimension"
    return f"{str(value.dtype).removeprefix('torch.')} {shape}"
