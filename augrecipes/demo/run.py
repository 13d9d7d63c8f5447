"""The demo: draw data, read them through recipes, prove that reading is reproducible, and preview recipes."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import islice, product
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import torch

from augrecipes.data.loader import loader
from augrecipes.demo.dataset import DemoData, Scenes, draw_dataset, draw_scenes
from augrecipes.demo.glyphs import GLYPHS, RECIPES, draw_glyphs
from augrecipes.demo.slides import BAGS, draw_slides
from augrecipes.preview import preview
from augrecipes.progress import Parts
from augrecipes.recipe.kinds import part
from augrecipes.report import Report, TextTable

Expected = Literal["reference", "same", "different"]
Batches = Iterable[dict[str, Any]]
Ways = dict[str, tuple[Expected, Batches]]  # ways of reading one epoch, by description
_WORKERS = 2

# Opens a progress display, which is called with (what, done, total).
Show = Callable[[], AbstractContextManager[Parts]]


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of reading an epoch in one way.

    Attributes:
        how: the way of reading.
        digest: hex digest of all the samples in their order.
        expected: relation to the first proof's digest.
        holds: whether the digest is as expected.
    """

    how: str
    digest: str
    expected: Expected
    holds: bool


def run_demo(
    out: Path, *, tell: Callable[[Report], None] = lambda report: None, seed: int = 0, quick: bool = False,
    progress: Show = lambda: nullcontext(lambda what, done, total: None),
) -> dict[str, Any]:  # fmt: skip
    """Run the whole demo and write its files into `out`.

    Args:
        out: folder, created when missing.
        tell: called with the report of each part.
        seed: of data and draws.
        quick: a small run (for tests): few and small images, and no spawned worker processes.
        progress: opens a progress display.

    Returns:
        `ok`: whether every proof holds; `proofs`: by what was read; `pictures`: paths written; `seconds`.

    Raises:
        OSError: the folder cannot be written.
        AugrecipesError: a recipe or a file is not valid.
    """
    out, start = Path(out), perf_counter()
    tiles, photos, scenes, bags, glyphs, shrink = (12, 3, 3, 3, 5, 2) if quick else (24, 18, 6, len(BAGS), 40, 1)
    with progress() as advance:
        everything = tiles + photos + scenes + 2 * len(GLYPHS) + bags

        def drawn(before: int) -> Callable[[int, int], None]:
            return lambda k, _: advance("drawing", before + k, everything)

        images = draw_dataset(out, tiles=tiles, photo_count=photos, seed=seed, shrink=shrink, progress=drawn(0))
        pairs = draw_scenes(out / "pairs", count=scenes, seed=seed, progress=drawn(tiles + photos))
        trial = draw_glyphs(out / "trial", count=glyphs, seed=seed, progress=drawn(tiles + photos + scenes))
        slides = draw_slides(out / "slides", bags=bags, seed=seed, shrink=shrink, progress=drawn(everything - bags))
    data = (
        f"{tiles} stained tissue tiles with masks and boxes", f"{photos} photos",
        f"{scenes} scenes at three resolutions", f"{bags} slides as bags of tiles",
        f"{2 * len(GLYPHS) * glyphs} glyphs, to learn from and to score with",
    )  # fmt: skip
    tell(Report(tables=[TextTable("A small data set, drawn by formula", (), [(each,) for each in data])]))

    tissue = partial(part("image", "dataset").DATASET, os.fspath(images.tissue), "stained-tissue", optimize="exact")
    scene = partial(part("pair", "dataset").DATASET, pairs.roots("hr", "lr"), "sr-x4", optimize="exact")
    bag = partial(part("bag", "dataset").DATASET, os.fspath(slides), "stained-tissue-bag", optimize="exact")
    ways = {
        "images, stained-tissue": _ways(tissue, 8, 3) | _more_ways(tissue, 8, spawn=not quick),
        "pairs, sr-x4": _ways(scene, 4, 3),
        "bags, stained-tissue-bag": _ways(bag, 1, 1),
    }
    with progress() as advance:
        proofs = {what: tuple(_prove(of_one, what, advance)) for what, of_one in ways.items()}
    tell(Report(tables=[_table(what, of_one) for what, of_one in proofs.items()]))

    jobs, grids = _jobs(images, pairs, slides), list[Path]()
    with progress() as advance:
        for name, (source, options) in jobs.items():
            recipe = name.removesuffix("-stages")
            advance(f"drawing what {recipe} does", len(grids), len(jobs))
            look = options | ({"rows": 2, "columns": 2} if quick else {})
            grids.append(preview(recipe, source, out / "grids" / f"{name}.png", seed=seed, **look))
    tell(Report(tables=[TextTable("Next", (), _next_steps(out, images.tissue, trial))]))
    ok = all(proof.holds for of_one in proofs.values() for proof in of_one)
    return {"ok": ok, "proofs": proofs, "pictures": grids, "seconds": perf_counter() - start}


def _ways(make: Callable[..., Any], size: int, other: int) -> Ways:
    """Ways to read one epoch that must agree, in batches of two sizes, and one that must not."""
    return {
        f"in this process, batches of {size}": ("reference", _read(make, size, num_workers=0)),
        f"{_WORKERS} threads, batches of {other}": ("same", _read(make, other, num_workers=_WORKERS)),
        "optimize: none instead of exact": ("same", _read(partial(make, optimize="none"), size)),
        "the next epoch": ("different", _read(make, size, epoch=1)),
    }


def _more_ways(make: Callable[..., Any], size: int, *, spawn: bool) -> Ways:
    """More ways, to compare with the first of `_ways`; `spawn`: also with spawned workers."""

    def resumed() -> Batches:
        first = loader(make(), batch_size=size, shuffle=True, num_workers=_WORKERS)
        yield from islice(first, len(first) // 2)
        second = loader(make(), batch_size=size, shuffle=True)
        second.load_state_dict(json.loads(json.dumps(first.state_dict())))  # as a checkpoint would store it
        yield from second

    afresh: dict[str, Any] = {"num_workers": _WORKERS, "multiprocessing_context": "spawn", "persistent_workers": False}
    spawned: Ways = {f"{_WORKERS} spawned workers": ("same", _read(make, size, **afresh))} if spawn else {}
    return spawned | {
        "stopped half way and resumed": ("same", resumed()),
        "another seed": ("different", _read(partial(make, seed=1), size, seed=1)),
    }


def _read(make: Callable[..., Any], size: int, epoch: int = 0, seed: int = 0, **options: Any) -> Batches:
    """Yield the batches of an epoch."""
    batches = loader(make(), batch_size=size, shuffle=True, seed=seed, **options)
    batches.set_epoch(epoch)
    yield from batches


def _prove(ways: Ways, what: str, advance: Parts) -> Iterator[Proof]:
    """Read the same samples in several ways and compare."""
    first = ""
    for k, (how, (expected, batches)) in enumerate(ways.items()):
        advance(f"reading {what}, {how}", k, len(ways))
        digest = digest_of(batches)
        first = first or digest
        yield Proof(how, digest, expected, (digest == first) == (expected != "different"))


def digest_of(batches: Batches) -> str:
    """Hash every tensor, label and path in order, independent of the batch size: 64 hex digits."""
    state = hashlib.sha256()
    for batch in batches:
        for k, name in product(range(len(batch["path"])), sorted(batch)):
            value = batch[name][k]
            if isinstance(value, torch.Tensor):
                state.update(f"{name} {tuple(value.shape)}".encode() + value.numpy().tobytes())
            else:
                state.update(f"{name} {value}\n".encode("utf-8", "surrogateescape"))
    return state.hexdigest()


def _jobs(images: DemoData, pairs: Scenes, slides: Path) -> dict[str, tuple[Any, dict[str, Any]]]:
    """The previews to draw, by file name: data that suit the recipe, and options."""
    by_step = {"rows": 2, "stages": True}
    return {
        "stained-tissue": (images.tissue, {}),
        "segmentation": (images.tissue, {"masks": images.masks}),
        "detection": (images.table, {}),
        **dict.fromkeys(("imagenet-train", "folder-128", "jpeg-crop-256"), (images.photos, {})),
        "sr-x4": (pairs.roots("hr", "lr"), {}),
        "sr-multiscale": (pairs.roots("hr", "x2", "lr"), {}),
        "real-esrgan-x4": (pairs.roots("hr"), {}),
        "stained-tissue-bag": (slides, {}),
        "stained-tissue-stages": (images.tissue, by_step),
        "real-esrgan-x4-stages": (pairs.roots("hr"), by_step),
    }


def _table(what: str, proofs: Iterable[Proof]) -> TextTable:
    """The table of ways of reading some samples, and their results."""
    text = {"reference": "", "same": "the same", "different": "differs, as it must"}
    rows, styles = list[tuple[str, ...]](), list[str]()
    for proof in proofs:
        rows.append((proof.how, proof.digest[:12], text[proof.expected] if proof.holds else "NOT AS EXPECTED"))
        styles.append("" if proof.holds else "error")
    return TextTable(f"One epoch of {what}", (), rows, strong=(0,), styles=styles)


def _next_steps(out: Path, tissue: Path, trial: Path) -> list[tuple[str, str]]:
    """Commands to try next."""
    recipes = " ".join(recipe.name for recipe in RECIPES)
    return [
        ("look at", f"{out / 'grids'}{os.sep}*.png"),
        ("see the plan", "augrecipes explain stained-tissue"),
        ("your own images", "augrecipes preview imagenet-train FOLDER -o grid.png"),
        ("your own pairs", "augrecipes preview sr-x4 hr=FOLDER lr=FOLDER -o pairs.png"),
        ("your own recipe", "augrecipes check my-recipe.yaml"),
        ("how fast it is", f"augrecipes bench stained-tissue {tissue.as_posix()} --against stock"),
        (
            "what it teaches",
            f"cd {trial.as_posix()} && augrecipes trial {recipes} --data train --valid valid --minutes 2",
        ),
        ("in Python", f'import augrecipes as ar; ds = ar.ImageFolder("{tissue.as_posix()}", "stained-tissue")'),
        ("write your own", "augrecipes studio  (pip install 'augrecipes[studio]')"),
    ]
