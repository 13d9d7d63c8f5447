"""Parts of a packing: in any order, again after a kill; merged where they are, they are the store of one run."""

import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from programs import Programs
from support.folders import draw
from support.killing import killed
from support.kinds import IMAGE, KINDS, Kind, data_of, pixels, recipe_of
from support.stores import all_of, files_in
from test_pack import EPOCHS, InterruptedRunError

from augrecipes import Packed, StoreError, pack, verify_store
from augrecipes.packing import parts
from augrecipes.packing.parts import PackPart, merge_parts
from augrecipes.recipe.parse import parse_text
from augrecipes.store import index


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {kind.name: tmp_path_factory.mktemp(kind.name) for kind in KINDS}
    for kind in KINDS:
        kind.fill(made[kind.name])
        path = made[kind.name] / kind.files(5)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])  # one is broken
    return made


def in_parts(recipe: Any, data: Any, out: Path, of: int, seed: int = 0, **options: Any) -> None:
    """Packs all parts, in an order drawn by chance, each interrupted once."""
    for number in random.Random(seed).sample(range(1, of + 1), of):

        def stop(done: int, total: int) -> None:
            if done == 2:
                raise InterruptedRunError

        options["workers"] = 0
        try:
            pack(recipe, data, out, part=f"{number}/{of}", advance=stop, **options)
        except InterruptedRunError:
            pack(recipe, data, out, part=f"{number}/{of}", **options)


def same_store(arguments: tuple[Any, Any], folder: Path, of: int, **options: Any) -> None:
    """The law: merged parts hold what one run without them writes; and interruptions change no byte of theirs."""
    whole = pack(*arguments, folder / "one", workers=0, **options)
    in_parts(*arguments, folder / "parts", of, **options)
    for number in (1, of):
        name = PackPart(number, of).name
        pack(*arguments, folder / "at-once", part=f"{number}/{of}", workers=0, **options)
        assert files_in(folder / "parts" / name) == files_in(folder / "at-once" / name)
    merged = merge_parts(folder / "parts")
    assert all_of(folder / "parts") == all_of(folder / "one")
    assert merged.unreadable == whole.unreadable
    assert (merged.rows, merged.parts) == (whole.rows, of)


_FORMS = (("raw", 3, None, None), ("jpeg", 11, 3, "4k"), ("lossless", 2, None, "2k"))


@pytest.mark.parametrize(
    ("kind", "form", "of", "epochs", "most"),
    [(kind, *_FORMS[(k + more) % 3]) for k, kind in enumerate(KINDS) for more in (0, 1)],
    ids=str,
)
def test_merged_parts_are_the_store_of_one_run(
    roots: dict[str, Path], tmp_path: Path, kind: Kind, form: str, of: int, epochs: int | None, most: str | None
) -> None:
    text = EPOCHS[kind.name] if epochs else recipe_of(kind)
    arguments = (parse_text(text), data_of(kind, roots[kind.name]))
    same_store(arguments, tmp_path, of, format=form, epochs=epochs, **({"shard_size": most} if most else {}))


def test_parts_in_the_order_of_their_names_are_caught(
    roots: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: of eleven parts the tenth is taken for the second."""
    real = parts._paths_in
    monkeypatch.setattr(parts, "_paths_in", lambda folder: sorted(real(folder), key=lambda path: path.name))
    with pytest.raises((AssertionError, ValueError)):
        same_store((parse_text(recipe_of(IMAGE)), str(roots["image"])), tmp_path, 11)


@pytest.mark.parametrize(
    ("kind", "of", "most"),
    [*((kind, 5, None) for kind in KINDS), (IMAGE, 3, "1k"), (IMAGE, 30, None)],  # of thirty some are empty
    ids=str,
)
def test_parts_that_stay_apart_are_one_store(
    roots: dict[str, Path], tmp_path: Path, kind: Kind, of: int, most: str | None
) -> None:
    recipe, data = parse_text(recipe_of(kind)), data_of(kind, roots[kind.name])
    pack(recipe, data, tmp_path / "one", workers=0)
    in_parts(recipe, data, tmp_path / "parts", of, **({"shard_size": most} if most else {}))
    before = {path: path.read_bytes() for path in (tmp_path / "parts").rglob("*") if path.is_file()}
    for _ in range(2):  # the second time it is there
        merge_parts(tmp_path / "parts")
    assert all(path.read_bytes() == data for path, data in before.items())
    assert verify_store(tmp_path / "parts") == []
    one, apart = (Packed(tmp_path / name, recipe, on_error="skip") for name in ("one", "parts"))
    assert apart.unreadable == one.unreadable
    assert one.unreadable or kind.name == "pair"  # whose defects are left out before
    lost = one.unreadable if kind.name == "image" else {}
    indices = [i for i in range(len(one)) if i not in lost]
    for epoch in range(2):
        assert [pixels(apart[epoch, i]) for i in indices] == [pixels(one[epoch, i]) for i in indices]
    whole = [pixels(sample) for sample in one.__getitems__([(0, i) for i in indices])]
    assert [pixels(sample) for sample in apart.__getitems__([(0, i) for i in indices])] == whole


# -- again, and what goes wrong ---------------------------------------------------------------------------------------


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    for k in range(7):
        draw(tmp_path / "photos" / f"{k}.png", seed=k, size=(30, 28))
    return tmp_path / "photos"


RECIPE = parse_text("{version: 1, recipe: r, steps: [Resize: {height: 12, width: 10}]}")


def test_a_part_that_is_there_is_left_as_it_is(photos: Path, tmp_path: Path) -> None:
    for _ in range(2):
        done = pack(RECIPE, str(photos), tmp_path / "parts", part="2/3", workers=0)
        assert done.place == tmp_path / "parts" / "part-2-of-3"
        assert list(done.own_rows) == [2, 3]
    (tmp_path / "parts" / ".part-2-of-3.partial").mkdir()  # of a run that was killed at its very end
    pack(RECIPE, str(photos), tmp_path / "parts", part="2/3", workers=0)
    assert [path.name for path in (tmp_path / "parts").iterdir()] == ["part-2-of-3"]
    other = parse_text("{version: 1, recipe: r, steps: [Resize: {height: 12, width: 11}]}")
    with pytest.raises(StoreError, match=r"another packing"):
        pack(other, str(photos), tmp_path / "parts", part="2/3", workers=0)
    draw(photos / "3.png", seed=99, size=(30, 28))
    with pytest.raises(StoreError, match=r"made before .*3\.png changed; remove it, and run again"):
        pack(RECIPE, str(photos), tmp_path / "parts", part="2/3", workers=0)


def test_parts_that_do_not_belong_together(photos: Path, tmp_path: Path) -> None:
    parts = tmp_path / "parts"

    def refused(reason: str) -> None:
        with pytest.raises(StoreError, match=reason):
            merge_parts(parts)

    refused("cannot be listed")
    parts.mkdir()
    refused("has no part of a store in it: augrecipes pack")
    for number in (1, 3):
        pack(RECIPE, str(photos), parts, part=f"{number}/4", workers=0)
    (parts / ".part-4-of-4.partial").mkdir()
    refused(r"has no part 2, 4 of 4: pack them")
    (parts / "part-3-of-4").rename(parts / "part-2-of-4")
    pack(RECIPE, str(photos), parts, part="3/4", workers=0)
    pack(RECIPE, str(photos), parts, part="4/4", workers=0)
    refused("holds part 3 of 4")
    shutil.rmtree(parts / "part-2-of-4")
    pack(RECIPE, str(photos), parts, part="2/4", workers=0, format="jpeg")
    refused(r"is of another packing than part 1")
    shutil.rmtree(parts / "part-2-of-4")
    pack(RECIPE, str(photos), parts, part="2/4", workers=0)
    pack(RECIPE, str(photos), parts, part="1/2", workers=0)
    refused("has parts of 2 and 4")
    shutil.rmtree(parts / "part-1-of-2")
    with pytest.raises(StoreError, match="is a part of a store: augrecipes pack --merge"):
        Packed(parts / "part-1-of-4", RECIPE)
    merge_parts(parts)
    pack(RECIPE, str(photos), tmp_path / "copy", workers=0)
    (parts / "index.json").unlink()
    shutil.copy(tmp_path / "copy" / "index.json", parts)
    refused("exists already")
    (parts / "index.json").unlink()
    shutil.rmtree(parts / "part-2-of-4")
    shutil.copytree(tmp_path / "copy", parts / "part-2-of-4")
    refused("is a store, and no part of one")


def test_parts_that_are_a_store_are_never_modified(photos: Path, tmp_path: Path) -> None:
    """Raw pixels of another packing, in the place of a part's, would be read as if nothing had happened."""
    in_parts(RECIPE, str(photos), tmp_path / "parts", 2)
    merge_parts(tmp_path / "parts")
    draw(photos / "1.png", seed=99, size=(30, 28))
    shutil.rmtree(tmp_path / "parts" / "part-1-of-2")
    with pytest.raises(StoreError, match=r"is a store by now.*remove its index\.json"):
        pack(RECIPE, str(photos), tmp_path / "parts", part="1/2", workers=0)
    (tmp_path / "parts" / "index.json").unlink()
    pack(RECIPE, str(photos), tmp_path / "parts", part="1/2", workers=0)
    merge_parts(tmp_path / "parts")
    pack(RECIPE, str(photos), tmp_path / "one", workers=0)
    assert all_of(tmp_path / "parts") == all_of(tmp_path / "one")


# -- damage -----------------------------------------------------------------------------------------------------------


_FORGED: list[Any] = [
    lambda said: said["about"].pop("epochs"),
    lambda said: said["about"].update(units=8),
    lambda said: said["about"].update(units=-1),
    lambda said: said["about"].update(points=["classes"]),
    lambda said: said["about"].update(points=None),
    lambda said: said["about"].update(part="1/2"),
]


@pytest.mark.parametrize("forge", _FORGED)
def test_parts_that_say_what_cannot_be_are_refused(photos: Path, tmp_path: Path, forge: Any) -> None:
    """Whoever writes an index can write its digest, too."""
    in_parts(RECIPE, str(photos), tmp_path / "parts", 2)
    for path in (tmp_path / "parts").glob("part-*/index.json"):
        said = json.loads(path.read_text())
        forge(said)
        path.chmod(0o644)
        path.write_bytes(index.render({key: value for key, value in said.items() if key != "digest"}))
    with pytest.raises(StoreError, match=r"pack (it|the store) again"):
        merge_parts(tmp_path / "parts")


# -- killed -----------------------------------------------------------------------------------------------------------

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forks")


@needs_fork
@pytest.mark.parametrize(("kills", "seeds"), [(5, [1]), pytest.param(100, range(3), marks=pytest.mark.soak)])
def test_killed_now_and_then(programs: Programs, kills: int, seeds: Any) -> None:
    for seed in seeds:
        found = killed(programs, "parts", str(kills), str(seed))
        assert found["wrong"] == []
        assert found["kills"] >= kills


@needs_fork
@pytest.mark.soak
def test_an_index_before_its_columns_is_caught(programs: Programs) -> None:
    assert killed(programs, "parts", "30", "1", "early")["wrong"]
