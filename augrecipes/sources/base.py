"""What samples come from: a length, and for each index a dict of arrays or encoded images. No torch, no recipes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any


class Source(ABC):
    """Samples as they are before a recipe runs over them; `ar.Samples(source, recipe)` is the dataset of them.

    Define `__len__` and `read`. Whatever else is defined here has a default, and a class that does not derive from this
    one, but has these methods, is a source as well.

    Attributes:
        labels: one integer for each sample, where they are known before samples are read; or None.
        classes: names of the labels 0, 1, ..., or None.

    >>> class Ramp(Source):
    ...     def __len__(self):
    ...         return 3
    ...
    ...     def read(self, index):
    ...         return {"image": [[index]], "label": index}
    >>> Ramp()[2], Ramp().path(2), [row["label"] for row in Ramp()]
    ({'image': [[2]], 'label': 2}, 'Ramp[2]', [0, 1, 2])
    """

    labels: Any = None
    classes: Sequence[str] | None = None

    @abstractmethod
    def __len__(self) -> int:
        """The number of samples."""

    @abstractmethod
    def read(self, index: int) -> Mapping[str, Any]:
        """A sample: `image`, or the targets of a pair, and what else it has, such as `mask`, `boxes` and `label`.

        An image is an array H×W×C, or anything else that `ar.Samples` takes for one: encoded bytes, or a file's path.
        """

    def path(self, index: int) -> str:
        """What stands for a sample in messages, records and `sample["path"]`."""
        return f"{type(self).__name__}[{index}]"

    def digest(self) -> str:
        """A text that differs where the list of samples does: a loader's saved state belongs to one."""
        return ""

    def __getitem__(self, index: int) -> Mapping[str, Any]:
        if not 0 <= index < len(self):
            raise IndexError(f"index {index} is out of range for {len(self)} samples")
        return self.read(index)


_METHODS = ("__len__", "read", "path")


def is_source(value: Any) -> bool:
    """Whether a value has the methods of a `Source`."""
    return isinstance(value, Source) or all(callable(getattr(value, name, None)) for name in _METHODS)
