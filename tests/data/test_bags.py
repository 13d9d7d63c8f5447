"""TileBags: what a bag is, which tiles are picked, and what is said of data that is not as it should be."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.folders import BAGS, SIZES, bag_folders, draw

import augrecipes as ar
from augrecipes.kinds.bag.tiles import tiles_of
from augrecipes.recipe.model import Bag
from augrecipes.recipe.parse import parse_text


@pytest.fixture(scope="module")
def recipe() -> ar.Recipe:
    return parse_text(BAGS)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bag_folders(tmp_path_factory.mktemp("bags"))


@pytest.fixture
def ds(root: Path, recipe: ar.Recipe) -> ar.TileBags:
    return ar.TileBags(root, recipe, seed=3)


def digest(bag: dict[str, Any]) -> str:
    return hashlib.sha256(bag["image"].numpy().tobytes() + bag["coords"].numpy().tobytes()).hexdigest()


class TestSamples:
    def test_a_bag(self, ds: ar.TileBags, root: Path) -> None:
        bag = ds[1]
        assert set(bag) == {"image", "coords", "bag", "index", "path"}
        assert (bag["image"].shape, bag["image"].dtype) == ((3, 3, 12, 10), torch.float32)
        assert (bag["coords"].dtype, bag["coords"].tolist()) == (torch.int64, [[0, 10], [1, 10], [2, 10]])
        assert (bag["bag"], bag["index"], bag["path"]) == ("slide-b", 1, str(root / "slide-b"))
        assert (len(ds), ds.bags, ds.tiles.tolist()) == (4, list(SIZES), list(SIZES.values()))
        assert (ds.labels, ds.classes, ds.path(1)) == (None, None, bag["path"])
        assert repr(ds) == "TileBags(4 samples, recipe 'test-bags', mode 'train', seed 3)"

    def test_a_tile_is_the_one_that_the_pipeline_makes_at_its_own_key(self, ds: ar.TileBags, root: Path) -> None:
        bag = ds[5, 0]
        assert len(bag["image"]) == 4  # of 5
        for image, (x, _) in zip(bag["image"], bag["coords"].tolist(), strict=True):
            alone = ds.pipeline.at(0, 5, tile=x)(image=ar.read_image(root / "slide-a" / f"tile_x{x}_y0.png"))
            np.testing.assert_array_equal(image.numpy(), alone["image"])

    def test_tiles_of_several_sizes_are_refused_and_broken_ones_left_out_by_name(self, tmp_path: Path) -> None:
        draw(tmp_path / "a" / "0.png", 0, (8, 9))
        for k in (1, 2):
            draw(tmp_path / "a" / f"{k}.png", k, (8, 7))
        plain = parse_text("{version: 1, recipe: plain, kind: bag, steps: [], eval: []}")
        for threads in (1, 2):
            with pytest.raises(ar.CollateError, match="tiles of one bag come out with different sizes"):
                ar.TileBags(tmp_path, plain, threads=threads)[0]
        draw(tmp_path / "a" / "0.png", 0, (8, 7))
        (tmp_path / "a" / "3.png").touch()
        for threads in (1, 2):
            made = ar.loader(ar.TileBags(tmp_path, plain, threads=threads, on_error="skip"))
            (batch,) = made
            assert batch["image"].shape == (1, 3, 3, 8, 7)
            assert [Path(record.path).name for record in made.skipped] == ["3.png"]


class TestPicking:
    def test_a_random_subset_is_a_function_of_seed_epoch_and_index(self) -> None:
        def pick(**changed: int) -> list[int]:
            return tiles_of(
                Bag(20, 1, "random"), 50, "train", **{"seed": 1, "epoch": 2, "index": 3, **changed}
            ).tolist()

        assert pick() == pick() == sorted(set(pick()))
        assert len(pick()) == 20
        others = [pick(seed=2), pick(epoch=3), pick(index=4), pick(seed=-1), pick(epoch=3, index=2)]
        assert len({*map(tuple, others), tuple(pick())}) == 6
        # Fixed for ever: saved states and published figures rely on it.
        assert tiles_of(Bag(4, 1, "random"), 10, "train", seed=0, epoch=0, index=0).tolist() == [1, 4, 6, 8]

    @pytest.mark.parametrize("n", [1, 2, 7, 100])
    @pytest.mark.parametrize("how", ["random", "first", "stride"])
    def test_picked_tiles_ascend(self, n: int, how: Any) -> None:
        for most in (None, 1, 3, n, n + 1):
            found = tiles_of(Bag(most, 1, how), n, "train", seed=0, epoch=0, index=0)
            assert found.dtype == np.int64
            assert len(found) == (n if most is None else min(n, most))
            assert (np.diff(found) > 0).all()
            assert 0 <= found.min() <= found.max() < n

    def test_arguments_win_over_the_recipe(self, root: Path, recipe: ar.Recipe) -> None:
        first = ar.TileBags(root, recipe, pick="first", max_tiles=2)
        assert first[0]["coords"][:, 0].tolist() == first[3, 0]["coords"][:, 0].tolist() == [0, 1]
        stride = ar.TileBags(root, recipe, pick="stride", max_tiles=3)
        assert stride[2]["coords"][:, 0].tolist() == [1, 3, 5]
        random = ar.TileBags(root, recipe, max_tiles=2)
        assert len({tuple(random[epoch, 2]["coords"][:, 0].tolist()) for epoch in range(20)}) > 5
        assert ar.TileBags(root, recipe, max_tiles=10**9)[2]["image"].shape[0] == 7


class TestFolders:
    def test_labels(self, tmp_path: Path, recipe: ar.Recipe, caplog: pytest.LogCaptureFixture) -> None:
        bag_folders(tmp_path)
        (tmp_path / "labels.csv").write_text("bag,label,who\nslide-d,no,X\nslide-a,yes,X\nslide-b,no,Y\nslide-c,no,Y\n")
        ds = ar.TileBags(tmp_path, recipe)
        assert (ds.labels.tolist(), ds.class_to_idx) == ([1, 0, 0, 0], {"no": 0, "yes": 1})
        assert ([ds[i]["label"] for i in range(4)], ds[0]["bag"]) == ([1, 0, 0, 0], "slide-a")
        assert "who" in caplog.text
        (tmp_path / "other.csv").write_text("bag;label\nslide-a;7\nslide-b;7\nslide-c;9\nslide-d;7\n")
        assert ar.TileBags(tmp_path, recipe, labels=tmp_path / "other.csv").labels.tolist() == [7, 7, 9, 7]  # type: ignore[union-attr]

    def test_labels_that_are_no_labels_are_told_with_the_others(self, tmp_path: Path, recipe: ar.Recipe) -> None:
        bag_folders(tmp_path)
        (tmp_path / "labels.csv").write_text("bag,label\nslide-a,\nslide-b,1\n,1\nslide-c\nslide-b,0\nslide-x,\n")
        with pytest.raises(ar.DataError) as caught:
            ar.TileBags(tmp_path, recipe)
        file = tmp_path / "labels.csv"
        assert caught.value.reason.splitlines() == [
            "8 problems in the data:",
            f"  {file}:2: bag 'slide-a' has no label here",
            f"  {file}:4: no bag in this row",
            f"  {file}:5: 1 fields, but the header has 2 columns",
            f"  {file}:6: bag 'slide-b' again, first in {file}:3",
            f"  {file}:7: bag 'slide-x' has no folder",
            f"  {file}:7: bag 'slide-x' has no label here",
            f"  {file}: bag 'slide-c' has no row",
            f"  {file}: bag 'slide-d' has no row",
        ]

    def test_tiles_beside_the_bags_are_told(
        self, tmp_path: Path, recipe: ar.Recipe, caplog: pytest.LogCaptureFixture
    ) -> None:
        bag_folders(tmp_path, {"a": 2})
        draw(tmp_path / "overview.png", 0)
        assert len(ar.TileBags(tmp_path, recipe)) == 1
        assert "1 image beside the folders, not read (overview.png first)" in caplog.text

    def test_small_and_empty_bags_are_told_at_once(self, tmp_path: Path, recipe: ar.Recipe) -> None:
        bag_folders(tmp_path, {"a": 4, "b": 1, "c": 3, "d": 0})
        with pytest.raises(
            ar.DataError, match=r"3 of 4 bags(.|\n)*/b: 1 tiles\n(.|\n)*/c: 3 tiles\n(.|\n)*/d: 0 tiles"
        ):
            ar.TileBags(tmp_path, recipe, min_tiles=4)
        with pytest.raises(ar.DataError, match=r"1 of 4 bags"):
            ar.TileBags(tmp_path, recipe)
        made = ar.loader(ar.TileBags(tmp_path, recipe, min_tiles=4, on_error="skip"))
        assert [batch["bag"] for batch in made] == [["a"]] * 4
        assert sorted(Path(s.path).name for s in made.skipped) == ["b", "c", "d"]
        assert all("fewer than min_tiles=4" in s.reason and s.bag is None for s in made.skipped)

    @pytest.mark.parametrize(
        ("wrong", "error"),
        [
            ({"root": None}, ValueError),
            ({"files": "a.csv"}, ValueError),
            ({"root": None, "files": "a.csv", "labels": "b.csv"}, ValueError),
            ({"pick": "last"}, ValueError),
            ({"max_tiles": 0}, ValueError),
            ({"max_tiles": 2.5}, ValueError),
            ({"min_tiles": 0}, ValueError),
            ({"max_tiles": 2, "min_tiles": 3}, ValueError),
            ({"threads": 0}, ValueError),
            ({"split": "train"}, ValueError),
            ({"weights": [1]}, ValueError),
            ({"recipe": None}, TypeError),
            ({"recipe": "folder-128"}, ar.RecipeError),
            ({"root": "nowhere"}, ar.DataError),
            ({"labels": "nowhere.csv"}, ar.DataError),
        ],
    )
    def test_senseless_arguments(
        self, root: Path, recipe: ar.Recipe, wrong: dict[str, Any], error: type[Exception]
    ) -> None:
        with pytest.raises(error):
            ar.TileBags(**{"root": root, "recipe": recipe, **wrong})


class TestFiles:
    @pytest.fixture
    def listed(self, tmp_path: Path) -> Path:
        bag_folders(tmp_path / "tiles", {"p": 3, "q": 2})
        (tmp_path / "tiles.csv").write_text(
            "image,bag,x,y,label,split,weight,group\n"
            "tiles/q/tile_x1_y10.png,Q,50,60,sick,train,2,anna\n"
            "tiles/p/tile_x2_y0.png,P,10,20,well,train,1,bert\n"
            "tiles/q/tile_x0_y10.png,Q,70.0,-80,sick,train,2,anna\n"
            "tiles/p/tile_x0_y0.png,P,30,40,well,train,1,bert\n"
            "tiles/p/tile_x1_y0.png,R,1,2,odd,val,1,carl\n"
        )
        return tmp_path / "tiles.csv"

    def test_rows_are_gathered(self, listed: Path, recipe: ar.Recipe) -> None:
        ds = ar.TileBags(files=listed, recipe=recipe, split="train", mode="eval")
        assert (ds.bags, ds.tiles.tolist(), ds.classes) == (["Q", "P"], [2, 2], ["odd", "sick", "well"])
        assert (ds.labels.tolist(), ds.weights.tolist(), ds.groups.tolist()) == ([1, 2], [2.0, 1.0], ["anna", "bert"])
        bag = ds[0]
        assert bag["coords"].tolist() == [[50, 60], [70, -80]]
        assert (bag["bag"], bag["label"], bag["path"]) == ("Q", 1, str(listed.parent / "tiles/q/tile_x1_y10.png"))
        tile = ar.read_image(bag["path"])[3:15, 3:13]
        np.testing.assert_allclose(bag["image"][0], (tile / np.float32(255)).transpose(2, 0, 1), atol=1e-6)
        assert len(ar.TileBags(files=listed, recipe=recipe)) == 3

    def test_all_that_is_wrong_is_told_at_once(self, listed: Path, recipe: ar.Recipe) -> None:
        listed.write_text(
            "image,bag,x,y,label,weight\n"
            "tiles/q/tile_x1_y10.png,Q,fifty,60,sick,2\n"
            "tiles/p/tile_x2_y0.png,P,10,2.5,,1\n"
            ",P,1,1,,1\n"
            "tiles/p/tile_x2_y0.png,,1,1,well,1\n"
            "tiles/p/tile_x2_y0.png,R,1,1,well,-1\n"
            "tiles/p/tile_x2_y0.png,R,1,1\n"
            "tiles/p/none.png,R,1,,ill,-1\n"
        )
        with pytest.raises(ar.DataError) as caught:
            ar.TileBags(files=listed, recipe=recipe)
        assert caught.value.path == str(listed)
        assert caught.value.reason.splitlines() == [
            "10 problems in the data:",
            f"  {listed}:2: x must be a whole number of pixels, got 'fifty'",
            f"  {listed}:3: no label in this row, though others have one: give it one, or remove it",
            f"  {listed}:3: y must be a whole number of pixels, got '2.5'",
            f"  {listed}:4: no image in this row",
            f"  {listed}:5: no bag in this row",
            f"  {listed}:6: weight must be a number that is not negative, got '-1'",
            f"  {listed}:7: 4 fields, but the header has 6 columns",
            f"  {listed}:8: {listed.parent / 'tiles/p/none.png'}: no such file",
            f"  {listed}:8: bag 'R': label 'ill', but 'well' in line 6",
            f"  {listed}:8: y must be a whole number of pixels, got ''",
        ]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("image,label\na.png,1\n", "no column `bag`"),
            ("bag,image,x\nA,tiles/p/tile_x0_y0.png,1\n", "column `x` alone"),
            ("image,bag\n,P\n\na.png,\n", r"2 problems in the data:\n  .*:2: no image .*\n  .*:4: no bag"),
            ("bag,image,labels\nA,a.png,1\n", "did you mean 'label'"),
        ],
    )
    def test_what_is_wrong_is_told(self, listed: Path, recipe: ar.Recipe, text: str, message: str) -> None:
        listed.write_text(text)
        with pytest.raises(ar.DataError, match=message):
            ar.TileBags(files=listed, recipe=recipe)


class TestBrokenTiles:
    @pytest.fixture
    def broken(self, tmp_path: Path) -> Path:
        bag_folders(tmp_path)
        (tmp_path / "slide-c" / "tile_x2_y20.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing more")
        draw(tmp_path / "slide-c" / "tile_x5_y20.png", 9, (8, 8))  # smaller than the crop
        return tmp_path

    def test_raise_names_the_tile_and_the_step(self, broken: Path, recipe: ar.Recipe) -> None:
        (broken / "slide-c" / "tile_x2_y20.png").unlink()
        with pytest.raises(ar.DataError) as caught:
            list(ar.loader(ar.TileBags(broken, recipe, max_tiles=7)))
        assert (Path(caught.value.path or "").name, caught.value.step) == ("tile_x5_y20.png", "RandomCrop#1")

    @pytest.mark.parametrize("workers", [0, 2])
    def test_skip_leaves_them_out(
        self, broken: Path, recipe: ar.Recipe, workers: int, caplog: pytest.LogCaptureFixture
    ) -> None:
        ds = ar.TileBags(broken, recipe, max_tiles=7, on_error="skip", threads=2)
        made = ar.loader(ds, num_workers=workers)
        bags = list(made)
        assert [batch["image"].shape[1] for batch in bags] == [5, 3, 5, 4]
        assert bags[2]["coords"][0, :, 0].tolist() == [0, 1, 3, 4, 6]
        records = sorted((Path(s.path).name, s.reason.partition(":")[0], s.bag, s.index, s.epoch, s.replacement)
                         for s in made.skipped)  # fmt: skip
        assert [(name, *rest) for name, _, *rest in records] == [
            ("tile_x2_y20.png", "slide-c", 2, 0, None),
            ("tile_x5_y20.png", "slide-c", 2, 0, None),
        ]
        assert records[1][1] == "step RandomCrop#1"
        assert "epoch 0: 2 tiles were left out of their bags" in caplog.text
        whole = ar.TileBags(bag_folders(broken / "whole"), recipe, max_tiles=7)[2]
        assert torch.equal(bags[2]["image"][0], whole["image"][[0, 1, 3, 4, 6]])

    def test_too_few_left_means_another_bag(self, broken: Path, recipe: ar.Recipe) -> None:
        ds = ar.TileBags(broken, recipe, max_tiles=7, min_tiles=6, on_error="skip")
        made = ar.loader(ds, num_workers=0)
        with pytest.raises(ar.DataError, match="none of 3 other samples"):
            list(made)
        enough = ar.TileBags(broken, recipe, max_tiles=7, min_tiles=4, on_error="skip").subset([2, 3])
        few = ar.TileBags(broken, recipe, max_tiles=7, min_tiles=4, on_error="skip")
        (broken / "slide-c" / "tile_x0_y20.png").write_bytes(b"")
        (broken / "slide-c" / "tile_x1_y20.png").write_bytes(b"")
        made = ar.loader(enough)
        bags = list(made)
        assert [batch["bag"] for batch in bags] == [["slide-d"], ["slide-d"]]
        assert digest({k: bags[0][k][0] for k in ("image", "coords")}) == digest(few[3])
        whole = [s for s in made.skipped if s.bag is None]
        assert [(Path(s.path).name, Path(s.replacement or "").name) for s in whole] == [("slide-c", "slide-d")]
        assert "3 of 7 tiles can be used, fewer than min_tiles=4" in whole[0].reason
        assert sum(s.bag == "slide-c" for s in made.skipped) == 4


class TestBatches:
    def test_unequal_bags_are_refused_with_advice(self, ds: ar.TileBags) -> None:
        with pytest.raises(
            ar.CollateError,
            match=r"4×3×12×10 in sample 0 \(.*slide-a\), but 3×3×12×10 in sample 1 \(.*slide-b\); .*batch_size=1",
        ):
            next(iter(ar.loader(ds, 2)))

    def test_pad(self, ds: ar.TileBags) -> None:
        batch = next(iter(ar.loader(ds, 2, collate="pad")))
        assert batch["padding"].tolist() == [[False] * 4, [False] * 3 + [True]]
        assert torch.equal(batch["image"][1, :3], ds[1]["image"])
        assert not batch["image"][1, 3].any()
        assert batch["coords"][1, 3].tolist() == [-1, -1]
        alone = next(iter(ar.loader(ds, collate="pad")))
        assert (alone["image"].shape[:2], alone["padding"].tolist()) == ((1, 4), [[False] * 4])

    def test_pad_cannot_mend_other_sizes_of_tiles(self) -> None:
        made = ar.loader([{"image": torch.zeros(2, 3, k, 4), "bag": "a", "index": k} for k in (4, 5)], 2, collate="pad")
        with pytest.raises(ar.CollateError, match="2×3×4×4 in sample 4, but 2×3×5×4 in sample 5; end the recipe"):
            next(iter(made))
