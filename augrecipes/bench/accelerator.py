"""Where a training step runs: the processor, or a CUDA GPU, which has to be copied to and waited for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from augrecipes.errors import BenchError


@dataclass(frozen=True)
class Device:
    """What a training step runs on.

    Attributes:
        where: as torch has it.
        name: for people: `cpu`, or `cuda:0 NVIDIA H100`.
    """

    where: torch.device
    name: str

    @property
    def apart(self) -> bool:
        """Whether it has memory of its own, which batches are copied to."""
        return self.where.type != "cpu"

    def wait(self) -> None:
        """Until it has done all that it was given; the processor has by then."""
        if self.apart:
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


def device_of(asked: str | None = None) -> Device:
    """The device that was asked for; None: the first GPU where there is one.

    Raises:
        BenchError: there is no such device.

    >>> device_of("cpu").name
    'cpu'
    >>> device_of("gpu")
    Traceback (most recent call last):
    augrecipes.errors.BenchError: --device is cpu, cuda or cuda:N, not 'gpu'
    """
    there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    wanted = asked or ("cuda" if there else "cpu")
    if wanted == "cpu":
        return Device(torch.device("cpu"), "cpu")
    kind, _, number = wanted.partition(":")
    if kind != "cuda" or (":" in wanted and not (number.isascii() and number.isdigit())):
        raise BenchError(f"--device is cpu, cuda or cuda:N, not {asked!r}")
    if not there:
        raise BenchError(f"--device {wanted}: torch {torch.__version__} finds no GPU; --device cpu runs everywhere")
    index = int(number or torch.cuda.current_device())
    if index >= there:
        raise BenchError(f"--device {wanted}: there are {there} GPUs, the last is cuda:{there - 1}")
    return Device(torch.device("cuda", index), f"cuda:{index} {torch.cuda.get_device_name(index)}")
