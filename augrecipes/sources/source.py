"""The protocol of everything that samples come from: columns, a length, and `read`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any


class Source(ABC):
    """Samples as they are before a recipe runs over them; `ar.Samples(source, recipe)` is the dataset of them.

    Its members are `columns`, `len()` and `read(index)`; a class that has the last two and does not derive from this
    one is a source as well. Files, archives, packed stores and what `ar.Samples` takes are read by the same protocol:
    `ds.source` is that of a dataset.

    Attributes:
        columns: what is known before samples are read, by name, a value for each: `label` (integers), `path` (what
            stands for a sample in messages, records and `sample["path"]`), `weight` and `group`. Others are your own.
        classes: names of the labels 0, 1, ..., or None.

    >>> class Ramp(Source):
    ...     columns = {"label": [5, 6, 7]}
    ...
    ...     def __len__(self):
    ...         return 3
    ...
    ...     def read(self, index):
    ...         return {"image": [[index]]}
    >>> Ramp()[2], Ramp().path(2), [row["image"] for row in Ramp()]
    ({'image': [[2]]}, 'Ramp[2]', [[[0]], [[1]], [[2]]])
    """

    columns: Mapping[str, Any] = MappingProxyType({})
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
        """What stands for a sample: its column `path`, or the class and the index."""
        paths = self.columns.get("path")
        return f"{type(self).__name__}[{index}]" if paths is None else str(paths[index])

    def digest(self) -> str:
        """A text that differs where the list of samples does: a loader's saved state belongs to one."""
        return ""

    def __getitem__(self, index: int) -> Mapping[str, Any]:
        return self.read(range(len(self))[index])


def is_source(value: Any) -> bool:
    """Whether a value has the members of a `Source`; what has items, too, is one if it has columns."""
    if isinstance(value, type) or not (hasattr(value, "__len__") and callable(getattr(value, "read", None))):
        return False
    return isinstance(value, Source) or hasattr(value, "columns") or not hasattr(value, "__getitem__")
