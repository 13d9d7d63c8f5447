"""A training step: milliseconds that are waited for, or a model of the user's own with its loss and its optimiser.

A file of the user's is run because it was named, as `--train-step train.py`; recipes never run code. It holds

- `model`: an `nn.Module`, or a class or function that makes one without arguments. `train.py:net` takes `net`. It gets
  the batch's image, of pairs the target of the smallest scale: (batch, C, H, W), of bags (batch, tiles, C, H, W). Of
  views it gets those of each name in turn, (batch · count, C, H, W); what it gives of them is joined in this order.
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

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from augrecipes.errors import AugrecipesError, BenchError
from augrecipes.recipe.model import Recipe
from augrecipes.user_code import UserModule, open_module

LOADING, WAITED = "loading", "training step"
_RATE = 1e-3  # of the optimiser that stands in
_LONGEST = 3_600_000.0  # ms

# Called with the name of a part when it is over.
Lap = Callable[[str], None]


@dataclass(frozen=True)
class Device:
    """What a training step runs on: the processor, or a CUDA GPU, which has to be copied to and waited for.

    Attributes:
        where: as torch has it.
        name: `cpu`, or `cuda:0 NVIDIA H100`.
    """

    where: torch.device
    name: str

    @property
    def is_separate(self) -> bool:
        """Whether it has memory of its own, which batches are copied to."""
        return self.where.type != "cpu"

    def wait(self) -> None:
        """Until it has done all its work; the processor has by then."""
        if self.is_separate:
            torch.cuda.synchronize(self.where)

    def take(self, batch: Any) -> Any:
        """The batch with every tensor on the device, those inside dicts and lists too.

        >>> Device(torch.device("cpu"), "cpu").take({"image": [torch.zeros(2)], "path": ["a"]})
        {'image': [tensor([0., 0.])], 'path': ['a']}
        """
        if isinstance(batch, torch.Tensor):
            return batch.to(self.where, non_blocking=True)
        if isinstance(batch, dict):
            return {key: self.take(value) for key, value in batch.items()}
        return [self.take(value) for value in batch] if isinstance(batch, list) else batch


def device_of(name: str | None = None) -> Device:
    """The device of a name; None: the first GPU where there is one.

    Raises:
        BenchError: there is no such device.

    >>> device_of("cpu").name
    'cpu'
    >>> device_of("gpu")
    Traceback (most recent call last):
    augrecipes.errors.BenchError: --device is cpu, cuda or cuda:N that is there, not 'gpu': ...
    """
    name = name or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        where = torch.device(name)
        if where.type not in ("cpu", "cuda"):
            raise RuntimeError(f"models are trained on no {where.type} here")
        torch.empty(1, device=where)
    except (RuntimeError, AssertionError) as error:  # torch that has no CUDA asserts
        why = str(error).partition("\n")[0]
        raise BenchError(f"--device is cpu, cuda or cuda:N that is there, not {name!r}: {why}") from None
    if where.type == "cpu":
        return Device(where, "cpu")
    index = torch.cuda.current_device() if where.index is None else where.index
    return Device(torch.device("cuda", index), f"cuda:{index} {torch.cuda.get_device_name(index)}")


@dataclass(frozen=True)
class Wait:
    """A step that takes so long and needs no processor: this thread sleeps, as it would while a GPU works."""

    ms: float
    device: Device

    @property
    def text(self) -> str:
        """In words."""
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


@dataclass
class ModelStep:
    """Steps of a model of the user's, on its device.

    Attributes:
        module: where it was found.
        model: it.
        loss: the user's, called with output and batch; None: a mean square stands in.
        optimizer: the user's, or one that stands in.
        stands_in: whether it does.
        device: that the model is on.
        recipe: whose samples are learnt from.
        stage: what is left of the recipe's output to be done on the device.
        source: the key of what the model gets, where there are no views.
        views: keys of these.
        target: of pairs the key of what its output is compared with, where there is no loss; else empty.
    """

    module: UserModule
    model: nn.Module
    loss: Callable[[Any, Any], Any] | None
    optimizer: Any
    stands_in: bool
    device: Device
    recipe: str = ""
    stage: Any = None
    source: str = "image"
    views: tuple[str, ...] = ()
    target: str = ""
    _loss: str = field(default="loss()", init=False)

    def of(self, recipe: Recipe) -> ModelStep:
        """The same model, as it learns from samples of a recipe."""
        outputs = [recipe.outputs.get(name, recipe.output) for name in recipe.scales or ("image",)]
        left = any(output.where == "device" for output in outputs)
        stage = recipe.device_stage().to(self.device.where) if left else None
        targets = sorted(recipe.scales, key=recipe.scales.__getitem__) or ["image", ""]
        keys: Any = {"source": targets[0], "target": targets[-1], "views": tuple(view.name for view in recipe.views)}
        return replace(self, recipe=recipe.name, stage=stage, **keys)

    @property
    def text(self) -> str:
        """In words, once a step has been made: what was run, and what stood in."""
        optimizer = type(self.optimizer).__name__ + " as a stand-in" * self.stands_in
        return f"{self.module.place}, {type(self.model).__name__}; {self._loss}; {optimizer}"

    def __call__(self, batch: Any, lap: Lap) -> None:
        """One step; `lap` hears of every part when it is over.

        Raises:
            BenchError: the model, its loss or its optimiser fails; the user's file and line are named.
        """
        if self.device.is_separate:
            batch = self.device.take(batch)
            lap("to device")
        if self.stage is not None:
            batch = self.stage(batch)
            lap("device stage")
        part = "the model"
        try:
            views = [self.model(batch[name].flatten(0, 1)) for name in self.views if name in batch]
            output = torch.cat(views) if views else self.model(batch[self.source])
            part = "loss(output, batch)"
            loss = self._loss_of(output, batch)
            lap("forward")
            part = "backward"
            loss.backward()  # type: ignore[no-untyped-call]
            lap("backward")
            part = "the optimiser"
            self.optimizer.step()
            self.optimizer.zero_grad()
            lap("optimiser")
        except AugrecipesError:
            raise
        except Exception as error:
            names = (self.source, *self.views)
            keys = ", ".join(f"{key} {_shown(value)}" if key in names else key for key, value in batch.items())
            raise self.module.failure(f"{part} fails on a batch of {self.recipe} ({keys})", error) from error

    def _loss_of(self, output: Any, batch: Any) -> Tensor:
        place, name = self.module.place, self.module.name
        if self.loss is not None:
            loss = self.loss(output, batch)
        elif not isinstance(output, Tensor):
            what = f"gives a {type(output).__name__}; write loss(output, batch), which makes one number of it"
            raise BenchError(f"{place}: {name} {what}")
        elif self.target and batch[self.target].shape == output.shape:
            self._loss = f"mean square of output − {self.target} as a stand-in for loss()"
            loss = (output - batch[self.target]).square().mean()
        else:
            self._loss = "mean square of the output as a stand-in for loss()"
            loss = output.square().mean()
        if not isinstance(loss, Tensor) or loss.numel() != 1:
            what = f"gives {_shown(loss)}; it must be a tensor of one number, as loss.mean()"
            raise BenchError(f"{place}: loss(output, batch) {what}")
        if not loss.requires_grad:
            what = "has a loss that does not depend on any trained parameter: is there a detach()?"
            raise BenchError(f"{place}: {name} {what}")
        return loss


def load_step(text: str, device: str | None = None) -> Wait | ModelStep:
    """What `--train-step` names.

    Args:
        text: milliseconds a batch; or `FILE.py` or `package.module`, and if need be `:NAME`.
        device: `cpu`, `cuda` or `cuda:N`; None: a GPU where there is one.

    Raises:
        BenchError: no such file, module, name or device; not a model; the file fails.

    >>> load_step("30").text
    '30 ms, waited for'
    """
    try:
        ms = float(text)
    except ValueError:
        return _load_model(text, device_of(device))
    if not 0 < ms <= _LONGEST:
        raise BenchError(f"--train-step {text}: give milliseconds per batch, more than 0 and at most {_LONGEST:,.0f}")
    if device is not None:
        raise BenchError(f"--device {device}: leave it out; it is for a model, and milliseconds are only waited for")
    return Wait(ms, device_of("cpu"))


def _load_model(text: str, device: Device) -> ModelStep:
    module = open_module(text, "model", "training step: give milliseconds,", BenchError)
    model = module.instance(nn.Module, "an nn.Module").to(device.where).train()
    loss, optimizer = (getattr(module.content, name, None) for name in ("loss", "optimizer"))
    if loss is not None and not callable(loss):
        raise BenchError(f"{module.place}: loss is a {type(loss).__name__}; it must be a function loss(output, batch)")
    stands_in = optimizer is None
    if stands_in and not any(parameter.requires_grad for parameter in model.parameters()):
        raise BenchError(f"{module.place}: {module.name} has no parameters to train")
    try:
        optimiser = torch.optim.SGD(model.parameters(), lr=_RATE) if stands_in else optimizer
        optimiser = optimizer(model) if callable(optimizer) else optimiser
    except Exception as error:
        raise module.failure("optimizer(model) fails", error) from error
    if not all(callable(getattr(optimiser, name, None)) for name in ("step", "zero_grad")):
        raise BenchError(
            f"{module.place}: optimizer gives a {type(optimiser).__name__}; it must be a function optimizer(model) "
            "that returns an optimiser, such as torch.optim.AdamW(model.parameters())"
        )
    return ModelStep(module, model, loss, optimiser, stands_in, device)


def _shown(value: Any) -> str:
    """A tensor's dtype and shape, or what else it is.

    >>> import torch
    >>> _shown(torch.zeros(2, 3)), _shown([torch.zeros(2)])
    ('float32 2×3', 'a list')
    """
    if not isinstance(value, Tensor):
        return f"a {type(value).__name__}"
    shape = "×".join(map(str, value.shape)) or "of no dimension"
    return f"{str(value.dtype).removeprefix('torch.')} {shape}"
