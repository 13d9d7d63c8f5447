"""Bags of tile files choose their tiles by tissue: what counts, what is cached, what a recipe says, what is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from support.checks import planted_faults, status

import augrecipes as ar
from augrecipes import cache
from augrecipes.kinds.bag import tiles
from augrecipes.ops import registry

LEAST_GREEN = 180  # of glass
GLASS, PINK = (243, 243, 243), (200, 120, 170)
# Of each tile its share of tissue.
SHARES = {"a": [1.0, 0.75, 0.25, 0.0], "b": [1.0, 1.0, 1.0], "c": [0.0, 0.0]}


def recipe(**bag: Any) -> ar.Recipe:
    output = {"dtype": "uint8", "layout": "hwc"}
    return ar.load(
        {"version": 1, "recipe": "t", "kind": "bag", "bag": bag, "steps": [], "eval": [], "output": output}
        if bag
        else {"version": 1, "recipe": "t", "kind": "bag", "steps": [], "eval": [], "output": output}
    )


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUGRECIPES_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "SETTLED_NS", -(10**18))  # what was written just now counts as settled


def tile(share: float, side: int = 96, seed: int = 0) -> np.ndarray:
    image = np.full((side, side, 3), GLASS, np.float64)
    image[:, : round(share * side)] = PINK
    return np.clip(image + np.random.default_rng(seed).normal(0, 1.5, image.shape), 0, 255).astype(np.uint8)


@pytest.fixture(params=["png", "jpg"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    for bag, shares in SHARES.items():
        (tmp_path / "bags" / bag).mkdir(parents=True)
        for k, share in enumerate(shares):
            name = f"x{k}_y0.{request.param}"
            assert cv2.imwrite(str(tmp_path / "bags" / bag / name), tile(share, seed=k)[:, :, ::-1])
    return tmp_path / "bags"


def columns(ds: ar.TileBags, bag: int) -> list[int]:
    table: Any = ds.table
    return [table.places(bag, np.array([k]))[0, 0] for k in range(len(table.units_of(bag)))]


def pink(thumbnail: np.ndarray) -> np.ndarray:
    """Tissue as somebody's own function finds it."""
    return np.asarray(thumbnail[:, :, 1] < LEAST_GREEN)


@pytest.mark.parametrize("tissue", ["otsu", 0.2, pink], ids=["otsu", "number", "own"])
@pytest.mark.parametrize(("least", "counts"), [(0.5, [2, 3, 0]), (0.2, [3, 3, 0]), (0.9, [1, 3, 0]), (0, [3, 3, 0])])
def test_tiles_with_tissue_enough_are_taken(root: Path, tissue: Any, least: float, counts: list[int]) -> None:
    ds = ar.TileBags(root, recipe(), tissue=tissue, min_tissue=least, on_error="skip")
    assert ds.tiles.tolist() == counts
    assert columns(ds, 0) == [0, 1, 2, 3][: counts[0]]
    assert ds[0]["coords"][:, 0].tolist() == columns(ds, 0)
    again = ar.TileBags(root, recipe(), tissue=tissue, min_tissue=least, on_error="skip")  # from the cache
    assert again.tiles.tolist() == counts
    assert again.fingerprint() == ds.fingerprint()
    assert ds.fingerprint() != ar.TileBags(root, recipe(), on_error="skip").fingerprint()


def test_white_alone_and_nothing_at_all(root: Path) -> None:
    assert ar.TileBags(root, recipe()).tiles.tolist() == [4, 3, 2]
    assert ar.TileBags(root, recipe(max_white=0.5), on_error="skip").tiles.tolist() == [2, 3, 0]
    assert ar.TileBags(root, recipe(tissue="none")).tiles.tolist() == [4, 3, 2]


def test_what_the_recipe_says_and_what_arguments_override(root: Path) -> None:
    said = recipe(tissue="otsu", min_tissue=0.9)
    assert ar.TileBags(root, said, on_error="skip").tiles.tolist() == [1, 3, 0]
    assert ar.TileBags(root, said, min_tissue=0.2, on_error="skip").tiles.tolist() == [3, 3, 0]
    assert ar.TileBags(root, said, tissue=None).tiles.tolist() == [4, 3, 2]
    assert ar.TileBags(root, said, tissue="none").tiles.tolist() == [4, 3, 2]
    assert said.digest != recipe(tissue="otsu").digest != recipe(max_tiles=None).digest
    chosen = ar.TileBags(root, said, on_error="skip")
    assert ar.TileBags(chosen, recipe(tissue=0.9), on_error="skip").tiles.tolist() == [1, 3, 0]  # stays as it was


def test_a_bag_without_tissue_is_one_with_too_few_tiles(root: Path) -> None:
    with pytest.raises(
        ar.DataError, match=r"(?s)1 of 3 bags.*c: 0 tiles: 0 of its 2 tiles show enough tissue.*tissue=otsu, min"
    ):
        ar.TileBags(root, recipe(tissue="otsu"))
    ds = ar.TileBags(root, recipe(tissue="otsu"), on_error="skip")
    loader = ar.loader(ds)
    assert {bag for batch in loader for bag in batch["bag"]} == {"a", "b"}
    assert [("0 tiles" in record.reason, Path(record.path).name) for record in loader.skipped] == [(True, "c")]


def test_broken_tiles_are_told_when_they_are_read(root: Path) -> None:
    broken = next((root / "b").iterdir())
    broken.write_bytes(broken.read_bytes()[:40])
    ds = ar.TileBags(root, recipe(tissue="otsu", min_tiles=1), on_error="skip")
    assert ds.tiles.tolist() == [2, 3, 0]
    loader = ar.loader(ds)
    sizes = {batch["bag"][0]: batch["image"].shape[1] for batch in loader}
    assert sizes["b"] == 2
    assert broken.name in {Path(record.path).name for record in loader.skipped}


def test_workers_threads_and_order_of_rows_change_nothing(root: Path, tmp_path: Path) -> None:
    said = recipe(tissue="otsu", min_tissue=0.2)
    files = [f"{path.parent.name},{path},{k}" for k, path in enumerate(sorted(root.glob("[ab]/*")))]
    ordered = [row.split(",")[:2] for row in files]
    for rows in (ordered, ordered[::-1]):
        (tmp_path / "rows.csv").write_text("\n".join(["bag,image", *map(",".join, rows)]))
        ds = ar.TileBags(None, said, files=tmp_path / "rows.csv")
        taken = {
            ds.table.bags.name(k): {Path(ds.table.images[u]).name[:2] for u in ds.table.units_of(k)} for k in (0, 1)
        }
        assert taken == {"a": {"x0", "x1", "x2"}, "b": {"x0", "x1", "x2"}}
    digests = []
    for workers, threads in ((0, 1), (0, 2), (2, None)):
        ds = ar.TileBags(root, said, threads=threads, on_error="skip").subset([0, 1])
        digests.append([batch["image"].numpy().tobytes() for batch in ar.loader(ds, num_workers=workers)])
    assert digests[0] == digests[1] == digests[2]


def test_packed_sets_keep_what_was_chosen(root: Path, tmp_path: Path) -> None:
    said = recipe(tissue="otsu", min_tissue=0.2, min_tiles=1)
    for k, data in enumerate((root, ar.TileBags(root, said, on_error="skip"))):
        ar.pack(said, data, tmp_path / f"store-{k}")
        packed = ar.Packed(tmp_path / f"store-{k}", said, on_error="skip")
        whole = ar.TileBags(root, said, on_error="skip")
        assert packed[0]["coords"].tolist() == whole[0]["coords"].tolist() == [[0, 0], [1, 0], [2, 0]]
        assert np.array_equal(packed[0]["image"], whole[0]["image"])
        assert len(ar.Packed(tmp_path / f"store-{k}", recipe(), on_error="skip")[0]["image"]) == 3
        with pytest.raises(ar.StoreError, match="tiles were chosen by"):
            ar.Packed(tmp_path / f"store-{k}", recipe(tissue=0.3))
    # Arguments override a recipe: the store answers both.
    ar.pack(said, ar.TileBags(root, said, tissue=0.2, on_error="skip"), tmp_path / "store-2")
    for other in (said, recipe(tissue=0.2), recipe(tissue=0.2, min_tissue=0.2, max_white=0.8)):
        assert len(ar.Packed(tmp_path / "store-2", other, on_error="skip")[0]["image"]) == 3
    for other in (recipe(tissue="none"), recipe(tissue=0.2, min_tissue=0.3)):
        with pytest.raises(ar.StoreError, match=r"'min_tissue': 0.2, 'tissue': 0.2}.*pack the data again"):
            ar.Packed(tmp_path / "store-2", other)


def test_the_cache_holds_as_long_as_the_files(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said, looked = recipe(tissue="otsu"), []
    thumbnail = tiles._thumbnail
    monkeypatch.setattr(tiles, "_thumbnail", lambda path, how: looked.append(path) or thumbnail(path, how))
    for share in (0.5, 0.2):  # shares are cached, not what is chosen by them
        ar.TileBags(root, said, min_tissue=share, on_error="skip")
        assert len(looked) == 9
    path = next(iter(sorted((root / "a").iterdir())))
    cv2.imwrite(str(path), tile(0.0, seed=9))
    assert ar.TileBags(root, said, on_error="skip").tiles.tolist() == [1, 3, 0]
    assert len(looked) == 9 + 4
    for level, count in ((180, 3), (90, 0)):  # a function may use what changes around it
        monkeypatch.setattr(f"{__name__}.LEAST_GREEN", level)
        assert ar.TileBags(root, said, tissue=pink, on_error="skip").tiles[1] == count
    assert len(looked) == 13 + 2 * 9


def test_own_functions_that_return_no_mask(root: Path, tmp_path: Path) -> None:
    for wrong in (lambda small: small > 3, lambda small: small[:, :, 0], lambda small: None, lambda small: True):
        with pytest.raises(ar.DataError, match="must return bool of shape"):
            ar.TileBags(root, recipe(), tissue=wrong)
    with pytest.raises(ZeroDivisionError):
        ar.TileBags(root, recipe(), tissue=lambda small: small[:, :, 0] > 1 // 0)
    for kwargs in ({"tissue": 1.5}, {"tissue": True}, {"min_tissue": 2}, {"max_white": -1}, {"tissue": "no/such.png"}):
        with pytest.raises(ValueError, match=r"tissue|share"):
            ar.TileBags(root, recipe(), **kwargs)


def test_registered_functions_have_names_in_recipes(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_foregrounds", {})
    with pytest.raises(ar.RecipeError, match="no function of this name was registered"):
        recipe(tissue="pink")
    with pytest.raises(ar.RecipeError, match="did you mean 'otsu'"):
        recipe(tissue="ostu")
    assert ar.register(pink) is pink
    said = recipe(tissue="pink", min_tissue=0.2)
    assert ar.TileBags(root, said, on_error="skip").tiles.tolist() == [3, 3, 0]
    with pytest.raises(TypeError):
        ar.register(3)  # type: ignore[type-var]


def test_check_explain_and_preview_tell_it(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "r.yaml"
    file.write_text("version: 1\nrecipe: r\nkind: bag\nbag: {tissue: otsu, min_tissue: 0.2}\nsteps: []\neval: []\n")
    assert status(*["explain", str(file)]) == 0
    assert "tissue: otsu, min_tissue: 0.2" in " ".join(capsys.readouterr().out.split())
    assert status(*["check-data", str(file), str(root)]) == 1
    assert "0 of its 2 tiles show enough tissue" in "".join(capsys.readouterr())
    assert status(*["preview", str(file), str(root), "-o", str(tmp_path / "sheet.png")]) == 0
    for bad in ("tissue: 2", "tissue: nobody", "min_tissue: 1.5", "max_white: white"):
        file.write_text(f"version: 1\nrecipe: r\nkind: bag\nbag: {{{bad}}}\nsteps: []\neval: []\n")
        assert status(*["check", str(file)]) == 2
        assert "E404" in "".join(capsys.readouterr())


def of_choosing(fixture: Callable[[str], Any]) -> None:
    root = fixture("tmp_path") / "faulty"
    for bag, shares in SHARES.items():
        (root / bag).mkdir(parents=True)
        for k, share in enumerate(shares):
            cv2.imwrite(str(root / bag / f"x{k}_y0.png"), tile(share, seed=k)[:, :, ::-1])
    test_tiles_with_tissue_enough_are_taken(root, "otsu", 0.9, [1, 3, 0])


test_planted_faults_are_caught = planted_faults(
    {
        "a threshold for each tile": (
            of_choosing,
            (tiles, "_masks", lambda tiles, *_: np.array([
                (s := cv2.cvtColor(each, cv2.COLOR_RGB2HSV)[:, :, 1]) > cv2.threshold(s, 0, 255, cv2.THRESH_OTSU)[0]
                for each in tiles
            ])),
        ),
        "all white": (of_choosing, (tiles, "white_mask", lambda tiles: np.ones(tiles.shape[:3], bool))),
        "mirrored shares": (
            of_choosing, (tiles, "_masks", lambda pixels, *_: tiles.white_mask(pixels))
        ),
    },
    (AssertionError, ar.DataError, IndexError),
)  # fmt: skip
