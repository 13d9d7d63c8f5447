"""The state of a studio: recipe file, data, caches, and threads whose work newer requests cancel."""

import asyncio
import os
import secrets
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from augrecipes import machine
from augrecipes.compiler.compile import build, steps_of
from augrecipes.compiler.run.clock import route_steps
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.errors import LintError, RecipeError
from augrecipes.lint import lint
from augrecipes.lru import LruCache
from augrecipes.recipe import gallery, parse, write
from augrecipes.recipe.gallery import find
from augrecipes.recipe.model import Mode, Optimize, Recipe
from augrecipes.sources.opening import Data
from augrecipes.studio.data import StudioData

_THREADS = 24

Emit = Callable[[Any], None]
Piece = Callable[[Emit], None]  # emits any number of results
T = TypeVar("T")


class EndedError(BaseException):
    """A turn has ended, and nobody waits for its result. A BaseException: handlers of step errors must not catch it."""


class WorkTurn:
    """The cancellation token of one request's work.

    Attributes:
        ended: nobody waits for further results.
        superseded: a newer request has ended it.
        wake: called when it ends.
    """

    def __init__(self) -> None:
        self.ended = self.superseded = False
        self.wake: Callable[[], object] = lambda: None

    def end(self) -> None:
        """Cancel the work: nobody waits for further results."""
        self.ended = True
        self.wake()


_local = threading.local()


def continue_or_cancel() -> None:
    """Raise EndedError if this thread's turn has ended; called between the steps of recipes."""
    turn: WorkTurn | None = getattr(_local, "turn", None)
    if turn is not None and turn.ended:
        raise EndedError


class WorkThreads:
    """A thread pool for the work of all requests, whose results are streamed.

    A step cannot be interrupted; so threads check between steps whether their turn has ended, and meanwhile newer work
    runs on other threads. Results are cached for the next request.
    """

    def __init__(self, lanes: int) -> None:
        self.lanes = max(lanes, 1)
        self._threads = ThreadPoolExecutor(_THREADS, "studio")

    async def run(self, work: Callable[[], T], turn: WorkTurn | None = None) -> T:
        """Run `work` in a thread and return its result; EndedError if its turn ends first."""
        async with aclosing(self.stream(turn or WorkTurn(), [lambda emit: emit(work())], 1)) as results:
            async for result in results:
                return result
        raise EndedError

    async def stream(self, turn: WorkTurn, pieces: Iterable[Piece], lanes: int | None = None) -> AsyncGenerator[Any]:
        """Yield the results of the pieces as they come; stop when the turn ends, without waiting for running pieces.

        Args:
            turn: of the request; closing this iterator ends it.
            pieces: consumed lazily by the threads, in order.
            lanes: most threads at a time; None: `self.lanes`.
        """
        loop, results = asyncio.get_running_loop(), asyncio.Queue[Any]()
        waiting, taking = iter(pieces), threading.Lock()

        def put(result: Any) -> None:
            try:
                loop.call_soon_threadsafe(results.put_nowait, result)
            except RuntimeError:  # the loop is closed: nobody listens
                turn.ended = True

        def emit(result: Any) -> None:
            continue_or_cancel()
            put(result)

        def work() -> None:
            _local.turn = turn
            while not turn.ended:
                with taking:
                    piece = next(waiting, None)
                if piece is None:
                    return
                piece(emit)

        count = lanes or self.lanes
        turn.wake = lambda: put(None)
        for _ in range(count):
            self._threads.submit(work).add_done_callback(put)
        try:
            while count and not turn.ended:
                result = await results.get()
                if turn.ended:
                    return
                if isinstance(result, Future):
                    count -= 1
                    result.result()  # raises here what the thread raised
                else:
                    yield result
        finally:
            turn.end()

    def close(self) -> None:
        """Accept no more work, and wait for none."""
        self._threads.shutdown(wait=False, cancel_futures=True)


NEW = Path(__file__).with_name("new.yaml").read_text(encoding="utf-8")
_TABS = 256  # most turns that are kept


@dataclass
class Studio:
    """The state that the routes share; it parses and compiles the recipes that the page sends.

    Attributes:
        data: the samples that are shown.
        file: the recipe's; recipes that it extends are looked up in its folder. None: only the gallery's are.
        text: the page's text at the start, where there is no file.
        read_only: the file is never written.
        token: required of every request.
        images: PNGs by address.
    """

    data: StudioData = field(default_factory=StudioData)
    file: Path | None = None
    text: str = ""
    read_only: bool = False
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    turns: dict[tuple[str, str], WorkTurn] = field(default_factory=dict)  # the latest of each kind of each tab
    threads: WorkThreads = field(default_factory=lambda: WorkThreads(min(machine.cores(), 8)))
    checker: WorkThreads = field(default_factory=lambda: WorkThreads(1))
    images: LruCache[bytes] = field(default_factory=lambda: LruCache(192 << 20, len))
    _recipes: LruCache[Recipe] = field(default_factory=lambda: LruCache(32))
    _pipelines: LruCache[Pipeline] = field(default_factory=lambda: LruCache(12))

    @property
    def name(self) -> str:
        """The file's name, for messages."""
        return "recipe.yaml" if self.file is None else self.file.name

    def turn(self, tab: str, what: str) -> WorkTurn:
        """Start a turn for a tab's work of a kind (`what`), and end the tab's earlier turn of that kind."""
        if (before := self.turns.pop((tab, what), None)) is not None:
            before.superseded = True
            before.end()
        turn = self.turns[tab, what] = WorkTurn()
        while len(self.turns) > _TABS:
            self.turns.pop(next(iter(self.turns))).end()
        return turn

    def recipe(self, text: str) -> Recipe:
        """Parse a recipe without running its plugins. Raises RecipeError with every problem."""

        def parsed() -> Recipe:
            return parse.parse_text(text, file=self.name, root=self.file and self.file.parent, plugins=False)

        # A file that it extends may have changed.
        return parsed() if "extends" in text else self._recipes.get(text, parsed)

    def pipeline(
        self, recipe: Recipe, mode: Mode = "train", optimize: Optimize | None = None, seed: int = 0, **more: Any
    ) -> Pipeline:
        """Compile a recipe as `Recipe.compile` does, without its logging: the page shows the problems.

        Raises:
            LintError: a lint error that the recipe does not silence.
            RecipeError: the recipe has no such section.
        """
        how = recipe.max_bytes, recipe.without_rules, mode, optimize or recipe.optimize, seed, *sorted(more.items())

        def compiled() -> Pipeline:
            steps_of(recipe, mode)
            if errors := tuple(problem for problem in lint(recipe) if problem.severity == "error"):
                raise LintError(problems=errors)
            return self.build_part(recipe, mode, optimize, seed, **more)

        return self._pipelines.get((recipe.digest, *how), compiled)

    def build_part(self, recipe: Recipe, mode: Mode, optimize: Optimize | None, seed: int, **more: Any) -> Pipeline:
        """Compile without lints, for parts and variants of recipes; running steps can be cancelled."""
        pipeline = build(recipe, mode, optimize, seed, **{"threads": 1, "resumes": self.data.store is not None, **more})
        route_steps(pipeline, _interruptible)
        return pipeline

    def close(self) -> None:
        """End all work and remove the demo's files."""
        for turn in list(self.turns.values()):
            turn.end()
        self.threads.close()
        self.checker.close()
        self.data.close()


def _interruptible(_: str, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    continue_or_cancel()
    return step(*args, **kwargs)


def open_studio(
    recipe: Recipe | parse.Source | None, data: Data | None = None, *, masks: Any = None, read_only: bool = False
) -> Studio:
    """Open a studio on a recipe and data as users name them, without a server.

    Args:
        recipe: a file for the page to write, which may not exist yet; or, without a file, anything else that
            `augrecipes.load` takes, a Recipe, or None for a small starting recipe.
        data: as `augrecipes.preview` takes them, or a packed dataset; None: the demo's images.
        masks: a folder of masks that match the images' names.
        read_only: never write the file.

    Raises:
        RecipeError: no recipe is called so.
        StoreError: the data are a packed dataset that is damaged.
        DataError: masks together with a packed dataset.
    """
    if recipe is not None and not isinstance(recipe, Recipe):
        with suppress(RecipeError):  # the page shows what is wrong
            parse.load(recipe)  # runs the plugins of a recipe that the user opens; texts from pages run none
    files, text, path = StudioData(data, masks), "", None
    if recipe is None:
        text = NEW
    elif isinstance(recipe, Recipe):
        text = write.to_yaml(recipe)
    elif isinstance(recipe, Mapping):
        text = write.text_of(recipe)
    elif isinstance(recipe, str) and "\n" in recipe:
        text = recipe
    else:
        path = find(recipe)
        if isinstance(recipe, str) and recipe in gallery.gallery_names():
            text, path = path.read_text(encoding="utf-8"), None
        elif path.is_dir() or not Path(os.path.realpath(path)).parent.is_dir():
            raise RecipeError(f"{path}: no file, and none can be written there")
        else:
            text, path = "" if path.exists() else NEW, Path(os.path.realpath(path))
    return Studio(files, path, text, read_only)
