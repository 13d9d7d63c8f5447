"""Python of the user's own, by its file or its module: what it holds, and where it failed.

It is run because the user named it, as an argument of a command or a function; no recipe and no data name any.
"""

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

    def get(self, name: str) -> Any:
        """What has this name; None where nothing has."""
        return getattr(self.content, name, None)

    def made(self, kind: type[T], what: str) -> T:
        """What was asked for: it is a `kind`, or makes one when it is called without arguments.

        Raises:
            AugrecipesError: there is no such name, it fails, or it is something else.
        """
        fitting = [key for key, value in vars(self.content).items() if _fits(value, kind, self.content.__name__)]
        there = f"{', '.join(fitting)}: say {self.place}:{fitting[0]}" if fitting else f"nothing that is {what}"
        found = self.found(there)
        if not isinstance(found, kind) and callable(found):
            try:
                found = found()
            except Exception as error:
                raise self.failed(f"{self.name}(), called without arguments, fails", error) from error
        if not isinstance(found, kind):
            raise self.error(
                f"{self.place}: {self.name} is a {type(found).__name__}; it must be {what}, or a function without "
                "arguments that makes one"
            )
        return found

    def found(self, there: str = "") -> Any:
        """What was asked for; an error where there is no such name, which says what there is."""
        if not hasattr(self.content, self.name):
            names = [key for key in vars(self.content) if not key.startswith("_")]
            raise self.error(
                f"{self.place}: there is no {self.name} in it, but {there or ', '.join(names) or 'nothing'}"
            )
        return self.get(self.name)

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
    if place.endswith(".py"):
        return UserModule(place, asked, _run(place, error), error)
    if _DOTTED.fullmatch(place):
        return UserModule(place, asked, _imported(place, error), error)
    raise error(f"{text!r} is no {what} FILE.py, FILE.py:NAME, package.module or package.module:NAME")


def run_plugin(place: str) -> None:
    """Import a file that registers classes, as a module of its own name, so that processes that are started find it.

    Raises:
        AugrecipesError: there is no such file, it fails, or another module has its name.
    """
    file = Path(place).resolve()
    if file.suffix != ".py" or not file.is_file():
        raise AugrecipesError(f"{place}: no file of Python")
    _importable(file.parent)
    module = _imported(file.stem, AugrecipesError)
    found = getattr(module, "__file__", None)
    if found is None or Path(found).resolve() != file:
        raise AugrecipesError(f"{place}: another module is called {file.stem}: give the file another name")


def _run(place: str, wrong: type[AugrecipesError]) -> ModuleType:
    file = Path(place).resolve()
    if not file.is_file():
        raise wrong(f"{place}: {'no file, but a folder' if file.is_dir() else 'no such file'}")
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
        raise wrong(_failed(place, str(file), "it fails when it is run", error)) from error
    return made


def _imported(place: str, wrong: type[AugrecipesError]) -> ModuleType:
    _importable(Path.cwd())
    try:
        return importlib.import_module(place)
    except (Exception, SystemExit) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and (place == missing or place.startswith(f"{missing}.")):
            raise wrong(f"there is no module {missing}; a file is named with its ending: {place}.py") from error
        raise wrong(_failed(place, None, "it fails when it is imported", error)) from error


def _importable(folder: Path) -> None:
    """What lies in a folder can be imported, as Python itself does for a script."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _fits(value: Any, kind: type[Any], module: str) -> bool:
    own = isinstance(value, type) and value.__module__ == module and issubclass(value, kind)
    return own or isinstance(value, kind)


def _failed(place: str, file: str | None, what: str, error: BaseException) -> str:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    where = f"{place}:{lines[-1]}" if lines else place
    text = str(error).strip()
    more = ""
    if isinstance(error, SystemExit):
        more = '; what it does as a script belongs under `if __name__ == "__main__":`'
    return f"{where}: {what}: {type(error).__name__}{f': {text}' if text else ''}{more}"
