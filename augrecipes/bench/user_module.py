"""Python of the user's own, by its file or its module: what it holds, and where it failed."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from torch import Tensor

from augrecipes.errors import BenchError

T = TypeVar("T")
_DEFAULT = "model"
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@dataclass(frozen=True)
class UserModule:
    """A file that was run, or a module that was imported.

    Attributes:
        place: as the user gave it: file or module.
        name: what was asked for in it.
        content: the module.
    """

    place: str
    name: str
    content: ModuleType

    def get(self, name: str) -> Any:
        """What has this name; None where nothing has."""
        return getattr(self.content, name, None)

    def made(self, kind: type[T], what: str) -> T:
        """What was asked for: it is a `kind`, or makes one when it is called without arguments.

        Raises:
            BenchError: there is no such name, it fails, or it is something else.
        """
        if not hasattr(self.content, self.name):
            fitting = [key for key, value in vars(self.content).items() if _fits(value, kind, self.content.__name__)]
            there = f"{', '.join(fitting)}: say {self.place}:{fitting[0]}" if fitting else f"nothing that is {what}"
            raise BenchError(f"{self.place}: there is no {self.name} in it, but {there}")
        found = self.get(self.name)
        if not isinstance(found, kind) and callable(found):
            try:
                found = found()
            except Exception as error:
                raise self.failed(f"{self.name}(), called without arguments, fails", error) from error
        if not isinstance(found, kind):
            raise BenchError(
                f"{self.place}: {self.name} is a {type(found).__name__}; it must be {what}, or a function without "
                "arguments that makes one"
            )
        return found

    def failed(self, what: str, error: BaseException) -> BenchError:
        """An error of the user's code, with the line that it came from."""
        return _failed(self.place, getattr(self.content, "__file__", None), what, error)


def open_module(text: str) -> UserModule:
    """Run `FILE.py`, or import `package.module`; `:NAME` behind it says what is asked for, else `model`.

    Raises:
        BenchError: there is no such file or module, or it fails.

    >>> open_module("absent.py:net")
    Traceback (most recent call last):
    augrecipes.errors.BenchError: absent.py: no such file
    """
    place, colon, name = text.rpartition(":")
    if not colon or not name.isidentifier():
        place, name = text, _DEFAULT
    if place.endswith(".py"):
        return UserModule(place, name, _run(place))
    if _DOTTED.fullmatch(place):
        return UserModule(place, name, _imported(place))
    raise BenchError(
        f"{text!r} is no training step: give milliseconds, FILE.py, FILE.py:NAME, package.module or package.module:NAME"
    )


def _run(place: str) -> ModuleType:
    file = Path(place).resolve()
    if not file.is_file():
        raise BenchError(f"{place}: {'no file, but a folder' if file.is_dir() else 'no such file'}")
    _importable(file.parent)
    name = f"augrecipes_user_{file.stem}"  # not the stem alone: another module may have that name
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made  # data classes and pickles look for it
    try:
        spec.loader.exec_module(made)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise _failed(place, str(file), "it fails when it is run", error) from error
    return made


def _imported(place: str) -> ModuleType:
    _importable(Path.cwd())
    try:
        return importlib.import_module(place)
    except (Exception, SystemExit) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and (place == missing or place.startswith(f"{missing}.")):
            raise BenchError(f"there is no module {missing}; a file is named with its ending: {place}.py") from error
        raise _failed(place, None, "it fails when it is imported", error) from error


def _importable(folder: Path) -> None:
    """What lies in a folder can be imported, as Python itself does for a script."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _fits(value: Any, kind: type[Any], module: str) -> bool:
    own = isinstance(value, type) and value.__module__ == module and issubclass(value, kind)
    return own or isinstance(value, kind)


def _failed(place: str, file: str | None, what: str, error: BaseException) -> BenchError:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    where = f"{place}:{lines[-1]}" if lines else place
    text = str(error).strip()
    more = ""
    if isinstance(error, SystemExit):
        more = '; what it does as a script belongs under `if __name__ == "__main__":`'
    return BenchError(f"{where}: {what}: {type(error).__name__}{f': {text}' if text else ''}{more}")


def say(value: Any) -> str:
    """A tensor's dtype and shape, or what else it is.

    >>> import torch
    >>> say(torch.zeros(2, 3)), say([torch.zeros(2)])
    ('float32 2×3', 'a list')
    """
    if not isinstance(value, Tensor):
        return f"a {type(value).__name__}"
    shape = "×".join(map(str, value.shape)) or "of no dimension"
    return f"{str(value.dtype).removeprefix('torch.')} {shape}"
