"""`ar.accelerate` around an A.Compose: called as before, by trainers, workers, threads and other pipelines."""

import copy
import pickle
import random
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import albumentations as A
import numpy as np
import pytest
import torch
from albumentations.augmentations.crops.transforms import CropSizeError
from kernel_sets import NEEDS_KERNELS

import augrecipes as ar
from augrecipes.accelerate.pipeline import ComposePipeline

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

IMAGE = np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)
BOXES = [[5, 5, 30, 40], [20, 10, 70, 50], [1, 1, 8, 8]]
BOX_PARAMS = A.BboxParams("pascal_voc", label_fields=["names", "ids"])


class Metadata(A.ImageOnlyTransform):
    """Adds the number that stands beside the image."""

    def get_params_dependent_on_data(self, params: Any, data: Any) -> Any:
        return {"more": data["more"]}

    def apply(self, img: np.ndarray, more: int, **_: Any) -> np.ndarray:
        return img + np.uint8(more)


class Depth(A.DualTransform):
    """Knows a target of its own."""

    @property
    def targets(self) -> Any:
        return {**super().targets, "depth": self.apply_to_depth}

    def apply(self, img: np.ndarray, **_: Any) -> np.ndarray:
        return img

    def apply_to_depth(self, depth: Any, **_: Any) -> Any:
        return depth + 1


class Trainers(A.Compose):
    """A Compose that its users made a class of."""

    def __init__(self) -> None:
        super().__init__([A.RandomCrop(20, 20), A.HorizontalFlip()])


def to_float(image: np.ndarray, **_: Any) -> np.ndarray:
    CALLS["to_float"] += 1
    return image.astype(np.float32) / 255


CALLS: Counter[str] = Counter()


def native_of(made: Any) -> list[bool]:
    return [step.how == "native" for step in made.explain(image=IMAGE).steps]


def test_what_comes_out_is_called_and_typed_as_before() -> None:
    compose = A.Compose(
        [A.RandomResizedCrop((32, 40)), A.HorizontalFlip(), A.ColorJitter(p=1.0), A.Normalize(), A.ToTensorV2()],
        bbox_params=BOX_PARAMS,
    )
    made = ar.accelerate(compose, seed=1)
    assert isinstance(made, A.Compose)
    assert not made.why_not
    given = {
        "image": IMAGE,
        "mask": IMAGE[..., 0],
        "bboxes": BOXES,
        "names": ["a", "b", "c"],
        "ids": np.arange(3),
        "k": 7,
    }
    for _ in range(4):
        mine, theirs = made(**copy.deepcopy(given)), compose(**copy.deepcopy(given))
        assert [*mine] == [*theirs]
        assert {key: type(value) for key, value in mine.items()} == {key: type(value) for key, value in theirs.items()}
        assert (mine["image"].shape, mine["image"].dtype) == ((3, 32, 40), torch.float32)
        assert (mine["mask"].shape, mine["mask"].dtype) == ((32, 40), torch.uint8)
        assert [("a", "b", "c").index(name) for name in mine["names"]] == mine["ids"].tolist()


@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
def test_labels_stay_with_their_boxes(optimize: Any) -> None:
    """Of whatever type they are: albumentations makes floats of integers and loses those beyond 2²⁴."""
    compose = A.Compose(
        [A.RandomCrop(30, 30), A.HorizontalFlip()], bbox_params=A.BboxParams("yolo", label_fields=["n", "t"])
    )
    made = ar.accelerate(compose, optimize, seed=0)
    boxes = np.array([[0.1, 0.1, 0.1, 0.1], [0.9, 0.9, 0.1, 0.1], [0.5, 0.5, 0.9, 0.9]])
    seen: set[int] = set()
    for _ in range(150):
        done = made(image=IMAGE, bboxes=boxes, n=[(1 << 24) + 1, 2, 3], t=np.array(["x", "y", "z"]))
        pairs = {(1 << 24) + 1: "x", 2: "y", 3: "z"}
        assert [pairs[number] for number in done["n"]] == done["t"].tolist()
        assert len(done["n"]) == len(done["bboxes"])
        seen |= {*done["n"]}
    assert seen == {(1 << 24) + 1, 2, 3}


def test_a_sample_without_boxes() -> None:
    made = ar.accelerate(A.Compose([A.HorizontalFlip(p=1.0)], bbox_params=BOX_PARAMS))
    assert made(image=IMAGE, bboxes=[], names=[], ids=[])["bboxes"] == []
    assert made(image=IMAGE, bboxes=np.zeros((0, 4)), names=[], ids=[])["bboxes"].shape == (0, 4)


@NEEDS_KERNELS
def test_what_stands_behind_a_float_runs_as_it_was() -> None:
    """A function of somebody's that leaves floats is found out at the first call, and is called once a sample."""
    CALLS.clear()
    made = ar.accelerate(
        A.Compose([A.HorizontalFlip(), A.Lambda(image=to_float), A.CoarseDropout(p=1.0), A.ToTensorV2()])
    )
    for _ in range(5):
        done = made(image=IMAGE)["image"]
        assert (done.dtype, done.max() <= 1) == (torch.float32, torch.tensor(True))
    assert CALLS["to_float"] <= 6
    assert native_of(made) == [True, False, False, False]
    assert not made.why_not


@NEEDS_KERNELS
def test_a_class_of_somebodys_sees_the_whole_sample() -> None:
    made = ar.accelerate(A.Compose([A.HorizontalFlip(p=1.0), Metadata(p=1.0), A.VerticalFlip(p=1.0)]))
    done = made(image=IMAGE, more=3)
    np.testing.assert_array_equal(done["image"], IMAGE[::-1, ::-1] + np.uint8(3))
    assert done["more"] == 3
    done = ar.accelerate(A.Compose([A.HorizontalFlip(p=1.0), Depth(p=1.0)]))(image=IMAGE, depth=np.zeros(2))
    assert done["depth"].tolist() == [1, 1]


def test_nothing_but_a_class_of_somebodys() -> None:
    done = ar.accelerate(A.Compose([Metadata(p=1.0), A.ToTensorV2()]))(image=IMAGE, mask=IMAGE[..., 0], more=3)
    np.testing.assert_array_equal(done["image"].numpy().transpose(1, 2, 0), IMAGE + np.uint8(3))
    assert isinstance(done["mask"], torch.Tensor)


def test_masks_that_are_blended_in_fast() -> None:
    """Which no program moves with a merged warp."""
    steps = [A.Rotate(20, p=1.0, mask_interpolation=1), A.RandomCrop(30, 30), A.Resize(20, 20), A.ToTensorV2()]
    made = ar.accelerate(A.Compose(steps), "fast")
    for dtype in (np.float32, np.uint8, np.int32):
        done = made(image=IMAGE, mask=IMAGE[..., 0].astype(dtype))
        assert done["mask"].shape == (20, 20)


def test_further_targets_and_stacks() -> None:
    made = ar.accelerate(A.Compose([A.HorizontalFlip(p=1.0), A.Normalize()], additional_targets={"left": "image"}))
    done = made(image=IMAGE, left=IMAGE, masks=[IMAGE[..., 0]] * 2)
    np.testing.assert_array_equal(done["image"], done["left"])
    assert isinstance(done["masks"], list)
    np.testing.assert_array_equal(done["masks"][1], IMAGE[:, ::-1, 0])
    frames = made(images=[IMAGE, IMAGE])["images"]
    assert [frame.dtype for frame in frames] == [np.float32] * 2


@pytest.mark.parametrize("shape", [(60, 80), (60, 80, 1), (60, 80, 2), (60, 80, 4), (60, 80, 5)])
def test_images_of_any_channels(shape: tuple[int, ...]) -> None:
    compose = A.Compose([A.RandomCrop(30, 30), A.Affine(p=1.0), A.Normalize(mean=(0.5,), std=(0.5,))])
    image = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    mine, theirs = ar.accelerate(compose)(image=image)["image"], compose(image=image)["image"]
    assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)


def test_a_compose_that_acts_now_and_then() -> None:
    made = ar.accelerate(A.Compose([A.InvertImg(p=1.0)], p=0.3), seed=0)
    acted = sum(bool((made(image=IMAGE)["image"] != IMAGE).any()) for _ in range(500))
    assert 110 < acted < 190
    assert (made(image=IMAGE, force_apply=True)["image"] == 255 - IMAGE).all()


def test_the_seed() -> None:
    compose = A.Compose([A.RandomCrop(20, 20), A.HorizontalFlip(), A.VerticalFlip(), A.GaussNoise()])
    first, second = ar.accelerate(compose, seed=5), ar.accelerate(compose, seed=5)
    draws = [first(image=IMAGE)["image"].tobytes() for _ in range(6)]
    assert draws == [second(image=IMAGE)["image"].tobytes() for _ in range(6)]
    assert len({*draws}) == 6
    first.set_random_seed(5)
    assert draws == [first(image=IMAGE)["image"].tobytes() for _ in range(6)]
    first.set_random_seed(6)
    assert draws != [first(image=IMAGE)["image"].tobytes() for _ in range(6)]
    others = {ar.accelerate(compose)(image=IMAGE)["image"].tobytes() for _ in range(6)}
    assert len(others) == 6
    seeded = ar.accelerate(A.Compose(compose.transforms, seed=5))
    assert draws[0] == seeded(image=IMAGE)["image"].tobytes()


def test_flips_do_not_act_together() -> None:
    """As they do in albumentations where a Compose has a seed."""
    made = ar.accelerate(A.Compose([A.HorizontalFlip(), A.VerticalFlip()], seed=1))
    kinds = Counter(made(image=IMAGE)["image"].tobytes() for _ in range(200))
    assert len(kinds) == 4
    assert min(kinds.values()) > 25


class Images(torch.utils.data.Dataset):
    def __init__(self, transform: Any) -> None:
        self.transform = transform

    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> Any:
        return self.transform(image=IMAGE)["image"]


@pytest.mark.parametrize("start", ["fork", "forkserver"])
@pytest.mark.parametrize("kind", [A.Compose, A.ReplayCompose])
def test_no_worker_and_no_epoch_repeats_another(start: str, kind: Any) -> None:
    steps = [A.RandomCrop(20, 20), A.RandomBrightnessContrast(p=1.0), A.Normalize(), A.ToTensorV2()]
    data = Images(ar.accelerate(kind(steps), seed=3))
    loader = torch.utils.data.DataLoader(data, 4, num_workers=2, multiprocessing_context=start)
    seen = [image.numpy().tobytes() for _ in range(2) for batch in loader for image in batch]
    assert len({*seen}) == 32


def test_copies_go_on_where_it_was() -> None:
    made = ar.accelerate(A.Compose([A.RandomCrop(20, 20), A.OneOf([A.Blur(), A.GaussNoise()])]), "fast")
    made(image=IMAGE)
    twin, pickled = copy.deepcopy(made), pickle.loads(pickle.dumps(made))
    for _ in range(3):
        image = made(image=IMAGE)["image"]
        np.testing.assert_array_equal(image, twin(image=IMAGE)["image"])
        np.testing.assert_array_equal(image, pickled(image=IMAGE)["image"])


def test_threads_share_no_draw() -> None:
    made = ar.accelerate(A.Compose([A.RandomCrop(20, 20), A.GaussNoise(p=1.0), Metadata(p=0.5)]), seed=1)
    with ThreadPoolExecutor(4) as pool:
        seen = [*pool.map(lambda _: made(image=IMAGE, more=1)["image"].tobytes(), range(64))]
    again = ar.accelerate(A.Compose([A.RandomCrop(20, 20), A.GaussNoise(p=1.0), Metadata(p=0.5)]), seed=1)
    assert {*seen} == {again(image=IMAGE, more=1)["image"].tobytes() for _ in range(64)}


@NEEDS_KERNELS
def test_samples_with_boxes_are_made_by_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [A.HorizontalFlip(), A.Rotate(20, p=1.0), A.RandomCrop(30, 30), A.RandomBrightnessContrast(p=1.0)]
    made = ar.accelerate(A.Compose(steps, bbox_params=BOX_PARAMS), seed=1)

    def run_steps(*_: Any) -> None:
        raise AssertionError("albumentations runs all steps")

    monkeypatch.setattr(ComposePipeline, "run_steps", run_steps)
    assert made(image=IMAGE, bboxes=BOXES, names=["a", "b", "c"], ids=[0, 1, 2])["image"].shape == (30, 30, 3)


def test_it_nests() -> None:
    inner = ar.accelerate(A.Compose([A.Affine(p=1.0, rotate=(-20, 20)), A.RandomCrop(30, 30)]))
    outer = A.Compose([A.HorizontalFlip(), inner, A.OneOf([inner, A.NoOp()])], bbox_params=BOX_PARAMS, seed=4)
    done = outer(image=IMAGE, bboxes=BOXES, names=["a", "b", "c"], ids=[0, 1, 2])
    assert done["image"].shape == (30, 30, 3)
    assert [("a", "b", "c").index(name) for name in done["names"]] == [int(k) for k in done["ids"]]
    assert not inner.why_not
    whole = ar.accelerate(outer, seed=1)
    assert not whole.why_not
    assert whole(image=IMAGE, bboxes=BOXES, names=["a", "b", "c"], ids=[0, 1, 2])["image"].shape == (30, 30, 3)


def test_nested_boxes_go_where_their_pixels_go() -> None:
    inner = ar.accelerate(A.Compose([A.HorizontalFlip(p=1.0), A.Transpose(p=1.0)]))
    outer = A.Compose([inner], bbox_params=A.BboxParams("pascal_voc", label_fields=["n"]))
    image = np.zeros((60, 80, 3), np.uint8)
    image[5:40, 5:30] = 255
    done = outer(image=image, bboxes=[BOXES[0]], n=[1])
    rows, columns = np.nonzero(done["image"][..., 0])
    box = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
    np.testing.assert_allclose(done["bboxes"][0], box, atol=1e-3)


def test_a_class_of_compose() -> None:
    made = ar.accelerate(Trainers())
    assert isinstance(made, Trainers)
    assert made(image=IMAGE)["image"].shape == (20, 20, 3)
    assert pickle.loads(pickle.dumps(made)).why_not == ""


def test_what_notes_its_draws_runs_as_it_was() -> None:
    made = ar.accelerate(A.ReplayCompose([A.HorizontalFlip(), A.RandomCrop(20, 20), A.Rotate(p=1.0)]), seed=1)
    done = made(image=IMAGE)
    np.testing.assert_array_equal(A.ReplayCompose.replay(done["replay"], image=IMAGE)["image"], done["image"])
    assert "ReplayCompose" in made.why_not
    shuffled = A.Compose([A.RandomGridShuffle(p=1.0)])
    shuffled.transforms[0].set_deterministic(True, save_key="topology")
    assert len(ar.accelerate(shuffled)(image=IMAGE, topology=defaultdict(dict))["topology"]) == 1
    applied = ar.accelerate(A.Compose([A.HorizontalFlip(p=1.0), A.InvertImg(p=1.0)], save_applied_params=True))
    assert [name for name, _ in applied(image=IMAGE)["applied_transforms"]] == ["HorizontalFlip", "InvertImg"]


def test_transforms_that_are_put_in_later_count() -> None:
    made = ar.accelerate(A.Compose([A.HorizontalFlip(p=1.0)]))
    np.testing.assert_array_equal(made(image=IMAGE)["image"], IMAGE[:, ::-1])
    made.transforms.append(A.VerticalFlip(p=1.0))
    np.testing.assert_array_equal(made(image=IMAGE)["image"], IMAGE[::-1, ::-1])


def test_a_list_and_what_is_saved() -> None:
    """Trainers take lists, and make dicts of what is in them; other pipelines are none of this."""
    (made,) = ar.accelerate([A.HorizontalFlip(p=1.0), A.Rotate(10, p=1.0)], "fast", 7)
    again = A.from_dict(A.to_dict(made))
    assert type(again) is type(made)
    np.testing.assert_array_equal(made(image=IMAGE)["image"], again(image=IMAGE)["image"])
    assert type(A.from_dict(A.to_dict(A.Compose([A.HorizontalFlip()])))) is A.Compose
    assert isinstance(ar.accelerate(A.HorizontalFlip(p=1.0)), A.Compose)


def test_a_class_whose_objects_keep_a_pipeline() -> None:
    class Wrapper:
        def __init__(self, *steps: Any) -> None:
            self.transform = A.Compose([*steps]) if steps else None

    assert ar.accelerate(Wrapper, "fast") is Wrapper
    assert type(Wrapper(A.HorizontalFlip()).transform).__name__ == "Accelerated"
    assert Wrapper().transform is None


def test_what_it_says() -> None:
    made = ar.accelerate(A.Compose([A.RandomCrop(20, 20), Depth(p=0.5), A.Normalize(), A.ToTensorV2()]))
    assert "RandomCrop#1" in str(made)
    assert "not measured" in str(made)
    found = made.explain()
    assert found.timing.before > 0
    assert found.ratio == found.timing.before / found.timing.now
    assert f"{found.ratio:.1f} times" in str(made)


@pytest.mark.parametrize("wrong", [None, 3, "imagenet-train", [], [A.HorizontalFlip(), 3]])
def test_what_is_no_pipeline(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"accelerate takes an A\.Compose"):
        ar.accelerate(wrong)


def test_errors_are_those_of_albumentations() -> None:
    made = ar.accelerate(A.Compose([A.RandomCrop(200, 200)], bbox_params=BOX_PARAMS))
    with pytest.raises(KeyError):
        made(IMAGE)
    with pytest.raises(ValueError, match="Height and Width"):
        made(image=IMAGE, mask=IMAGE[:9, :9, 0])
    with pytest.raises(CropSizeError):
        made(image=IMAGE, bboxes=[], names=[], ids=[])
    with pytest.raises(ValueError, match="optimize must be"):
        ar.accelerate(A.Compose([]), "quick")  # type: ignore[arg-type]


def test_generators_of_an_outer_pipeline_decide() -> None:
    made = ar.accelerate(A.Compose([A.RandomCrop(20, 20)]))
    made.set_random_state(np.random.default_rng(1), random.Random(1))
    first = made(image=IMAGE)["image"]
    made.set_random_state(np.random.default_rng(1), random.Random(1))
    np.testing.assert_array_equal(first, made(image=IMAGE)["image"])


# What somebody's own steps see, and may do.


class Late(A.ImageOnlyTransform):
    """Fails at every third call."""

    def apply(self, img: np.ndarray, **_: Any) -> np.ndarray:
        CALLS["late"] += 1
        if CALLS["late"] % 3 == 0:
            raise RuntimeError("now and then")
        return img


class Labels(A.DualTransform):
    """Keeps the boxes whose last column is not 7."""

    def apply(self, img: np.ndarray, **_: Any) -> np.ndarray:
        return img

    def apply_to_bboxes(self, bboxes: np.ndarray, **_: Any) -> np.ndarray:
        return bboxes[bboxes[:, -1] != 7]


class Keys(A.ImageOnlyTransform):
    """Takes one key out of a sample and puts another in."""

    def __call__(self, *_: Any, force_apply: bool = False, **data: Any) -> Any:
        data.pop("old", None)
        return {**data, "new": 1}


class Seen(A.DualTransform):
    """Notes the shapes and dtypes that come."""

    def apply(self, img: np.ndarray, **_: Any) -> np.ndarray:
        SEEN.append(("image", img.shape, img.dtype.name))
        return img

    def apply_to_mask(self, mask: np.ndarray, **_: Any) -> np.ndarray:
        SEEN.append(("mask", mask.shape, mask.dtype.name))
        return mask


class Positional(A.Compose):
    """Is called in a way of its own."""

    def __call__(self, image: np.ndarray) -> Any:
        return super().__call__(image=image)["image"]


SEEN: list[Any] = []


def test_an_error_of_somebodys_step_is_raised_once() -> None:
    CALLS.clear()
    made, errors = ar.accelerate(A.Compose([A.RandomCrop(20, 20), Late(p=1.0)])), 0
    for _ in range(12):
        try:
            made(image=IMAGE)
        except RuntimeError:
            errors += 1
    assert (CALLS["late"], errors) == (12, 4)


@pytest.mark.parametrize("optimize", ["none", "exact"])
def test_a_mask_that_somebody_makes_of_another_dtype(optimize: Any) -> None:
    half = A.Lambda(image=lambda image, **_: image, mask=lambda mask, **_: (mask / 255).astype(np.float32))
    made = ar.accelerate(A.Compose([A.HorizontalFlip(), half]), optimize)
    for image in (IMAGE, IMAGE, (IMAGE / 255).astype(np.float32)):
        mask = made(image=image, mask=IMAGE[..., 0])["mask"]
        assert mask.dtype == np.float32
        assert 0.4 < mask.mean() < 0.6


@pytest.mark.parametrize(
    ("shape", "mask"), [((60, 80), np.zeros((60, 80), np.int64)), ((60, 80, 3), np.zeros((60, 80, 1), np.uint8))]
)
def test_what_somebodys_step_sees(shape: tuple[int, ...], mask: np.ndarray) -> None:
    compose = A.Compose([A.HorizontalFlip(p=1.0), Seen(p=1.0)])
    image = np.zeros(shape, np.uint8)
    SEEN.clear()
    compose(image=image, mask=mask)
    theirs = [*SEEN]
    SEEN.clear()
    ar.accelerate(compose)(image=image, mask=mask)
    same = [(name, shape) for name, shape, _ in theirs]  # OpenCV makes int32 of int64
    assert same == [(name, shape) for name, shape, _ in SEEN]


def test_labels_that_somebodys_step_reads() -> None:
    made = ar.accelerate(A.Compose([A.HorizontalFlip(p=1.0), Labels(p=1.0)], bbox_params=A.BboxParams("coco", ["l"])))
    assert made(image=IMAGE, bboxes=[[1, 1, 9, 9], [2, 2, 8, 8]], l=[7, 8])["l"] == [8]


def test_keys_that_somebodys_step_takes_and_gives() -> None:
    made = ar.accelerate(A.Compose([A.HorizontalFlip(p=1.0), Keys(p=1.0)]))
    assert sorted(made(image=IMAGE)) == ["image", "new"]
    assert sorted(made(image=IMAGE, old=3)) == ["image", "new"]
    np.testing.assert_array_equal(ar.accelerate(Positional([A.HorizontalFlip(p=1.0)]))(IMAGE), IMAGE[:, ::-1])


def test_an_image_without_its_boxes() -> None:
    for params in ({"bbox_params": A.BboxParams("coco")}, {"keypoint_params": A.KeypointParams("xy")}):
        assert ar.accelerate(A.Compose([A.HorizontalFlip()], **params))(image=IMAGE).keys() == {"image"}
    made = ar.accelerate(A.Compose([A.HorizontalFlip()], bbox_params=A.BboxParams("coco", ["l"])))
    assert made(image=IMAGE, l=[1])["l"] == [1]


def test_boxes_that_are_dropped_where_they_are_no_boxes() -> None:
    params = A.BboxParams("pascal_voc", ["l"], filter_invalid_bboxes=True)
    boxes = [(-5, 6, 20, 25), (30, 10, 50, 40), (20, 6, 5, 25), (float("nan"), 1, 2, 3)]
    done = ar.accelerate(A.Compose([A.NoOp()], bbox_params=params))(image=IMAGE, bboxes=boxes, l=[*"abcd"])
    np.testing.assert_allclose(done["bboxes"], [(0, 6, 20, 25), (30, 10, 50, 40)], atol=1e-3)
    assert done["l"] == ["a", "b"]


def test_accelerated_ones_stand_anywhere_in_another() -> None:
    inner = ar.accelerate(A.Compose([A.HorizontalFlip()], p=0.5))
    for steps in ([A.Normalize(), inner], [A.OneOf([inner, A.NoOp()], p=1.0), A.Normalize()]):
        made, again = (ar.accelerate(A.Compose(steps), seed=1) for _ in range(2))
        seen = [made(image=IMAGE)["image"].tobytes() for _ in range(40)]
        assert len({*seen}) == 2
        assert seen == [again(image=IMAGE)["image"].tobytes() for _ in range(40)]


def test_what_notes_its_draws_inside_another_draws_by_its_key() -> None:
    inner = A.Compose([A.RandomGridShuffle(p=1.0)])
    inner.transforms[0].set_deterministic(True, save_key="topology")
    made, again = (ar.accelerate(A.Compose([ar.accelerate(inner), A.HorizontalFlip()]), seed=1) for _ in range(2))
    seen = [
        each(image=IMAGE, topology=defaultdict(dict))["image"].tobytes() for each in (made, again) for _ in range(8)
    ]
    assert seen[:8] == seen[8:]
    assert len({*seen}) == 8


def test_what_was_learnt_and_what_was_measured_change_no_draw() -> None:
    made = ar.accelerate(A.Compose([A.Lambda(image=to_float), A.RandomCrop(8, 8), A.HorizontalFlip()]), seed=2)
    before = [made(image=IMAGE)["image"].tobytes() for _ in range(4)]
    made.set_random_seed(2)
    made.explain()
    assert before == [made(image=IMAGE)["image"].tobytes() for _ in range(4)]
    with pytest.raises(ValueError, match=r"give a sample, explain\(image=\.\.\.\)"):
        ar.accelerate(A.Compose([A.RandomCrop(1000, 1000)])).explain()


def test_lists() -> None:
    assert len(ar.accelerate([A.HorizontalFlip(), A.VerticalFlip()])) == 1
    assert len(ar.accelerate([A.Compose([A.HorizontalFlip()]), A.Compose([A.VerticalFlip()])])) == 2
