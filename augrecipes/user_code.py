"""Python of the user's own, by its file or its module: what it holds, and where it failed.

It is run because the user named it, as an argument of a command or a function; no recipe and no data name any.
"""

from __future__ import annotations

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
        place: as the user gave it: file or module.
        name: what was asked for in it.
        content: the module.
        error: what is raised where it is not as it should be.
    """

    place: str
    name: str
    content: ModuleType
    error: type[AugrecipesError] = AugrecipesError

    def made(self, kind: type[T], what: str) -> T:
        """What was asked for: it is a `kind`, or makes one when it is called without arguments.

        Raises:
            AugrecipesError: there is no such name, it fails, or it is something else.
        """

        def fits(value: Any) -> bool:
            own = isinstance(value, type) and value.__module__ == self.content.__name__
            return isinstance(value, kind) or (own and issubclass(value, kind))

        fitting = [key for key, value in vars(self.content).items() if fits(value)]
        found = self.found(
            f"{', '.join(fitting)}: say {self.place}:{fitting[0]}" if fitting else f"nothing that is {what}"
        )
        if not isinstance(found, kind) and callable(found):
            found = self.called(found)
        if not isinstance(found, kind):
            raise self.error(
                f"{self.place}: {self.name} is a {type(found).__name__}; it must be {what}, or a function without "
                "arguments that makes one"
            )
        return found

    def found(self, there: str = "") -> Any:
        """What was asked for; an error where there is no such name, which says what there is."""
        if not hasattr(self.content, self.name):
            there = there or ", ".join(key for key in vars(self.content) if not key.startswith("_")) or "nothing"
            raise self.error(f"{self.place}: there is no {self.name} in it, but {there}")
        return getattr(self.content, self.name)

    def called(self, function: Any) -> Any:
        """What a function of the user's returns without arguments; where it fails, an error with the line."""
        try:
            return function()
        except Exception as error:
            raise self.failed(f"{self.name}(), called without arguments, fails", error) from error

    def failed(self, what: str, error: BaseException) -> AugrecipesError:
        """An error of the user's code, with the line that it came from."""
        return self.error(_failed(self.place, getattr(self.content, "__file__", None), what, error))


def is_named(text: str) -> bool:
    """Whether a text names something in a file of Python, or in a module: `FILE.py:NAME`, `package.module:NAME`.

    >>> is_named("data.py:train"), is_named("my.data:train"), is_named("data.py"), is_named("C:photos")
    (True, True, False, False)
    """
    place, _, name = text.rpartition(":")
    return len(place) > 1 and name.isidentifier() and (place.endswith(".py") or bool(_DOTTED.fullmatch(place)))


def open_module(text: str, name: str, what: str, error: type[AugrecipesError] = AugrecipesError) -> UserModule:
    """Run `FILE.py`, or import `package.module`; `:NAME` behind it says what is asked for.

    Args:
        text: it.
        name: what is asked for, unless the text says it.
        what: is wanted, in words, for texts that name neither.
        error: what is raised where it is not as it should be.

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
    return UserModule(place, asked, _loaded(place, error), error)


def run_plugin(place: str) -> None:
    """Import a file that registers classes, as a module of its own name, so that processes that are started find it.

    Raises:
        AugrecipesError: there is no such file, it fails, or another module has its name.
    """
    file = Path(os.path.realpath(place))  # which says nothing of links that loop
    if file.suffix != ".py" or not file.is_file():
        raise AugrecipesError(f"{place}: not a Python file")
    module = _loaded(file.stem, AugrecipesError, file.parent)
    found = getattr(module, "__file__", None)
    if found is None or Path(os.path.realpath(found)) != file:
        raise AugrecipesError(f"{place}: another module is called {file.stem}: give the file another name")


def _loaded(place: str, wrong: type[AugrecipesError], folder: Path | None = None) -> ModuleType:
    """A file that is run, or a module that is imported from a folder, or from the current one."""
    file = Path(os.path.realpath(place)) if place.endswith(".py") else None
    if file is not None and not file.is_file():
        raise wrong(f"{place}: {'a folder, not a file' if file.is_dir() else 'no such file'}")
    folder = folder or (file.parent if file else Path.cwd())
    if str(folder) not in sys.path:  # what lies beside a script can be imported, as with Python itself
        sys.path.insert(0, str(folder))
    try:
        return _run(file) if file else importlib.import_module(place)
    except (Exception, SystemExit) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) and not file else None
        if missing and (place == missing or place.startswith(f"{missing}.")):
            raise wrong(f"there is no module {missing}; a file is named with its ending: {place}.py") from error
        what = f"it fails when it is {'run' if file else 'imported'}"
        raise wrong(_failed(place, str(file) if file else None, what, error)) from error


def _run(file: Path) -> ModuleType:
    name = f"augrecipes_user_{file.stem}"  # not the stem alone: another module may have that name
    spec: Any = importlib.util.spec_from_file_location(name, file)
    made = sys.modules[name] = importlib.util.module_from_spec(spec)  # data classes and pickles look for it there
    try:
        spec.loader.exec_module(made)
    except BaseException:
        del sys.modules[name]
        raise
    return made


def _failed(place: str, file: str | None, what: str, error: BaseException) -> str:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    where, text = f"{place}:{lines[-1]}" if lines else place, str(error).strip()
    script = '; what it does as a script belongs under `if __name__ == "__main__":`'
    more = script if isinstance(error, SystemExit) else ""
    return f"{where}: {what}: {type(error).__name__}{f': {text}' if text else ''}{more}"
