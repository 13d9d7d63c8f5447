"""Source: the interface of everything that yields samples (columns, a length, and `read`)."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any


class Source(ABC):
    """A source of samples, before a recipe runs over them; `ar.Samples(source, recipe)` is their dataset.

    Its members are `columns`, `len()` and `read(index)`; a class that has the last two is a source even if it does not
    derive from this class. Files, archives, packed stores and the sources in `ar.Samples` share this interface: every
    dataset has its source as `ds.source`.

    Attributes:
        columns: values that are known before samples are read, one per sample, by name: `label` (integers), `path`
            (identifies a sample in messages, records and `sample["path"]`), `weight` and `group`. You may add others.
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
        """A sample: `image`, or the targets of a pair, and its other parts, such as `mask`, `boxes` and `label`.

        An image is an array H×W×C, or anything else that `ar.Samples` accepts: encoded bytes, or a file's path.
        """

    def path(self, index: int) -> str:
        """The path that identifies a sample: from the column `path`, or the class name and the index."""
        paths = self.columns.get("path")
        return f"{type(self).__name__}[{index}]" if paths is None else str(paths[index])

    def digest(self) -> str:
        """A text that identifies the list of samples; a loader refuses a saved state of another list."""
        return ""

    def __getitem__(self, index: int) -> Mapping[str, Any]:
        return self.read(range(len(self))[index])


def is_source(value: Any) -> bool:
    """Whether a value has the members of a `Source`; an object that also has items must have columns."""
    if isinstance(value, type) or not (hasattr(value, "__len__") and callable(getattr(value, "read", None))):
        return False
    return isinstance(value, Source) or hasattr(value, "columns") or not hasattr(value, "__getitem__")
