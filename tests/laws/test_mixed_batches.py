"""Batches that `batch:` mixes are the papers' formulas on the very samples that are there alone, whoever reads them."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import strategies as st
from support.checks import SEEDS, holds, planted, planted_faults, same, tries
from torch.utils.data import DataLoader

import augrecipes as ar
from augrecipes.data import collate as collating
from augrecipes.mixtures import batch as arrays
from augrecipes.mixtures import run
from augrecipes.mixtures.annotations import rescale
from augrecipes.ops.schedule import in_epoch
from augrecipes.seeds import MASK, site_key

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
N, CLASSES, SIDE = 13, 5, (12, 16)
OUTPUTS: tuple[dict[str, Any], ...] = (
    {"normalize": "imagenet"},
    {"dtype": "float16", "layout": "hwc"},
    {"dtype": "uint8"},
    {"layout": "hwc", "range": [-1, 1]},
    {"where": "device", "normalize": "imagenet"},
)
MIXED = ("MixUp", "CutMix")


def recipe_of(batch: list[Any], **more: Any) -> dict[str, Any]:
    crop = {"RandomCrop": {"height": SIDE[0], "width": SIDE[1]}}
    found = {"version": 1, "recipe": "mixed", "steps": [crop, "HorizontalFlip"], "eval": [], **more}
    return found | ({"batch": batch} if batch else {})


def source(n: int = N) -> list[tuple[np.ndarray, int]]:
    rng = np.random.default_rng(7)
    return [(rng.integers(0, 256, (SIDE[0] + 4, SIDE[1] + 4, 3), np.uint8), k % CLASSES) for k in range(n)]


def stream(seed: int, site: str, epoch: int, number: int) -> np.random.Generator:
    """The random numbers of a step, as docs/BATCHES.md says that they are keyed."""
    key = np.array([seed & MASK, site_key(f"batch/{site}")], np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=np.array([0, 0, epoch, number], np.uint64)))


def drawn(name: str, rng: np.random.Generator, alpha: float, partners: str, n: int) -> tuple[np.ndarray, Any]:
    """The weight of each of a sample's own pixels, H×W, and the partners, as the papers have them."""
    rng.random()  # whether it acts
    share = rng.beta(alpha, alpha)
    weights = np.full(SIDE, share)
    if name == "CutMix":
        y, x = int(rng.integers(SIDE[0])), int(rng.integers(SIDE[1]))
        high, wide = (int(0.5 * np.sqrt(1 - share) * side) for side in SIDE)
        weights = np.ones(SIDE)
        weights[max(y - high, 0) : y + high, max(x - wide, 0) : x + wide] = 0
    return weights, np.roll(np.arange(n), 1) if partners == "roll" else rng.permutation(n)


def check_formula(
    name: str, alpha: float, partners: str, output: int, seed: int, epoch: int, size: int, first: int, grows: bool
) -> None:
    """A batch is the formula on the samples that a dataset without `batch:` gives one by one, in each epoch."""
    written = {"by_epoch": [alpha + 3] * epoch + [alpha]} if grows else alpha
    step = {name: {"alpha": written, "partners": partners, "classes": CLASSES}}
    plain, mixing = (
        ar.Samples(source(), recipe_of(batch, output=OUTPUTS[output]), seed=seed) for batch in ([], [step])
    )
    indices = [(first + 5 * k) % (2 * N) for k in range(size)]
    samples = [plain[epoch, k] for k in indices]
    batch = ar.collate(mixing)([mixing[epoch, k] for k in indices])
    weights, order = drawn(name, stream(seed, f"{name}#1", epoch, indices[0]), alpha, partners, size)
    weights = weights[None] if plain.recipe.output.layout == "chw" else weights[..., None]
    images = np.stack([one["image"].numpy() for one in samples]).astype(np.float64)
    wanted = weights * images + (1 - weights) * images[order]
    found = batch["image"].numpy()
    assert found.dtype == samples[0]["image"].numpy().dtype
    most = {np.dtype(np.float32): 1e-6, np.dtype(np.float16): 2e-3, np.dtype(np.uint8): 0.51}[found.dtype]
    assert np.abs(found - wanted).max() <= most
    ones = np.eye(CLASSES)[[one["label"] for one in samples]]
    share = weights.mean()
    assert batch["label"].dtype == torch.float32
    np.testing.assert_allclose(batch["label"].numpy(), share * ones + (1 - share) * ones[order], atol=1e-6)
    np.testing.assert_allclose(batch["label"].sum(1), 1, atol=1e-6)


FORMULA = (
    st.sampled_from(MIXED), st.floats(0.1, 4), st.sampled_from(("permutation", "roll")),
    st.integers(0, len(OUTPUTS) - 1), SEEDS, st.integers(0, 3), st.integers(1, 7), st.integers(0, N - 1), st.booleans(),
)  # fmt: skip


def test_a_batch_is_the_formula_on_its_samples() -> None:
    holds(check_formula, *FORMULA)


def backwards(row: np.ndarray, other: np.ndarray, share: float) -> None:
    row[...] = (1 - share) * row + share * other


def overwritten(order: Any, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Partners as they are by then, not as they were."""
    return ((rows[k], rows[order[k]]) for k in range(len(rows)))


def unshared(labels: np.ndarray, classes: int | None) -> np.ndarray:
    return np.full((*labels.shape, classes or 1), 1.0, np.float32)


FORMULAS = planted(check_formula, *FORMULA)
test_planted_faults_in_mixtures_are_found = planted_faults(
    {
        "shares swapped": (FORMULAS, (arrays, "blend", backwards)),
        "partners overwritten": (FORMULAS, (arrays, "with_partners", overwritten)),
        "labels that are no shares": (FORMULAS, (run, "shares", unshared)),
        "numbers of another epoch": (FORMULAS, (run, "in_epoch", lambda step, epoch: in_epoch(step, 0))),
        "other random numbers": (FORMULAS, (run, "site_key", lambda text: site_key(text) + 1)),
    }
)


# -- whoever reads -----------------------------------------------------------------------------------------------------

READ: list[list[Any]] = [
    ["MixUp"],
    ["CutMix", {"Mosaic": {"p": 0.6}}],
    [{"Mosaic": {"scale": [1.0, 1.5]}}, "MixUp"],
    [{"OneOf": {"p": 0.8, "steps": [{"MixUp": {"alpha": 0.2}}, {"CutMix": {"p": 0.5}}]}}],
]


def check_readers(which: int, size: int, seed: int, epoch: int, shuffle: bool) -> None:
    """Batches of this thread, of threads, of another order, of ranks, and of torch's own DataLoader are the same."""
    ds = ar.Samples(source(), recipe_of(READ[which], output={"normalize": "imagenet"}), seed=seed)

    def loader(**how: Any) -> Any:
        made = ar.loader(ds, size, shuffle=shuffle, seed=seed, collate_fn=ar.collate(ds, classes=CLASSES), **how)
        made.set_epoch(epoch)
        return made

    wanted = [*loader(num_workers=0)]
    assert all(np.allclose(batch["label"].sum(1), 1, atol=1e-5) for batch in wanted)
    same([*loader(backend="threads", num_workers=3)], wanted)
    ranks = [[*loader(num_workers=0, rank=rank, world_size=2)] for rank in (0, 1)]
    whole = N // (2 * size)
    same([batch for pair in zip(*(rank[:whole] for rank in ranks), strict=True) for batch in pair], wanted[: 2 * whole])
    begun = loader(num_workers=0)
    next(iter(begun))
    resumed = loader(num_workers=0)
    resumed.load_state_dict(begun.state_dict())
    same([*resumed], wanted[1:])
    orders = [[(epoch, int(i)) for i in batch["index"]] for batch in wanted]
    same([*DataLoader(ds, batch_sampler=orders, collate_fn=ar.collate(ds, classes=CLASSES))], wanted)  # type: ignore[arg-type]


READERS = (st.integers(0, len(READ) - 1), st.integers(1, 6), SEEDS, st.integers(0, 2), st.booleans())


def test_whoever_reads_batches_are_mixed_alike() -> None:
    holds(check_readers, *READERS, tried=tries(6))


def test_processes_mix_as_threads_do() -> None:
    ds = ar.Samples(source(), recipe_of([*READ[1], *READ[2]]), seed=3)
    how: dict[str, Any] = {"collate_fn": ar.collate(ds, classes=CLASSES), "shuffle": True}
    wanted = [*ar.loader(ds, 4, num_workers=0, **how)]
    same([*ar.loader(ds, 4, num_workers=2, backend="processes", **how)], wanted)
    orders = [[(0, int(i)) for i in batch["index"]] for batch in wanted]
    torchs: Any = DataLoader(ds, batch_sampler=orders, num_workers=2, collate_fn=how["collate_fn"])  # type: ignore[arg-type]
    same([*torchs], wanted)


ticks = itertools.count()
test_planted_faults_of_readers_are_found = planted_faults(
    {
        "random numbers by what ran before": (
            planted(check_readers, *READERS),
            (run, "site_key", lambda text: site_key(text) + next(ticks)),
        ),
        "one epoch's numbers for all": (
            FORMULAS,
            (collating, "mix", lambda recipe, values, key, *more: run.mix(recipe, values, (key[0], 0, key[2]), *more)),
        ),
    }
)


# -- boxes, masks and keypoints ----------------------------------------------------------------------------------------

INPUTS: dict[str, Any] = {"mask": "required", "keypoints": "xy"}
FORMATS = ("pascal_voc", "coco", "yolo", "albumentations")


def painted(seed: int, form: str, n: int = 6) -> list[dict[str, Any]]:
    """Images on which every box is filled with its label, as is the mask; and a keypoint in its first pixel."""
    rng, found = np.random.default_rng(seed), []
    height, width = SIDE
    for k in range(n):
        image, boxes, labels = np.zeros((*SIDE, 3), np.uint8), [], []
        for column in range(2):  # one in each half, so that none lies on another
            x0, y0 = int(rng.integers(0, 5)) + 8 * column, int(rng.integers(0, 8))
            x1, y1 = x0 + int(rng.integers(1, 4)), y0 + int(rng.integers(1, 5))
            labels.append(1 + 2 * k + column)
            image[y0:y1, x0:x1] = labels[-1]
            boxes.append([x0, y0, x1, y1])
        corners = np.array(boxes, np.float32)
        points = corners[:, :2].copy()
        found.append({
            "image": image, "mask": image[..., 0].copy(), "boxes": written_boxes(corners, form, height, width),
            "box_labels": labels, "keypoints": points,
        })  # fmt: skip
    return found


def written_boxes(corners: np.ndarray, form: str, height: int, width: int) -> np.ndarray:
    """Boxes in a format, written again here."""
    x0, y0, x1, y1 = corners.T
    sides = np.array([width, height, width, height], np.float32)
    found = {
        "pascal_voc": corners,
        "coco": np.stack([x0, y0, x1 - x0, y1 - y0], 1),
        "albumentations": corners / sides,
        "yolo": np.stack([(x0 + x1) / 2, (y0 + y1) / 2, x1 - x0, y1 - y0], 1) / sides,
    }
    return found[form]


def px(boxes: np.ndarray, form: str, side: tuple[int, int] = SIDE) -> np.ndarray:
    """Boxes of a format as corners in px, written again here."""
    a, b, c, d = np.asarray(boxes, np.float64).reshape(-1, 4).T
    if form == "yolo":
        a, b = a - c / 2, b - d / 2
    if form in ("coco", "yolo"):
        c, d = a + c, b + d
    scale = np.array([side[1], side[0]] * 2) if form in ("yolo", "albumentations") else 1
    return np.stack([a, b, c, d], 1) * scale


def check_places(name: str, form: str, seed: int, layout: str) -> None:
    """Boxes, mask and keypoints of a mixed image lie where its pixels lie: every box is tight around its label."""
    inputs = {**INPUTS, "boxes": {"format": form}}
    given = recipe_of([name], inputs=inputs, steps=[], output={"dtype": "uint8", "layout": layout})
    ds = ar.Samples(painted(seed, form), given, seed=seed)
    batch = ar.collate(ds)([ds[0, k] for k in range(len(ds))])
    for k in range(len(ds)):
        image = batch["image"][k].numpy()
        plane = image[0] if layout == "chw" else image[..., 0]
        np.testing.assert_array_equal(batch["mask"][k], plane)
        claimed = np.zeros(SIDE, bool)
        for (x0, y0, x1, y1), label in zip(px(batch["boxes"][k].numpy(), form), batch["box_labels"][k], strict=True):
            left, top, right, bottom = (round(v) for v in (x0, y0, x1, y1))
            np.testing.assert_allclose([left, top, right, bottom], [x0, y0, x1, y1], atol=1e-3)
            here = plane[top:bottom, left:right] == int(label)
            assert here[0].any() and here[-1].any() and here[:, 0].any() and here[:, -1].any()
            claimed[top:bottom, left:right] |= here
        np.testing.assert_array_equal(claimed, plane > 0)
        assert all(plane[int(y), int(x)] for x, y in batch["keypoints"][k].numpy())


PLACES = (
    st.sampled_from(("Mosaic", "CutMix", "CopyPaste")),
    st.sampled_from(FORMATS),
    SEEDS,
    st.sampled_from(("chw", "hwc")),
)


def test_boxes_lie_where_their_pixels_lie() -> None:
    holds(check_places, *PLACES)


def unmoved(sample: Any, region: Any, inputs: Any, shift: Any = (0, 0), seen: Any = arrays.seen) -> Any:
    del shift
    return seen(sample, region, inputs)


def unclipped(sample: Any, region: Any, inputs: Any, shift: Any = (0, 0), seen: Any = arrays.seen) -> Any:
    return seen(sample, np.ones_like(region), inputs, shift)


test_planted_faults_in_places_are_found = planted_faults(
    {
        "boxes that stay": (planted(check_places, *PLACES), (arrays, "seen", unmoved)),
        "boxes that are not clipped": (planted(check_places, *PLACES), (arrays, "seen", unclipped)),
    }
)


# -- a mosaic without bars ---------------------------------------------------------------------------------------------

LETTERBOX = (40, 48)  # px
BAR = 250  # no level of what is shown
RAMPS: tuple[dict[str, Any], ...] = ({"dtype": "uint8"}, {"layout": "hwc"}, {"dtype": "float16"})


def letterboxed(seed: int, form: str, least: float, n: int = 6) -> list[dict[str, Any]]:
    """Images that tell where each pixel is from, 5 levels a pixel, between bars; some with bars on all sides."""
    rng, found = np.random.default_rng(seed), []
    for k in range(n):
        sides = np.array(LETTERBOX)
        sides[rng.integers(2)] *= rng.uniform(least, 1)
        sides = (sides * rng.choice([1, 0.8])).astype(int)
        top, left = ((LETTERBOX - sides) * rng.choice([0, 0.5, 1])).astype(int).tolist()
        image, mask = np.full((*LETTERBOX, 3), BAR, np.uint8), np.full(LETTERBOX, 99, np.uint8)
        rows, columns = slice(top, top + sides[0]), slice(left, left + sides[1])
        y, x = np.mgrid[: LETTERBOX[0], : LETTERBOX[1]]
        image[rows, columns] = np.stack([y * 5, x * 5, np.full_like(x, 10 * k)], -1)[rows, columns]
        mask[rows, columns] = 0
        corners = []
        for label in (2 * k + 1, 2 * k + 2):
            y0, x0 = top + int(rng.integers(sides[0] - 3)), left + int(rng.integers(sides[1] - 3))
            box = [x0, y0, min(x0 + int(rng.integers(1, 20)), left + sides[1]), min(y0 + 3, top + sides[0])]
            mask[box[1] : box[3], box[0] : box[2]] = label  # the second covers the first
            corners.append(box)
        found.append({
            "image": image, "mask": mask, "box_labels": [2 * k + 1, 2 * k + 2],
            "boxes": written_boxes(np.array(corners, np.float32), form, *LETTERBOX),
            "keypoints": np.array([[*box[:2], 2.0] for box in corners], np.float32),
        })  # fmt: skip
    return found


def check_scaled(form: str, seed: int, output: int, scale: float, least: float) -> None:
    """Whatever lies on an image of a mosaic lies where the image's own pixels say, and no bar is between images."""
    inputs = {"mask": "required", "keypoints": "xys", "boxes": {"format": form}}
    step = {"Mosaic": {"scale": [scale, scale + 0.5]}}
    samples = letterboxed(seed, form, least)
    ds = ar.Samples(samples, recipe_of([step], inputs=inputs, steps=[], output=RAMPS[output]), seed=seed)
    batch = ar.collate(ds)([ds[0, k] for k in range(len(ds))])
    corners = [px(sample["boxes"], form, LETTERBOX) for sample in samples]
    rows, columns = (middles + 0.5 for middles in np.ogrid[: LETTERBOX[0], : LETTERBOX[1]])
    for k in range(len(ds)):
        image = batch["image"][k].numpy().astype(np.float64) * (1 if output == 0 else 255)
        image = image if RAMPS[output].get("layout") == "hwc" else np.moveaxis(image, 0, -1)
        mask, shown = batch["mask"][k].numpy(), image[..., 0] < BAR - 4
        np.testing.assert_array_equal(mask == 99, ~shown)
        assert least < 0.75 or shown.all()
        y, x = image[..., 0] / 5 + 0.5, image[..., 1] / 5 + 0.5  # in px of the sample
        number, claimed = np.rint(image[..., 2] / 10), np.zeros(LETTERBOX, bool)
        for box, label in zip(px(batch["boxes"][k].numpy(), form, LETTERBOX), batch["box_labels"][k], strict=True):
            inside, around = (
                (columns > box[0] + edge) & (columns < box[2] - edge) & (rows > box[1] + edge) & (rows < box[3] - edge)
                for edge in (1e-3, -1e-3)  # a pixel's middle may lie on it
            )
            x0, y0, x1, y1 = corners[(int(label) - 1) // 2][(int(label) - 1) % 2]
            assert (number[inside] == (int(label) - 1) // 2).all()
            for at, low, high in ((x[inside], x0, x1), (y[inside], y0, y1)):
                assert ((at > low - 0.15) & (at < high + 0.15)).all()
            assert {*np.unique(mask[inside]).tolist()} <= {int(label), int(label) + 1}
            claimed |= around & (mask == int(label))
        np.testing.assert_array_equal(claimed, (mask > 0) & (mask < 99))
        for point in batch["keypoints"][k].numpy():
            down, right = round(float(point[1])), round(float(point[0]))
            down, right = min(down, LETTERBOX[0] - 1), min(right, LETTERBOX[1] - 1)
            own = corners[int(number[down, right])]
            apart = np.abs(own[:, :2] + 0.5 - [x[down, right], y[down, right]]).max(1).min()
            assert apart < 1.2
            assert 2 * scale - 0.2 <= point[2] <= 2 * (scale + 0.5) / 0.3


SCALED = (st.sampled_from(FORMATS), SEEDS, st.integers(0, 2), st.floats(1, 1.5), st.sampled_from((0.4, 0.75)))


def test_mosaics_without_bars_show_every_sample_where_it_lies() -> None:
    holds(check_scaled, *SCALED)


def unsized(sample: Any, *more: Any) -> Any:
    del more
    return dict(sample)


test_planted_faults_of_scaled_mosaics_are_found = planted_faults(
    {
        "boxes that stay": (planted(check_scaled, *SCALED), (arrays, "rescale", unsized)),
        "bars that stay": (planted(check_scaled, *SCALED), (arrays, "bar", lambda lines: 0)),
        "half a pixel": (
            planted(check_scaled, *SCALED),
            (
                arrays,
                "rescale",
                lambda sample, inputs, size, place: rescale(sample, inputs, size, place + np.array([[0], [0], [0.5]])),
            ),
        ),
    }
)


def test_mosaics_of_pairs_are_not_scaled() -> None:
    given = {"version": 1, "recipe": "p", "kind": "pair", "scales": {"lr": 1, "hr": 4}, "steps": [], "eval": []}
    with pytest.raises(ar.RecipeError, match=r"E316.*leave `scale` out"):
        ar.load({**given, "batch": [{"Mosaic": {"scale": [1, 1]}}]})
    assert ar.load({**given, "batch": ["Mosaic"]}).batch


# -- pairs -------------------------------------------------------------------------------------------------------------


def pairs(lr: int, hr: int, n: int = 5) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(1)
    coarse = [rng.integers(0, 256, (12, 16, 3), np.uint8) for _ in range(n)]
    return [{name: np.kron(one, np.ones((scale, scale, 1), np.uint8)) for name, scale in (("lr", lr), ("hr", hr))}
            for one in coarse]  # fmt: skip


def check_pairs(name: str, scales: tuple[int, int], seed: int) -> None:
    """What is mixed of a scene lies in the same place on every grid."""
    lr, hr = scales
    given = {"version": 1, "recipe": "p", "kind": "pair", "scales": {"lr": lr, "hr": hr}, "steps": [], "batch": [name]}
    ds = ar.Samples(pairs(lr, hr), {**given, "output": {"layout": "hwc", "hr": {"layout": "chw"}}}, seed=seed)
    batch = ar.collate(ds)([ds[0, k] for k in range(len(ds))])
    low, high = batch["lr"].numpy(), np.moveaxis(batch["hr"].numpy(), 1, -1)
    assert low.shape == (5, 12 * lr, 16 * lr, 3)
    np.testing.assert_allclose(low[:, ::lr, ::lr], high[:, ::hr, ::hr], atol=1e-6)
    np.testing.assert_allclose(high, np.repeat(np.repeat(high[:, ::hr, ::hr], hr, 1), hr, 2), atol=0)


def test_pairs_stay_aligned() -> None:
    holds(check_pairs, st.sampled_from(("Stitch", "CutMix", "MixUp")), st.sampled_from(((1, 4), (2, 3), (1, 2))), SEEDS)


def check_cut_blur(seed: int, alpha: float) -> None:
    """Each pixel of the target is one of both images' in its place, and those of one kind fill a rectangle."""
    scenes = [{"lr": np.full((10, 14, 3), 50, np.uint8), "hr": np.full((10, 14, 3), 200, np.uint8)}] * 3
    given = {"version": 1, "recipe": "p", "kind": "pair", "scales": {"lr": 1, "hr": 1}, "steps": []}
    step = {"CutBlur": {"alpha": alpha}}
    ds = ar.Samples(scenes, {**given, "batch": [step], "output": {"dtype": "uint8", "layout": "hwc"}}, seed=seed)
    batch = ar.collate(ds)([ds[0, k] for k in range(3)])
    assert (batch["hr"] == 200).all()
    for image in batch["lr"].numpy()[..., 0]:
        inner = np.unique(image[[0, 0, -1, -1], [0, -1, 0, -1]])
        assert {*np.unique(image)} <= {50, 200}
        for value in (50, 200):
            rows, columns = (np.flatnonzero((image == value).any(axis)) for axis in (1, 0))
            if len(rows) and value not in inner:
                assert (image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] == value).all()
    share = (batch["lr"] == 200).float().mean()
    assert min(abs(share - alpha**2), abs(1 - share - alpha**2)) < 0.15


def test_cut_blur_exchanges_a_rectangle() -> None:
    holds(check_cut_blur, SEEDS, st.floats(0.2, 0.8))


# -- torchvision -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MIXED)
def test_mixtures_equal_torchvisions(name: str) -> None:
    v2 = pytest.importorskip("torchvision.transforms.v2")
    generator = torch.Generator().manual_seed(1)
    for trial in range(20):
        images = torch.rand(6, 3, 20, 24, generator=generator)
        labels = torch.randint(0, CLASSES, (6,), generator=generator)
        theirs = getattr(v2, name)(alpha=0.7, num_classes=CLASSES)
        torch.manual_seed(trial)
        params = theirs.make_params([images])
        theirs.make_params = lambda flat, params=params: params
        their_images, their_labels = theirs(images, labels)
        values = {"image": images.clone().numpy(), "label": run.shares(labels.numpy(), CLASSES)}
        batch = arrays.BatchArrays(values, ar.load(recipe_of([name])), lambda _: {}, 0)
        order = batch.order(np.random.default_rng(0), "roll")
        if name == "MixUp":
            batch.blend(order, params["lam"])
        else:
            left, top, right, bottom = params["box"]
            batch.paste(order, (top, bottom), (left, right))
        assert torch.allclose(torch.from_numpy(values["image"]), their_images, atol=1e-6)
        assert torch.allclose(torch.from_numpy(values["label"]), their_labels, atol=1e-6)


def test_images_that_lie_otherwise_in_memory_are_blended_alike() -> None:
    images = np.random.default_rng(5).random((6, 3, 20, 24), np.float32)
    turned = np.moveaxis(np.ascontiguousarray(np.moveaxis(images, 1, -1)), -1, 1)
    assert not turned.flags.c_contiguous
    for one in (images, turned):
        batch = arrays.BatchArrays({"image": one}, ar.load(recipe_of(["MixUp"])), lambda _: {}, 0)
        batch.blend([5, 0, 1, 2, 3, 4], 0.3)
    np.testing.assert_array_equal(images, turned)
    assert not np.array_equal(images, np.random.default_rng(5).random((6, 3, 20, 24), np.float32))
