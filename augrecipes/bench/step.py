"""A training step: a wait of some milliseconds, or the user's own model with its loss and its optimiser.

The user's file runs because the command names it, as in `--train-step train.py`; recipes never run code. It defines

- `model`: an `nn.Module`, or a class or function that returns one without arguments; `train.py:net` names another. It
  gets the batch's images, (batch, C, H, W); for pairs, the target of the smallest scale; for bags, (batch, tiles, C, H,
  W). Views are passed name by name, (batch · count, C, H, W), and its outputs concatenated in that order.
- `loss(output, batch)`, optional: a scalar from the model's output and the whole batch, a dict. The default is the mean
  square of the output; for pairs of equal shapes, the mean squared error against the target of the largest scale.
- `optimizer(model)`, optional: an optimiser of the model's parameters. The default is plain SGD.

As in a script, the file can import from its folder; code under `if __name__ == "__main__":` does not run.

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
>>> train = load_step(str(file), "cpu").for_recipe(ar.load("folder-128"))
>>> train({"image": torch.zeros(2, 3, 32, 32), "label": torch.tensor([0, 9])}, parts.append)
>>> parts, train.text.endswith("train.py, Sequential; loss(); AdamW")
(['forward', 'backward', 'optimiser'], True)
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from augrecipes.errors import AugrecipesError, BenchError
from augrecipes.recipe.model import Recipe
from augrecipes.user_code import UserModule, open_module

LOADING = "loading"
_RATE = 1e-3  # learning rate of the default optimiser
_LONGEST = 3_600_000.0  # ms

# Called with the name of a part at its end.
Mark = Callable[[str], None]


@dataclass(frozen=True)
class Device:
    """The device of a training step: the CPU, or a CUDA GPU, which needs copies and synchronisation.

    Attributes:
        where: the torch device.
        name: `cpu`, or `cuda:0 NVIDIA H100`.
    """

    where: torch.device
    name: str

    @property
    def is_separate(self) -> bool:
        """Whether it has memory of its own, so that batches must be copied."""
        return self.where.type != "cpu"

    def wait(self) -> None:
        """Wait until a GPU has done all its work; the CPU works synchronously."""
        if self.is_separate:
            torch.cuda.synchronize(self.where)

    def take(self, batch: Any) -> Any:
        """Copy every tensor of a batch to the device, in nested dicts and lists too.

        >>> Device(torch.device("cpu"), "cpu").take({"image": [torch.zeros(2)], "path": ["a"]})
        {'image': [tensor([0., 0.])], 'path': ['a']}
        """
        if isinstance(batch, torch.Tensor):
            return batch.to(self.where, non_blocking=True)
        if isinstance(batch, dict):
            return {key: self.take(value) for key, value in batch.items()}
        return [self.take(value) for value in batch] if isinstance(batch, list) else batch


def device_of(name: str | None = None) -> Device:
    """Return the device of a name; None: the current GPU if there is one, else the CPU.

    Raises:
        BenchError: the device does not exist.

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
    except (RuntimeError, AssertionError) as error:  # torch built without CUDA asserts
        why = str(error).partition("\n")[0]
        raise BenchError(f"--device is cpu, cuda or cuda:N that is there, not {name!r}: {why}") from None
    if where.type == "cpu":
        return Device(where, "cpu")
    index = torch.cuda.current_device() if where.index is None else where.index
    return Device(torch.device("cuda", index), f"cuda:{index} {torch.cuda.get_device_name(index)}")


@dataclass(frozen=True)
class Wait:
    """A training step that only takes time: the thread sleeps, as it would while a GPU works."""

    ms: float
    device: Device

    @property
    def text(self) -> str:
        """The step in words."""
        return f"{self.ms:g} ms, waited for"

    def for_recipe(self, recipe: Recipe) -> "Wait":
        """Return the step itself, which is the same for every recipe."""
        return self

    def __call__(self, batch: Any, mark: Mark) -> None:
        """Run one step."""
        time.sleep(self.ms / 1e3)
        mark("training step")


@dataclass
class ModelStep:
    """Training steps of the user's own model.

    Attributes:
        module: the user's file or module.
        model: the model.
        loss: the user's loss, called with output and batch; None: a mean square stands in.
        optimizer: the user's optimiser, or plain SGD.
        stands_in: whether plain SGD stands in for the user's optimiser.
        device: the model's device.
        recipe: name of the recipe that makes the samples.
        stage: the device stage of the recipe's output, if it has one.
        source: batch key of the model's input, unless there are views.
        views: batch keys of the views.
        target: for pairs, batch key of the target of the default loss; else empty.
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

    def for_recipe(self, recipe: Recipe) -> "ModelStep":
        """Return the step for samples of a recipe, with the same model."""
        outputs = [recipe.outputs.get(name, recipe.output) for name in recipe.scales or ("image",)]
        staged = any(output.where == "device" for output in outputs)
        stage = recipe.device_stage().to(self.device.where) if staged else None
        targets = sorted(recipe.scales, key=recipe.scales.__getitem__) or ["image", ""]
        keys: Any = {"source": targets[0], "target": targets[-1], "views": tuple(view.name for view in recipe.views)}
        return replace(self, recipe=recipe.name, stage=stage, **keys)

    @property
    def text(self) -> str:
        """Model, loss and optimiser in words; the loss is known after the first step."""
        optimizer = type(self.optimizer).__name__ + " as a stand-in" * self.stands_in
        return f"{self.module.place}, {type(self.model).__name__}; {self._loss}; {optimizer}"

    def __call__(self, batch: Any, mark: Mark) -> None:
        """Run one step, and call `mark` at the end of each part.

        Raises:
            BenchError: the model, its loss or its optimiser fails; the error names the user's file and line.
        """
        if self.device.is_separate:
            batch = self.device.take(batch)
            mark("to device")
        if self.stage is not None:
            batch = self.stage(batch)
            mark("device stage")
        part = "the model"
        try:
            views = [self.model(batch[name].flatten(0, 1)) for name in self.views if name in batch]
            output = torch.cat(views) if views else self.model(batch[self.source])
            part = "loss(output, batch)"
            loss = self._loss_of(output, batch)
            mark("forward")
            part = "backward"
            loss.backward()  # type: ignore[no-untyped-call]
            mark("backward")
            part = "the optimiser"
            self.optimizer.step()
            self.optimizer.zero_grad()
            mark("optimiser")
        except AugrecipesError:
            raise
        except Exception as error:
            names = (self.source, *self.views)
            keys = ", ".join(f"{key} {_describe(value)}" if key in names else key for key, value in batch.items())
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
            what = f"gives {_describe(loss)}; it must be a tensor of one number, as loss.mean()"
            raise BenchError(f"{place}: loss(output, batch) {what}")
        if not loss.requires_grad:
            what = "has a loss that does not depend on any trained parameter: is there a detach()?"
            raise BenchError(f"{place}: {name} {what}")
        return loss


def load_step(text: str, device: str | None = None) -> Wait | ModelStep:
    """Load the training step that `--train-step` names.

    Args:
        text: milliseconds per batch; or `FILE.py` or `package.module`, optionally with `:NAME`.
        device: `cpu`, `cuda` or `cuda:N`; None: a GPU if there is one.

    Raises:
        BenchError: the file, module, name or device does not exist; it is not a model; or the file fails.

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


def _describe(value: Any) -> str:
    """Describe a tensor by dtype and shape, anything else by its type.

    >>> import torch
    >>> _describe(torch.zeros(2, 3)), _describe([torch.zeros(2)])
    ('float32 2×3', 'a list')
    """
    if not isinstance(value, Tensor):
        return f"a {type(value).__name__}"
    shape = "×".join(map(str, value.shape)) or "of no dimension"
    return f"{str(value.dtype).removeprefix('torch.')} {shape}"
