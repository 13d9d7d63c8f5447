"""A saved state holds every argument that changes samples: either the samples are the same, or the state is refused."""

import inspect
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.annotations import Picture, Set, Thing, coco, labelme
from support.datasets import Counting
from support.encoded_images import Jpeg
from support.folders import draw
from support.kinds import BAG, IMAGE, KINDS, VIEWS, Kind, arrays, folders, open_packed, recipe_of
from torch.utils.data import Subset

from augrecipes import AugrecipesError, LoaderError, Packed, loader, versions
from augrecipes.data.dataset import RecipeDataset
from augrecipes.native.kernels import library, using
from augrecipes.recipe.parse import parse_text

# Of every argument of every kind another value than the default: text stands for a path below the data. A new argument
# has to come here, or to OF_LISTS.
OTHER: dict[str, Any] = {
    "mode": "eval", "seed": 7, "optimize": "fast", "on_error": "skip", "weights": [1.0] * 12, "samples_per_epoch": 30,
    "exif": "ignore", "channels": 1, "max_pixels": 2000, "depth": "8bit", "frames": "first", "layout": "flat",
    "cache": False, "save_applied_params": True, "max_tiles": 2, "min_tiles": 2, "pick": "stride", "threads": 1,
    "check": "names", "outside": True, "verify": "always", "cache_size": 1 << 20,
}  # fmt: skip
# Of arguments that go with a list of samples: the test writes the list, in which these values make other samples.
OF_LISTS: dict[str, Any] = {
    "columns": {"image": {"image": "other"}, "views": {"image": "other"},
                "pair": {"lr": "other"}, "bag": {"image": "other"}},
    "box_classes": ["moth", "bee", "ant"], "crowds": "keep", "drop_shapes": ["rectangle"],
}  # fmt: skip
# In another order than theirs. Pairs have none.
CLASSES: dict[str, Any] = {"image": ["emu", "dog", "cat"], "views": ["emu", "dog", "cat"], "bag": ["yes", "no"]}
OF_BAGS = {"max_tiles", "min_tiles", "pick", "threads"}
# They say where samples come from: a test of their own.
SOURCES = {"self", "root", "roots", "recipe", "files", "masks", "split", "labels", "names", "store"}


WARPS = """
version: 1
recipe: warps
steps:
  - Rotate: {limit: [20, 30], border_mode: reflect_101, p: 1.0}
  - Resize: {height: 24, width: 24}
"""


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    found = folders(tmp_path_factory)
    # Larger than `max_pixels` below, unlike the others.
    draw(found["image"] / "cat" / "0.png", seed=0, size=(60, 64))
    return found


def everything(ds: RecipeDataset) -> list[Any]:
    """The samples of an epoch; an error where one is raised."""
    try:
        samples = [ds[i] for i in range(min(len(ds), 4))]
    except AugrecipesError as error:
        return [type(error)]
    return [{key: value.tobytes() for key, value in arrays(sample).items()} for sample in samples]


def open_with(kind: Kind, root: Path, packed: bool, **options: Any) -> RecipeDataset:
    return open_packed(kind, root, **options) if packed else kind.open(root, recipe_of(kind), **options)


def check_argument(open_one: Callable[..., RecipeDataset], **other: Any) -> None:
    """The law: with another value the samples are the same, or their state is refused."""
    here, there = open_one(), open_one(**other)
    a, b = everything(here), everything(there)
    refused = here.fingerprint() != there.fingerprint() or len(here) != len(there)
    failed = any(isinstance(one, type) for one in (*a, *b))  # nobody is handed other samples
    assert refused or failed or a == b, f"{other}: other samples, and no difference in the fingerprint"


def cases() -> list[Any]:
    return [
        pytest.param(kind, packed, name, id=f"{'packed-' if packed else ''}{kind.name}-{name}")
        for kind in KINDS
        for packed in (False, True)
        for name in inspect.signature(Packed if packed else kind.dataset).parameters
        if name not in SOURCES | OF_LISTS.keys()
        and not (packed and kind is not BAG and name in OF_BAGS)
        and not (name == "classes" and kind.name not in CLASSES)
    ]


@pytest.mark.parametrize(("kind", "packed", "name"), cases())
def test_every_argument_is_held_or_changes_nothing(kind: Kind, packed: bool, name: str, roots: Any) -> None:
    other = {**OTHER, "classes": CLASSES.get(kind.name)}
    assert name in other, f"{name} is a new argument: say another value of it in OTHER"
    check_argument(lambda **options: open_with(kind, roots[kind.name], packed, **options), **{name: other[name]})


def listed(kind: Kind, root: Path, name: str, to: Path) -> Path:
    """A list of some of the samples below `root`: a CSV file with another column, or COCO with a crowd, or labelme."""
    if name == "columns":
        lines = {
            "image": ["image,other", *(f"cat/{i}.png,dog/{i}.png" for i in range(4))],
            "pair": ["hr,lr,other", *(f"hr/{i:04}.png,lr/{i:04}x2.png,lr/{i + 4:04}x2.png" for i in range(4))],
            "bag": ["bag,image,other", *(f"{i},{BAG.files(i)},{BAG.files(i + 4)}" for i in range(4))],
        }["image" if kind is VIEWS else kind.name]
        rows = [
            ",".join(field if "/" not in field else str(root / field) for field in line.split(",")) for line in lines
        ]
        (to / "list.csv").write_text("\n".join(rows))
        return to / "list.csv"
    things = (Thing("ant", (2, 2, 22, 21)), Thing("bee", (2, 2, 22, 22)), Thing("moth", (2, 2, 22, 23), flagged=True))
    return (labelme if name == "drop_shapes" else coco)(
        to, Set(tuple(Picture(f"{k}.png", 28, 32, things) for k in range(4)), ("ant", "bee", "moth"))
    )


def cases_of_lists() -> list[Any]:
    return [
        pytest.param(kind, name, id=f"{kind.name}-{name}")
        for kind in KINDS
        for name in OF_LISTS
        if name in inspect.signature(kind.dataset).parameters
    ]


def test_what_goes_with_lists_is_no_argument_of_a_store() -> None:
    assert not OF_LISTS.keys() & inspect.signature(Packed).parameters.keys()


@pytest.mark.parametrize(("kind", "name"), cases_of_lists())
def test_every_argument_of_lists_is_held(kind: Kind, name: str, roots: Any, tmp_path: Path) -> None:
    files = listed(kind, roots[kind.name], name, tmp_path)
    where = {} if files.suffix == ".json" else {"outside": True}

    def open_one(**options: Any) -> RecipeDataset:
        return kind.dataset(files=files, recipe=parse_text(kind.recipe), **where, **options)  # type: ignore[no-any-return]

    value = OF_LISTS[name][kind.name] if name == "columns" else OF_LISTS[name]
    assert everything(open_one()) != everything(open_one(**{name: value})), "the other value has to change samples"
    check_argument(open_one, **{name: value})


def test_the_law_sees_a_list_that_is_forgotten(
    roots: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = RecipeDataset.fingerprint
    monkeypatch.setattr(RecipeDataset, "fingerprint", lambda self: {**whole(self), "files": ""})
    columns = [(kind, "columns") for kind in KINDS]
    for kind, name in (*columns, (IMAGE, "box_classes"), (IMAGE, "crowds")):
        with pytest.raises(AssertionError, match="no difference in the fingerprint"):
            test_every_argument_of_lists_is_held(kind, name, roots, tmp_path)


@pytest.mark.skipif(library() is None, reason="no native kernels here")
def test_fast_is_another_level_and_none_is_not(roots: dict[str, Path]) -> None:
    made = {level: loader(IMAGE.open(roots["image"], optimize=level), 4) for level in ("none", "exact", "fast")}
    made["exact"].load_state_dict(made["none"].state_dict())
    with pytest.raises(LoaderError, match="optimize: saved 'fast', here 'exact'"):
        made["none"].load_state_dict(made["fast"].state_dict())
    state = made["fast"].state_dict()
    with using(None):  # as on a machine for which none were built
        plain = loader(IMAGE.open(roots["image"], optimize="fast"), 4)
        plain.load_state_dict(made["none"].state_dict())
        with pytest.raises(LoaderError, match="optimize: saved 'fast', here 'exact'; without native kernels"):
            plain.load_state_dict(state)
        assert plain.state_dict()["made_with"]["kernels"] == "none"
    with pytest.raises(LoaderError, match="channels: saved 3, here 1"):
        loader(IMAGE.open(roots["image"], channels=1), 4).load_state_dict(made["exact"].state_dict())


@pytest.mark.parametrize("missing", ["optimize", "channels", "exif", "mode", "dataset_seed", "max_tiles"])
def test_the_law_sees_an_argument_that_is_forgotten(
    missing: str, roots: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = RecipeDataset.fingerprint
    monkeypatch.setattr(
        RecipeDataset, "fingerprint", lambda self: {k: v for k, v in whole(self).items() if k != missing}
    )
    kind = BAG if missing == "max_tiles" else IMAGE
    argument = "seed" if missing == "dataset_seed" else missing
    root, recipe = roots[kind.name], recipe_of(kind)
    if missing == "exif":  # an image that says how it is turned
        root = tmp_path / "turned"
        root.mkdir()
        (root / "a.jpg").write_bytes(Jpeg(40, 60, turn=3).data)
    if missing == "optimize":
        recipe = WARPS
    with pytest.raises(AssertionError, match="no difference in the fingerprint"):
        check_argument(lambda **options: kind.open(root, recipe, **options), **{argument: OTHER[argument]})


def test_files_are_told_apart_by_names_masks_labels_and_boxes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        draw(tmp_path / f"{name}.png", seed=ord(name), size=(40, 40))
        draw(tmp_path / "masks" / f"{name}.png", seed=ord(name) + 9, size=(40, 40))
    recipe = parse_text(
        "{version: 1, recipe: t, inputs: {mask: optional}, steps: [HorizontalFlip], eval: [], output: {layout: chw}}"
    )
    tables: list[str] = []
    for text in ("image\na.png\nb.png\n", "image,mask\na.png,masks/a.png\nb.png,masks/b.png\n",
                 "image,mask\na.png,masks/b.png\nb.png,masks/a.png\n", "image,label\na.png,0\nb.png,1\n",
                 "image,label\na.png,1\nb.png,0\n", "image\nb.png\na.png\n"):  # fmt: skip
        path = tmp_path / f"list-{len(tables)}.csv"
        path.write_text(text)
        tables.append(IMAGE.dataset(files=path, recipe=recipe).fingerprint()["files"])
    for name in ("a", "b"):
        draw(tmp_path / "masks" / f"{name}_other.png", seed=ord(name) + 5, size=(40, 40))
    (tmp_path / "images").mkdir()
    for name in ("a", "b"):
        (tmp_path / f"{name}.png").rename(tmp_path / "images" / f"{name}.png")
    for names in ("{stem}.png", "{stem}_other.png"):
        ds = IMAGE.dataset(tmp_path / "images", recipe, masks=tmp_path / "masks" / names, layout="flat")
        tables.append(ds.fingerprint()["files"])
    assert len(set(tables)) == len(tables)


def test_indices_of_a_torch_subset_are_held() -> None:
    state = loader(Subset(Counting(9), [1, 2])).state_dict()
    loader(Subset(Counting(9), [1, 2])).load_state_dict(state)
    with pytest.raises(LoaderError, match="indices: saved"):
        loader(Subset(Counting(9), [2, 1])).load_state_dict(state)


# -- libraries and processors -----------------------------------------------------------------------------------------


def test_other_versions_and_processors_are_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "augrecipes")
    versions._warned.clear()
    state = loader(Counting(4)).state_dict()
    loader(Counting(4)).load_state_dict(state)
    assert not caplog.messages
    assert state["made_with"]["processor"] == versions.features()
    monkeypatch.setattr(versions, "features", lambda: "riscv64 RVV")
    monkeypatch.setattr(versions, "versions", lambda: {"opencv": "9.9"})
    for _ in range(2):
        loader(Counting(4)).load_state_dict(state)
    (message,) = caplog.messages
    assert "(here 9.9)" in message
    assert "a processor of another family" in message
    assert "(here riscv64)" in message
    with pytest.raises(LoaderError, match="damaged"):
        loader(Counting(4)).load_state_dict(state | {"made_with": 3})
    with pytest.raises(LoaderError, match="damaged"):
        loader(Counting(4)).load_state_dict(state | {"fingerprint": [1]})
