"""What `ar.accelerate` makes of pipelines of torchvision and timm: they take and give what they did, natively."""

import copy
import logging
import pickle
import random
import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from support.libraries import torchvision as library
from torch.utils.data import DataLoader

import augrecipes as ar
from augrecipes.accelerate import torchvision
from augrecipes.interop.importing import of_document
from augrecipes.interop.reading import Document

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of torchvision's, that it deprecates what many use
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def photo(mode: str = "RGB", height: int = 90, width: int = 120) -> Any:
    small = np.random.default_rng(0).integers(0, 256, (9, 12, 3), np.uint8)
    return Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC).convert(mode)


def hows(made: Any) -> list[str]:
    """How each transform runs: `native`, or why it does not."""
    return [step.how if step.how == "native" else step.remark for step in made._report().steps]


# A stand-in: transforms with the names and attributes of torchvision's, for Pillow's images.

HOME = "torchvision.transforms"


class Compose:
    def __init__(self, transforms: list[Any]) -> None:
        self.transforms = transforms

    def __call__(self, image: Any) -> Any:
        for transform in self.transforms:
            image = transform(image)
        return image


class RandomHorizontalFlip:
    def __init__(self, p: float = 0.5) -> None:
        self.p = p

    def __call__(self, image: Any) -> Any:
        return image.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if torch.rand(1) < self.p else image


class RandomResizedCrop:
    def __init__(self, size: int, scale: tuple[float, float] = (0.08, 1.0)) -> None:
        self.size, self.scale, self.ratio = (size, size), scale, (0.75, 1.3333)

    def __call__(self, image: Any) -> Any:
        return image.resize(self.size)


class Resize:
    def __init__(self, size: Any) -> None:
        self.size, self.interpolation = size, "InterpolationMode.BILINEAR"

    def __call__(self, image: Any) -> Any:
        return image.resize(self.size if isinstance(self.size, tuple) else (self.size, self.size))


class CenterCrop:
    def __init__(self, size: int) -> None:
        self.size = (size, size)

    def __call__(self, image: Any) -> Any:
        return image.crop((0, 0, *self.size))


class ToTensor:
    def __call__(self, image: Any) -> torch.Tensor:
        array = np.asarray(image)
        return torch.from_numpy(np.atleast_3d(array)).permute(2, 0, 1) / 255


class Normalize:
    def __init__(self, mean: Any, std: Any) -> None:
        self.mean, self.std = mean, std

    def __call__(self, tensor: torch.Tensor) -> torch.Tensor:
        mean, std = (torch.as_tensor(each).reshape(-1, 1, 1) for each in (self.mean, self.std))
        return (tensor - mean) / std


class RandomErasing:
    p, scale, ratio, value = 1.0, (0.02, 0.3), (0.3, 3.3), 0

    def __call__(self, tensor: torch.Tensor) -> torch.Tensor:
        tensor[:, :4, :4] = torch.rand(1)
        return tensor


class Lambda:
    def __call__(self, image: Any) -> Any:
        return image


STAND_INS = (
    CenterCrop, Compose, Lambda, Normalize, RandomErasing, RandomHorizontalFlip, RandomResizedCrop, Resize, ToTensor
)  # fmt: skip


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    module = ModuleType(HOME)
    for each in STAND_INS:
        monkeypatch.setattr(each, "__module__", HOME)
        setattr(module, each.__name__, each)
    monkeypatch.setitem(sys.modules, "torchvision", ModuleType("torchvision"))
    monkeypatch.setitem(sys.modules, HOME, module)
    torchvision.TorchvisionCompose.class_of.cache_clear()
    yield
    torchvision.TorchvisionCompose.class_of.cache_clear()


def training() -> Compose:
    return Compose([RandomResizedCrop(32), RandomHorizontalFlip(), ToTensor(), Normalize(MEAN, STD), RandomErasing()])


@pytest.mark.usefixtures("stand_in")
def test_the_first_steps_run_natively_and_the_others_on_what_they_leave() -> None:
    made = ar.accelerate(training(), seed=0)
    result = made(photo())
    assert isinstance(made, Compose)
    assert (type(result), result.dtype, result.shape) == (torch.Tensor, torch.float32, (3, 32, 32))
    assert hows(made) == ["native"] * 4 + ["differs here: see docs/MIGRATING.md"]
    assert len({float(result[channel, 0, 0]) for channel in range(3)}) == 1  # the hole


@pytest.mark.usefixtures("stand_in")
def test_draws_are_those_of_the_seed_and_no_call_repeats_another() -> None:
    crops = Compose([RandomResizedCrop(16), ToTensor()])
    first, same, other = (ar.accelerate(crops, seed=seed) for seed in (1, 1, 2))
    results = [first(photo()) for _ in range(4)]
    assert all(torch.equal(a, same(photo())) for a in results)
    distinct = {each.numpy().tobytes() for each in [*results, *(other(photo()) for _ in range(4))]}
    assert len(distinct) == 8
    assert not torch.equal(ar.accelerate(crops)(photo()), ar.accelerate(crops)(photo()))


@pytest.mark.usefixtures("stand_in")
def test_two_runs_draw_different_numbers() -> None:
    made = ar.accelerate(Compose([RandomResizedCrop(64), Lambda(), RandomResizedCrop(64), ToTensor()]), seed=0)
    seeds = [run.pipeline().compiled.seed for run in made.current() if run.calls]
    assert len(set(seeds)) == len(seeds) == 2
    assert hows(made) == ["native", "needs Python code, and a recipe holds none", "native", "native"]


@pytest.mark.usefixtures("stand_in")
def test_copies_and_what_is_unpickled_go_on_where_it_was() -> None:
    made = ar.accelerate(Compose([RandomResizedCrop(16), ToTensor()]), seed=3)
    made(photo())
    copied = copy.deepcopy(made)
    assert torch.equal(made(photo()), copied(photo()))
    again = pickle.loads(pickle.dumps(made))
    assert torch.equal(made(photo()), again(photo()))
    assert not torch.equal(made(photo()), copied(photo()))  # one call behind


class Marked(torch.utils.data.Dataset):
    """Twelve times one photo."""

    def __init__(self, transform: Any) -> None:
        self.transform = transform

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> torch.Tensor:
        found: torch.Tensor = self.transform(photo())
        return found


@pytest.mark.usefixtures("stand_in")
def test_no_worker_and_no_epoch_repeats_another() -> None:
    loader = DataLoader(Marked(ar.accelerate(Compose([RandomResizedCrop(16, (0.05, 1)), ToTensor()]), seed=0)), 3,
                        num_workers=2, multiprocessing_context="fork")  # fmt: skip
    found = [image.numpy().tobytes() for _ in range(2) for batch in loader for image in batch]
    assert len(set(found)) == len(found) == 24


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_an_evaluation_has_the_pixels_of_torchvision_and_says_nothing(
    mode: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torchvision, "_announced", [])
    plain = Compose([Resize(40), CenterCrop(33), ToTensor(), Normalize([0.5], torch.tensor([0.25]))])
    made = ar.accelerate(plain)
    assert torch.allclose(made(photo(mode)), plain(photo(mode)), atol=1e-6)
    kept = "an evaluation keeps the pixels of torchvision"
    assert hows(made) == [kept, kept, "native", "native"]
    assert caplog.text == ""


@pytest.mark.usefixtures("stand_in")
def test_draws_of_another_kind_are_told_once(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torchvision, "_announced", [])
    with caplog.at_level(logging.WARNING, "augrecipes"):
        for _ in range(3):
            ar.accelerate(training())
    assert len(caplog.records) == 1
    assert "other numbers than torchvision" in caplog.text


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize(
    ("transforms", "said"),
    [
        ([Resize(40), RandomHorizontalFlip(), ToTensor()], "the longer side"),
        ([RandomHorizontalFlip(), Lambda()], "as quick as a conversion"),
        ([ToTensor(), Lambda(), Normalize(MEAN, STD)], "no longer a uint8 image"),
        ([ToTensor(), lambda tensor: 2 * tensor], "no transform of"),
        ([RandomErasing(), ToTensor()], "differs here"),
    ],
)
def test_what_would_be_otherwise_runs_as_it_was(transforms: list[Any], said: str) -> None:
    assert said in " ".join(hows(ar.accelerate(Compose(transforms))))


@pytest.mark.usefixtures("stand_in")
def test_a_working_pipeline_is_never_refused() -> None:
    made = ar.accelerate(Compose([RandomResizedCrop(16), ToTensor(), Normalize(MEAN, STD)]))
    with pytest.raises(RuntimeError):  # what torch says of four channels and three means
        made(photo("RGBA"))
    assert "not one RGB" in made._report().steps[0].remark
    assert made(photo("L")).shape == (3, 16, 16)  # three means of one channel
    assert "normalize mean has 3 values" in made._report().steps[0].remark
    assert made(photo()).shape == (3, 16, 16)
    assert made._report().steps[0].remark == ""


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("part", ["read_transform", "build"])
def test_what_cannot_be_compiled_runs_as_it_was(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(torchvision, part, fails)
    made = ar.accelerate(training())
    assert made(photo()).shape == (3, 32, 32)
    assert hows(made) == ["it could not be compiled: a fault of ours"] * 5


@pytest.mark.usefixtures("stand_in")
def test_a_class_of_ones_own_is_called_as_it_is() -> None:
    class Mine(Compose):
        def __call__(self, image: Any) -> Any:
            return super().__call__(image), "mine"

    made = ar.accelerate(Mine([ToTensor()]))
    assert isinstance(made, Mine)
    assert made(photo())[1] == "mine"
    assert "Mine is a class of its own" in repr(made)


@pytest.mark.usefixtures("stand_in")
def test_a_single_transform_and_a_list_are_a_compose() -> None:
    assert ar.accelerate(RandomResizedCrop(16))(photo()).size == (16, 16)
    (made,) = ar.accelerate([RandomResizedCrop(16), ToTensor()])
    assert made(photo()).shape == (3, 16, 16)


@pytest.mark.usefixtures("stand_in")
def test_another_list_of_transforms_counts() -> None:
    made = ar.accelerate(Compose([RandomResizedCrop(16), ToTensor()]))
    made(photo())
    made.transforms = (RandomResizedCrop(24), ToTensor())
    assert made(photo()).shape == (3, 24, 24)
    assert ar.accelerate(Compose([]))(photo()).size == (120, 90)


@pytest.mark.usefixtures("stand_in")
def test_the_report_is_measured() -> None:
    found = ar.accelerate(training()).explain(photo())
    assert found.ratio is not None
    assert "times as fast" in str(found)


@pytest.mark.parametrize("mode", ["RGB", "L"])
@pytest.mark.parametrize("layout", ["channels first", "channels last"])
def test_pixels_come_out_of_images_and_tensors_as_they_lie_there(mode: str, layout: str) -> None:
    image = photo(mode)
    array = np.atleast_3d(np.asarray(image))
    tensor = torch.from_numpy(array).permute(2, 0, 1)
    tensor = tensor.contiguous() if layout == "channels first" else tensor
    for each in (image, tensor):
        assert np.array_equal(torchvision._pixels(each), array)


def test_what_is_no_pipeline_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="accelerate takes"):
        ar.accelerate(3)


# The real library, where it is installed.


def real(version: str = ".v2") -> Any:
    return library(f"{HOME}{version}")


def assert_like(ours: Any, theirs: Any) -> None:
    """The same types, dtypes and numbers of channels, and the same labels."""
    if isinstance(theirs, tuple | list):
        assert type(ours) is type(theirs)
        for pair in zip(ours, theirs, strict=True):
            assert_like(*pair)
    elif isinstance(theirs, dict):
        assert_like([*ours.values()], [*theirs.values()])
    elif isinstance(theirs, torch.Tensor):
        assert (type(ours), ours.dtype, ours.shape) == (type(theirs), theirs.dtype, theirs.shape)
    elif isinstance(theirs, Image.Image):
        assert (ours.mode, ours.size) == (theirs.mode, theirs.size)
    else:
        assert ours == theirs


ENDS: list[list[tuple[str, Any]]] = [
    [], [("PILToTensor", {})], [("ToTensor", {})], [("ToTensor", {}), ("Normalize", {"mean": MEAN, "std": STD})],
    [("ToImage", {})], [("ToImage", {}), ("ToDtype", {"dtype": torch.float32, "scale": True})],
    [("ToImage", {}), ("ToDtype", {"dtype": torch.float16}), ("ToPureTensor", {})],
    [("ToDtype", {"dtype": torch.float32})],
]  # fmt: skip


@pytest.mark.parametrize("end", range(len(ENDS)))
@pytest.mark.parametrize("version", ["", ".v2"])
@pytest.mark.parametrize("sample", ["RGB", "L", "RGBA", "tensor", "image", "label", "dict", "float"])
def test_what_comes_out_is_of_the_type_that_came_out(end: int, version: str, sample: str) -> None:
    T = real(version)
    if not all(hasattr(T, name) for name, _ in ENDS[end]):
        return
    tensor = torch.from_numpy(np.asarray(photo())).permute(2, 0, 1)
    given = {
        "tensor": tensor, "float": tensor / 255, "label": (photo(), 3),
        "dict": {"image": tensor, "label": torch.ones(2)},
    }.get(sample)  # fmt: skip
    if sample == "image":
        given = library("torchvision.tv_tensors").Image(tensor)
    given = photo(sample) if given is None else given
    plain = T.Compose([T.RandomResizedCrop(16), T.ColorJitter(0.1), *(getattr(T, name)(**a) for name, a in ENDS[end])])
    made = ar.accelerate(plain)
    try:
        theirs = plain(given)
    except (TypeError, RuntimeError, AttributeError) as error:
        if sample not in ("label", "dict"):  # which version 1 refuses, and this may take
            with pytest.raises(type(error)):
                made(given)
        return
    for _ in range(2):
        assert_like(made(given), theirs)


def test_boxes_and_several_images_run_as_they_were() -> None:
    T, boxes = real(), library("torchvision.tv_tensors").BoundingBoxes
    plain = T.Compose([T.RandomHorizontalFlip(p=1.0), T.RandomResizedCrop(16), T.ToImage()])
    made = ar.accelerate(plain)
    marked = (photo(), boxes([[1, 2, 30, 40]], format="XYXY", canvas_size=(90, 120)))
    for given in (marked, [photo(), photo()]):
        assert_like(made(given), plain(given))
        assert "not one RGB" in made._report().steps[0].remark


@pytest.mark.parametrize("version", ["", ".v2"])
def test_it_is_a_compose_of_its_version_that_pickles_and_nests(version: str) -> None:
    T = real(version)
    made = ar.accelerate(T.Compose([T.RandomResizedCrop(16), T.ToTensor()]), seed=1)
    assert isinstance(made, T.Compose)
    again = pickle.loads(pickle.dumps(made))
    assert torch.equal(made(photo()), again(photo()))
    assert torch.equal(made(photo()), copy.deepcopy(again)(photo()))
    outer = T.Compose([made, T.Normalize(MEAN, STD)])
    assert outer(photo()).shape == (3, 16, 16)
    assert "native" in repr(outer)
    if version:
        assert_like(made(photo(), 7), (made(photo()), 7))


@pytest.mark.parametrize("version", ["", ".v2"])
@pytest.mark.parametrize("size", [(375, 500), (333, 501), (256, 257)])
def test_evaluation_is_that_of_torchvision(version: str, size: tuple[int, int]) -> None:
    T = real(version)
    plain = T.Compose([T.Resize(64), T.CenterCrop(51), T.ToTensor(), T.Normalize(MEAN, STD)])
    image = photo("RGB", *size)
    assert torch.allclose(ar.accelerate(plain)(image), plain(image), atol=1e-6)


def test_the_nearest_pixel_is_that_of_the_library_that_resizes() -> None:
    T = real()
    nearest = T.Resize((37, 41), interpolation=T.InterpolationMode.NEAREST)
    plain = T.Compose([T.RandomVerticalFlip(p=0.0), T.RandomAffine(0), nearest, T.ToImage()])
    made = ar.accelerate(plain)
    for given in (photo(), torch.from_numpy(np.asarray(photo())).permute(2, 0, 1)):
        assert torch.equal(made(given), plain(given))
    assert hows(made)[2] == "native"


TIMM = {
    "training": ({"is_training": True}, 5),
    "rand": ({"is_training": True, "auto_augment": "rand-m9-mstd0.5-inc1", "interpolation": "random"}, 5),
    "plain rand": ({"is_training": True, "auto_augment": "rand-m7-n3-p0.3", "re_prob": 0.3}, 5),
    "original": ({"is_training": True, "auto_augment": "originalr-mstd0.5"}, 5),
    "augmix": ({"is_training": True, "auto_augment": "augmix-m3-w2"}, 5),
    "limited": ({"is_training": True, "auto_augment": "rand-m9-mstd0.5-mmax8"}, 4),
    "weighted": ({"is_training": True, "auto_augment": "rand-m9-tweights"}, 4),
    "prefetcher": ({"is_training": True, "use_prefetcher": True}, 4),
    "evaluation": ({"is_training": False}, 2),
}


@pytest.mark.parametrize("name", TIMM)
def test_pipelines_of_timm(name: str) -> None:
    library()
    pytest.importorskip("timm")
    random.seed(0)
    np.random.seed(0)  # Pillow 13 refuses some of what timm draws
    arguments, native = TIMM[name]
    plain = import_module("timm.data").create_transform(input_size=32, **arguments)
    made = ar.accelerate(plain, seed=0)
    assert sum(step.how == "native" for step in made._report().steps) == native, made
    assert_like(made(photo()), plain(photo()))


def test_a_policy_of_timm_is_read_as_the_string_that_makes_it() -> None:
    library()
    pytest.importorskip("timm")
    make = import_module("timm.data").create_transform
    text = "rand-m9-n3-p0.4-mstd0.5-inc1"
    draft = of_document(Document("object", value=make(32, is_training=True, auto_augment=text)))
    (line,) = [line for line in draft.lines() if line.name == "RandAugment"]
    assert {key: line.args[key] for key in ("n", "op_p", "ops")} == {"n": 3, "op_p": 0.4, "ops": "timm-increasing"}
