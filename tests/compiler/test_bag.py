from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from augrecipes.compiler.explain import explain
from augrecipes.compiler.run import tiles as module
from augrecipes.errors import CollateError, DataError
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text

TILES = np.random.default_rng(0).integers(0, 256, (17, 40, 52, 3), np.uint8)
STEPS = """[{Rotate: {limit: 25, p: 1.0}}, {RandomResizedCrop: {size: [24, 24]}}, HorizontalFlip, VerticalFlip,
  {OneOf: {p: 0.7, steps: [{GaussNoise: {p: 1.0}}, {Blur: {p: 1.0}}]}},
  {StainJitter: {sigma: 0.1, share: bag, p: 1.0}}]"""


def recipe(steps: str = STEPS, **more: str) -> Recipe:
    rest = "".join(f"{key}: {value}\n" for key, value in {"eval": "[]", **more}.items())
    return parse_text(f"version: 1\nrecipe: test\nkind: bag\nsteps: {steps}\n{rest}")


@pytest.mark.parametrize("threads", [1, 2, 5, 40])
@pytest.mark.parametrize("optimize", ["none", "exact"])
def test_every_number_of_threads_gives_each_tiles_own_sample(threads: int, optimize: Any) -> None:
    pipeline = recipe().compile(seed=3, threads=threads, optimize=optimize)
    alone = recipe().compile(seed=3, optimize="none")
    for index in range(3):
        out = pipeline.at(index, 1)(images=TILES)["image"]
        wanted = [alone.at(index, 1, tile=k)(image=tile)["image"] for k, tile in enumerate(TILES)]
        assert out.shape == (17, 3, 24, 24)
        assert np.array_equal(out, np.stack(wanted))


def test_a_list_an_array_and_floats() -> None:
    pipeline = recipe("[{RandomCrop: {height: 24, width: 20}}, HorizontalFlip]").compile()
    as_array = pipeline.at(4)(images=TILES)["image"]
    assert np.array_equal(as_array, pipeline.at(4)(images=list(TILES))["image"])
    floats = pipeline.at(4)(images=TILES.astype(np.float32) / np.float32(255))["image"]
    assert np.allclose(as_array, floats, atol=1e-6)
    assert np.array_equal(as_array, pickle.loads(pickle.dumps(pipeline)).at(4)(images=TILES)["image"])


def test_tiles_of_different_size_may_come_in() -> None:
    tiles = [TILES[0], TILES[1, :30], TILES[2, :, :29]]
    assert recipe().compile().at(0)(images=tiles)["image"].shape == (3, 3, 24, 24)


def test_shared_draws_are_one_for_a_bag_and_differ_between_bags() -> None:
    pipeline = recipe("[{StainJitter: {share: bag, p: 1.0}}, {RandomGamma: {p: 1.0}}]").compile(
        save_applied_params=True
    )
    shared, own = [], []
    for index in range(2):
        applied = pipeline.at(index)(images=TILES)["applied"]
        assert len(applied) == len(TILES)
        draws = [{site: str(params) for site, _, params in tile} for tile in applied]
        assert len({tile["StainJitter#1"] for tile in draws}) == 1
        shared.append(draws[0]["StainJitter#1"])
        own += [tile["RandomGamma#1"] for tile in draws]
    assert shared[0] != shared[1]
    assert len(set(own)) > 20


def test_a_group_shares_its_choice_and_its_childrens_draws() -> None:
    steps = "[{OneOf: {share: bag, steps: [{RandomGamma: {p: 1.0}}, {Rotate: {p: 1.0}}, {HorizontalFlip: {p: 1.0}}]}}]"
    pipeline = recipe(steps).compile(save_applied_params=True)
    chosen = set()
    for index in range(12):
        applied = pipeline.at(index)(images=TILES)["applied"]
        assert len({str([(site, sorted(p.items(), key=str)) for site, _, p in tile]) for tile in applied}) == 1
        chosen.add(applied[0][0][0])
    assert len(chosen) == 3


class TestBrokenTiles:
    def read(self, k: int) -> np.ndarray:
        if k in (3, 7):
            raise DataError("is broken", path=f"{k}.png")
        return TILES[k]

    @pytest.mark.parametrize("threads", [1, 3])
    def test_the_first_is_raised(self, threads: int) -> None:
        pipeline = recipe().compile(threads=threads)
        for _ in range(5):
            with pytest.raises(DataError, match=r"3\.png"):
                pipeline.bag(0, 0, range(17), self.read)

    @pytest.mark.parametrize("threads", [1, 3])
    def test_or_all_are_left_out(self, threads: int) -> None:
        pipeline = recipe().compile(threads=threads)
        bag = pipeline.bag(0, 0, range(17), self.read, skip=True)
        whole = pipeline.at(0)(images=TILES)["image"]
        assert [k for k, _ in bag.dropped] == [3, 7]
        assert bag.kept == tuple(k for k in range(17) if k not in (3, 7))
        assert np.array_equal(bag.image, whole[list(bag.kept)])

    def test_none_is_left(self) -> None:
        with pytest.raises(DataError, match="none of its 2 tiles"):
            recipe().compile().bag(0, 0, [3, 3], lambda k: self.read(3), skip=True)

    @pytest.mark.parametrize("skip", [False, True])
    def test_a_step_that_fails_names_step_and_file(self, *, skip: bool) -> None:
        pipeline = recipe("[{RandomCrop: {height: 45, width: 45}}]").compile()
        with pytest.raises(DataError) as caught:
            pipeline.bag(0, 0, range(2), lambda k: TILES[k], name=lambda k: f"{k}.png", skip=skip)
        assert caught.value.path == "0.png"
        if not skip:
            assert caught.value.step == "RandomCrop#1"

    @pytest.mark.parametrize("threads", [1, 2, 4])
    def test_sizes_that_differ(self, threads: int) -> None:
        """The tile that is blamed is the same for any number of threads: the first that is unlike most."""
        pipeline = recipe("[HorizontalFlip]").compile(threads=threads)
        tiles = [TILES[0, :30], TILES[1], TILES[2], TILES[3, :31]]
        for _ in range(5):
            with pytest.raises(CollateError) as caught:
                pipeline.bag(0, 0, range(4), tiles.__getitem__, name="{}.png".format)
            assert str(caught.value).startswith("0.png: comes out as 3×30×52, 1.png of the same bag as 3×40×52")
            bag = pipeline.bag(0, 0, range(4), tiles.__getitem__, name="{}.png".format, skip=True)
            assert bag.kept == (1, 2)
            assert [(k, error.path) for k, error in bag.dropped] == [(0, "0.png"), (3, "3.png")]
            assert np.array_equal(bag.image, pipeline.bag(0, 0, (1, 2), tiles[1:].__getitem__).image)

    def test_a_tile_of_a_direct_call_is_numbered(self) -> None:
        with pytest.raises(DataError, match=r"images\[2\]: image must be a numpy array, got NoneType"):
            recipe().compile().at(0)(images=[TILES[0], TILES[1], None])

    def test_an_error_of_the_program_passes_through(self) -> None:
        def read(k: int) -> np.ndarray:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            recipe().compile(threads=2).bag(0, 0, range(3), read, skip=True)


def test_the_key_is_the_tiles_number_not_its_place() -> None:
    pipeline = recipe().compile()
    whole = pipeline.at(2)(images=TILES)["image"]
    some = pipeline.bag(2, 0, [11, 4], lambda k: TILES[[11, 4][k]]).image
    assert np.array_equal(some, whole[[11, 4]])


def test_memory_comes_from_the_caller() -> None:
    given: list[np.ndarray] = []

    def allocate(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        given.append(np.empty(shape, dtype))
        return given[-1]

    bag = recipe().compile(threads=2).bag(0, 0, range(17), TILES.__getitem__, allocate=allocate)
    assert len(given) == 1
    assert np.shares_memory(bag.image, given[0])
    assert not np.shares_memory(bag.image, TILES)


@pytest.mark.parametrize("output", ["{dtype: uint8, layout: hwc}", "{dtype: float16}", "{color: gray, layout: hwc}"])
def test_other_outputs(output: str) -> None:
    pipeline = recipe("[{RandomCrop: {height: 24, width: 20}}]", output=output).compile(threads=2)
    out = pipeline.at(0)(images=TILES)["image"]
    assert np.array_equal(out[5], pipeline.at(0, 0, 5)(image=TILES[5])["image"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"images": []}, "at least one tile"),
        ({"images": TILES[0]}, "N×H×W×C"),
        ({"images": TILES, "image": TILES[0]}, "not both"),
        ({}, "image must be a numpy array"),
    ],
)
def test_what_is_no_bag(given: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        recipe().compile().at(0)(**given)


def test_one_thread_inside_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    assert module.default_threads() >= 1
    monkeypatch.setattr(torch.utils.data, "get_worker_info", object)
    assert module.default_threads() == 1
    with pytest.raises(ValueError, match="threads"):
        recipe().compile(threads=0)


def test_explain_says_which_draws_are_shared() -> None:
    shared = {row.site: row.how for row in explain(recipe()).shared}
    assert shared["StainJitter#1"] == "one draw for the whole bag"
    assert shared["Rotate#1"] == "a draw for every tile"
