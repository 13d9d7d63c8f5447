"""Run the user's own Python, by file or by module; get objects from it, and say where it failed.

It runs only because the user named it, as an argument of a command or a function; recipes and data cannot name code.
"""

import importlib
import importlib.util
import os
import re
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from augrecipes.errors import AugrecipesError

T = TypeVar("T")
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@dataclass(frozen=True)
class UserModule:
    """A file that was run, or a module that was imported.

    Attributes:
        place: the file or module, as the user gave it.
        name: the name of the requested object.
        content: the module.
        error: the class of errors to raise.
    """

    place: str
    name: str
    content: ModuleType
    error: type[AugrecipesError] = AugrecipesError

    def instance(self, kind: type[T], what: str) -> T:
        """Return the requested object if it is a `kind`; else call it without arguments to make one.

        Raises:
            AugrecipesError: there is no such name, it fails, or it is something else.
        """

        def fits(value: Any) -> bool:
            own = isinstance(value, type) and value.__module__ == self.content.__name__
            return isinstance(value, kind) or (own and issubclass(value, kind))

        fitting = [key for key, value in vars(self.content).items() if fits(value)]
        value = self.value(
            f"{', '.join(fitting)}: say {self.place}:{fitting[0]}" if fitting else f"nothing that is {what}"
        )
        if not isinstance(value, kind) and callable(value):
            value = self.call(value)
        if not isinstance(value, kind):
            raise self.error(
                f"{self.place}: {self.name} is a {type(value).__name__}; it must be {what}, or a function without "
                "arguments that makes one"
            )
        return value

    def value(self, there: str = "") -> Any:
        """Return the requested object; where there is no such name, raise an error that lists what there is."""
        if not hasattr(self.content, self.name):
            there = there or ", ".join(key for key in vars(self.content) if not key.startswith("_")) or "nothing"
            raise self.error(f"{self.place}: there is no {self.name} in it, but {there}")
        return getattr(self.content, self.name)

    def call(self, function: Any) -> Any:
        """Call a function of the user's without arguments; where it fails, raise an error that names the line."""
        try:
            return function()
        except Exception as error:
            raise self.failure(f"{self.name}(), called without arguments, fails", error) from error

    def failure(self, what: str, error: BaseException) -> AugrecipesError:
        """Return the error for an exception of the user's code, with the line that raised it."""
        return self.error(_failure(self.place, getattr(self.content, "__file__", None), what, error))


def is_object_path(text: str) -> bool:
    """Whether a text names an object in a Python file or module: `FILE.py:NAME`, `package.module:NAME`.

    >>> [is_object_path(text) for text in ("data.py:train", "my.data:train", "data.py", "C:photos")]
    [True, True, False, False]
    """
    place, _, name = text.rpartition(":")
    return len(place) > 1 and name.isidentifier() and (place.endswith(".py") or bool(_DOTTED.fullmatch(place)))


def open_module(text: str, name: str, what: str, error: type[AugrecipesError] = AugrecipesError) -> UserModule:
    """Run `FILE.py`, or import `package.module`; a suffix `:NAME` names the requested object.

    Args:
        text: the file or module, with or without `:NAME`.
        name: the name of the requested object, unless the text gives it.
        what: what is wanted, in words, for errors.
        error: the class of errors to raise.

    Raises:
        AugrecipesError: there is no such file or module, or it fails.

    >>> open_module("absent.py:net", "model", "a training step")
    Traceback (most recent call last):
    augrecipes.errors.AugrecipesError: absent.py: no such file
    """
    place, colon, asked = text.rpartition(":")
    if not colon or not asked.isidentifier():
        place, asked = text, name
    if not place.endswith(".py") and not _DOTTED.fullmatch(place):
        raise error(f"{text!r} is not a {what} FILE.py, FILE.py:NAME, package.module or package.module:NAME")
    return UserModule(place, asked, _load(place, error), error)


def run_plugin(place: str) -> None:
    """Import a file that registers classes, as a module named after it, so that worker processes can import it, too.

    Raises:
        AugrecipesError: there is no such file, it fails, or another module has its name.
    """
    file = Path(os.path.realpath(place))  # realpath does not raise on links that loop
    if file.suffix != ".py" or not file.is_file():
        raise AugrecipesError(f"{place}: not a Python file")
    module = _load(file.stem, AugrecipesError, file.parent)
    origin = getattr(module, "__file__", None)
    if origin is None or Path(os.path.realpath(origin)) != file:
        raise AugrecipesError(f"{place}: another module is called {file.stem}: give the file another name")


def _load(place: str, wrong: type[AugrecipesError], folder: Path | None = None) -> ModuleType:
    """Run a file, or import a module, from `folder` or the current folder."""
    file = Path(os.path.realpath(place)) if place.endswith(".py") else None
    if file is not None and not file.is_file():
        raise wrong(f"{place}: {'a folder, not a file' if file.is_dir() else 'no such file'}")
    folder = folder or (file.parent if file else Path.cwd())
    if str(folder) not in sys.path:  # modules beside a script can be imported, as with Python itself
        sys.path.insert(0, str(folder))
    try:
        return _run(file) if file else importlib.import_module(place)
    except (Exception, SystemExit) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) and not file else None
        if missing and (place == missing or place.startswith(f"{missing}.")):
            raise wrong(f"there is no module {missing}; a file is named with its ending: {place}.py") from error
        what = f"it fails when it is {'run' if file else 'imported'}"
        raise wrong(_failure(place, str(file) if file else None, what, error)) from error


def _run(file: Path) -> ModuleType:
    name = f"augrecipes_user_{file.stem}"  # not the stem alone: another module may have that name
    spec: Any = importlib.util.spec_from_file_location(name, file)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # where dataclasses and pickle look for it
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _failure(place: str, file: str | None, what: str, error: BaseException) -> str:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    where, text = f"{place}:{lines[-1]}" if lines else place, str(error).strip()
    script = '; what it does as a script belongs under `if __name__ == "__main__":`'
    more = script if isinstance(error, SystemExit) else ""
    return f"{where}: {what}: {type(error).__name__}{f': {text}' if text else ''}{more}"
