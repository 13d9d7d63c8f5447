"""Batches: what is stacked, listed, padded and refused; and `batch:` in loaders, functions, commands and pages."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import ConcatDataset, DataLoader, Subset

import augrecipes as ar
from augrecipes import CollateError
from augrecipes.compiler.explain import explain
from augrecipes.data.collate import MASK_PADDING, Collate
from augrecipes.diff import diff
from augrecipes.errors import RecipeError
from augrecipes.mixtures.families import MIXTURES

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
IMAGE = np.arange(12 * 10 * 3, dtype=np.uint8).reshape(12, 10, 3)


def text(*batch: str, head: str = "", steps: str = "[]") -> str:
    lines = [f"version: 1\nrecipe: t\n{head}steps: {steps}\neval: []\nbatch:", *(f"  - {one}" for one in batch)]
    return "\n".join(lines) + "\n"


def dataset(*batch: str, labels: bool = True, **how: Any) -> Any:
    items = [(IMAGE + k, k % 3) if labels else IMAGE + k for k in range(6)]
    return ar.Samples(items, ar.load(text(*batch, **how)))


MASKED = "inputs: {mask: required}\n"
PAIR = "kind: pair\nscales: {lr: 1, hr: 2}\n"
WRONG = [
    (text("Mixup"), "6:5: E302 Mixup: unknown step of `batch:`; did you mean 'MixUp'?"),
    (text("Rotate: {limit: 3}"), "E302 Rotate: is a step of `steps:`"),
    (text("MixUp: {alpha: 0}"), "E307 MixUp.alpha: must be greater than 0"),
    (text("MixUp: {alfa: 1}"), "6:13: E304 MixUp: unknown key 'alfa'; it takes p, id, alpha"),
    (text("MixUp: 3"), "E306"),
    (text("OneOf: {steps: []}"), "E310"),
    (text("MixUp: {id: a}", "CutMix: {id: a}"), "E311"),
    (text("MixUp", head=MASKED), "E316 MixUp: cannot blend mask"),
    (text("MixUp", head="inputs: {boxes: coco}\n"), "E316 MixUp: cannot blend boxes"),
    (text("CopyPaste", head="inputs: {mask: absent}\n"), "write `mask: required`"),
    (text("CutBlur"), "E316 CutBlur: is for recipes of pairs"),
    (text("CutBlur", head=PAIR), "lie on different grids"),
    (text("CutBlur: {source: sr}", head=PAIR), "'sr' is no target"),
    (text("CutBlur: {source: lr}", head=PAIR), "are the same"),
    (text("CutBlur", head="kind: pair\nscales: {lr: 1, hr: 1}\noutput: {lr: {dtype: uint8}}\n"), "one `output:`"),
    (text("CopyPaste", head=PAIR), "is not for recipes of pairs"),
    (text("MixUp", head="kind: bag\n"), "E207 batch: belongs to recipes of kind image or pair"),
    ("version: 1\nrecipe: t\nsteps: [Mosaic]\n", "write `batch: [Mosaic]`"),
    ("version: 1\nrecipe: t\nsteps: []\nmixup: 1\n", "write `batch: [MixUp]`"),
]


@pytest.mark.parametrize(("recipe", "says"), WRONG)
def test_what_cannot_be_is_said_with_its_place(recipe: str, says: str) -> None:
    with pytest.raises(RecipeError) as error:
        ar.load(recipe)
    assert says in str(error.value)


def first(ds: Any, **how: Any) -> Any:
    return next(iter(ar.loader(ds, 3, num_workers=0, **how)))


def test_what_samples_do_not_have_is_said_with_the_steps_line() -> None:
    with pytest.raises(ar.CollateError, match=r"<recipe>:6: MixUp of `batch:` needs label"):
        first(dataset("MixUp", labels=False))
    with pytest.raises(ar.CollateError, match=r"give classes= to ar\.collate"):
        first(dataset("MixUp"))
    with pytest.raises(ar.CollateError, match="labels of 2 classes, 0 to 1, and there is 2"):
        first(dataset("CutMix: {classes: 2}"))
    with pytest.raises(ar.CollateError, match="CopyPaste of `batch:` needs mask"):
        first(dataset("CopyPaste"))
    recipe = ar.load(text("Mosaic", head="inputs: {mask: absent}\n"))
    with pytest.raises(ar.CollateError, match=r"draws a sample whose 'image' is of \(3, 14, 10\)"):
        uneven = ar.Samples([IMAGE, IMAGE, *[np.zeros((14, 10, 3), np.uint8)] * 9], recipe)
        for _ in range(20):
            ar.collate(uneven)([uneven[0, 0], uneven[0, 1]])
            uneven.seed += 1
    with pytest.raises(ar.CollateError, match=r"ar\.collate\(dataset\) knows it"):
        ar.collate(recipe)([uneven[0, k] for k in range(2)])
    with pytest.raises(ar.CollateError, match="`index` and `epoch`"):
        ar.collate(recipe)([(torch.zeros(3, 4, 4), 1)] * 2)
    with pytest.raises(ar.CollateError, match="`index` and `epoch`"):
        ar.collate(recipe)([{"image": torch.zeros(3, 4, 4)}] * 2)


def test_what_would_leave_the_section_out_is_refused_or_said(caplog: pytest.LogCaptureFixture) -> None:
    ds = dataset("MixUp: {classes: 3}")
    for collate in ("list", "pad", list):
        with pytest.raises(ValueError, match="stacked by collate"):
            ar.loader(ds, 2, collate=collate)
    with pytest.raises(ValueError, match="one recipe with `batch:`"):
        ar.loader(ConcatDataset([ds, dataset("CutMix")]), 2)
    with pytest.raises(ValueError, match="one recipe with `batch:`"):
        ar.loader(ConcatDataset([ds, ar.Samples([(IMAGE, 1)], "version: 1\nrecipe: t\nsteps: []\neval: []\n")]), 2)
    for make in (ds.recipe.transform, ds.recipe.to_albumentations):
        caplog.clear()
        make()
        assert "`batch:` is left out here" in caplog.text
        make("eval")
    assert caplog.text.count("left out") == 1


def test_evaluation_and_recipes_without_the_section_are_as_they_were() -> None:
    ds = dataset("MixUp: {classes: 3}")
    held = first(ds.subset(range(6), mode="eval"))
    assert held["label"].dtype == torch.int64
    assert "epoch" not in held
    plain = ar.load("version: 1\nrecipe: t\nsteps: []\neval: []\n")
    assert isinstance(ar.collate(plain), Collate)
    assert "epoch" not in first(ar.Samples([(IMAGE, 1)] * 3, plain))
    assert plain.digest != ds.recipe.digest


def test_partners_are_drawn_of_what_is_read_alone() -> None:
    """Mosaics of a part of a dataset hold nothing of the rest."""
    items = [np.full((8, 8, 3), 10 * k, np.uint8) for k in range(20)]
    ds = ar.Samples(items, ar.load(text("Mosaic", head="output: {dtype: uint8}\n")))
    for part in (Subset(ds, range(3)), ds.subset(range(3))):
        seen = {int(v) for batch in ar.loader(part, 3, num_workers=0) for v in np.unique(batch["image"])}
        assert seen <= {0, 10, 20}
        seen = {int(v) for batch in DataLoader(part, 3, collate_fn=ar.collate(part)) for v in np.unique(batch["image"])}
        assert seen <= {0, 10, 20}


def test_labels_that_are_shares_or_quantities_are_mixed_as_they_are() -> None:
    rows = [{"image": IMAGE, "label": np.eye(4, dtype=np.float32)[k % 4] / 2} for k in range(6)]
    batch = first(ar.Samples(rows, ar.load(text("MixUp"))))
    assert batch["label"].shape == (3, 4)
    np.testing.assert_allclose(batch["label"].sum(1), 0.5, atol=1e-6)


def test_sections_are_written_compared_and_explained() -> None:
    recipe = ar.load(text("OneOf: {p: 0.5, steps: [MixUp: {alpha: 0.2, id: soft}, CutMix]}", "Mosaic"))
    assert ar.load(recipe.to_yaml()) == recipe
    assert [step.site for one in recipe.batch for step in one.walk()] == [
        "OneOf#1",
        "soft",
        "OneOf#1/CutMix#1",
        "Mosaic#1",
    ]
    other = ar.load(text("MixUp: {alpha: 0.2}"), overrides={"batch.MixUp.alpha": 0.4})
    assert other.batch[0].args["alpha"] == 0.4
    assert not ar.load(text("MixUp"), without=["batch.MixUp"]).batch
    (change,) = diff(ar.load(text("MixUp")), ar.load(text("MixUp: {alpha: 0.3}"))).settings
    assert (change.key, change.a, change.b) == ("batch.MixUp#1.alpha", 1, 0.3)
    shown = {row["site"]: (row["p"], row["arguments"]) for row in explain(recipe).to_json()["batch"]}
    assert shown["soft"] == (1.0, {"alpha": 0.2, "partners": "permutation", "classes": None})
    assert "batch" not in explain(recipe, "eval").to_json()
    assert {record.about[-1] for record in MIXTURES.values()} == {"."}


def test_a_sheet_shows_the_batch_that_a_dataset_gives(tmp_path: Path) -> None:
    from augrecipes.preview import batch_sheet
    from augrecipes.preview.display import rgb_of_output
    from augrecipes.preview.rows import SheetRequest

    recipe = ar.load("imagenet-mixed", overrides={"RandomResizedCrop.size": [32, 32]})
    tissue = ar.draw_dataset(tmp_path, tiles=6, photo_count=0, shrink=4).tissue
    ds = ar.ImageFolder(tissue, recipe, seed=5)
    sheet = batch_sheet(recipe, SheetRequest(tissue, 6, 1, epoch=2, compiled={"seed": 5}))
    batch = ar.collate(ds)([ds[2, k] for k in range(6)])
    for k, group in enumerate(sheet.rows[1].groups):
        np.testing.assert_array_equal(group.cells[0].image, rgb_of_output(batch["image"][k].numpy(), recipe.output))
        assert f"{batch['label'][k].max():.2f} {ds.classes[int(batch['label'][k].argmax())]}" in group.header
    with pytest.raises(RecipeError, match="no `batch:`"):
        batch_sheet(ar.load("folder-128"), SheetRequest(tissue, 2, 1))


def test_a_sheet_has_pasted_objects_with_their_names(tmp_path: Path) -> None:
    from augrecipes.preview import batch_sheet
    from augrecipes.preview.rows import SheetRequest

    data = ar.draw_dataset(tmp_path, tiles=3, photo_count=0, shrink=4)
    inputs = {"mask": "required", "boxes": {"format": "pascal_voc", "labels": "box_labels"}}
    crop = {"RandomCrop": {"height": 48, "width": 48}}
    given = {"version": 1, "recipe": "t", "steps": [crop], "eval": [], "inputs": inputs}
    before, after = (
        batch_sheet(
            ar.load({**given, "batch": [{"CopyPaste": {"share": share}}]}), SheetRequest(data.table, 3, 1)
        ).rows[1]
        for share in (0, 1)
    )
    assert any((a.cells[0].image != b.cells[0].image).any() for a, b in zip(before.groups, after.groups, strict=True))


def test_a_one_of_of_which_nothing_has_a_weight_in_an_epoch_does_nothing_in_it() -> None:
    weights = "p: {by_epoch: [0, 1, 0.5]}"
    ds = dataset(f"OneOf: {{steps: [MixUp: {{classes: 3, {weights}}}, CutMix: {{{weights}}}]}}")
    plain = ar.Samples(ds, {"version": 1, "recipe": "t", "steps": [], "eval": []})
    for epoch in range(3):
        batch, samples = (ar.collate(one)([one[epoch, k] for k in range(6)]) for one in (ds, plain))
        assert torch.equal(batch["image"], samples["image"]) == (epoch == 0)
        assert batch["label"].shape == (6, 3)


@pytest.mark.parametrize("step", ["MixUp", "CutMix", "Mosaic"])
def test_memory_grows_with_the_labels_in_use_and_not_with_the_square_of_their_number(step: str) -> None:
    classes = 100_000
    ds = dataset(f"{step}: {{classes: {classes}}}")
    samples = [ds[0, k] for k in range(6)]
    tracemalloc.start()
    try:
        batch = ar.collate(ds)(samples)
        assert tracemalloc.get_traced_memory()[1] < 100 * classes * 4
    finally:
        tracemalloc.stop()
    assert batch["label"].shape == (6, classes)
    np.testing.assert_allclose(batch["label"].sum(1), 1, atol=1e-6)


# Batches: what is stacked, listed, padded and refused.


def sample(height: int = 4, width: int = 5, index: int = 0, boxes: int = 1) -> dict[str, Any]:
    return {
        "image": torch.full((3, height, width), index + 1.0),
        "mask": torch.full((height, width), index + 1),
        "boxes": torch.ones(boxes, 4),
        "box_labels": torch.ones(boxes, dtype=torch.int64),
        "label": index,
        "index": index,
        "path": f"{index}.png",
    }


def test_default_stacks() -> None:
    batch = Collate()([sample(index=i, boxes=i) for i in range(3)])
    assert batch["image"].shape == (3, 3, 4, 5)
    assert (batch["mask"].shape, batch["mask"].dtype) == ((3, 4, 5), torch.int64)
    assert torch.equal(batch["label"], torch.tensor([0, 1, 2]))
    assert batch["label"].dtype == torch.int64
    assert batch["path"] == ["0.png", "1.png", "2.png"]
    assert [len(b) for b in batch["boxes"]] == [len(b) for b in batch["box_labels"]] == [0, 1, 2]


@pytest.mark.parametrize(
    "make",
    [
        lambda i: torch.arange(12.0).reshape(3, 4).T + i,  # not contiguous
        lambda i: torch.zeros(0, 3),
        torch.tensor,
        lambda i: torch.full((2, 2), i, dtype=torch.bfloat16),
        lambda i: torch.full((2, 2), float(i), requires_grad=True),
        lambda i: torch.full((2, 2), complex(0, i)).conj(),
    ],
)
def test_stacks_as_torch_does(make: Callable[[int], torch.Tensor]) -> None:
    values = [make(i) for i in range(3)]
    stacked = Collate()([{"image": value} for value in values])["image"]
    assert stacked.dtype == values[0].dtype
    assert torch.equal(stacked, torch.stack(values))


def test_default_refuses_with_both_sizes() -> None:
    with pytest.raises(
        CollateError, match=r"3×4×5 in sample 0 \([^)]*\), but 3×4×6 in sample 7.*\"pad\".*\"list\""
    ) as caught:
        Collate()([sample(), sample(), sample(width=6, index=7)])
    assert caught.value.path == "7.png"
    with pytest.raises(CollateError, match=r"torch\.float32.*torch\.uint8"):
        Collate()([{"image": torch.zeros(1)}, {"image": torch.zeros(1, dtype=torch.uint8)}])


@pytest.mark.parametrize("swap", [False, True])
def test_missing_keys_are_named(swap: bool) -> None:
    pair = [sample(), {k: v for k, v in sample(index=1).items() if k != "mask"}]
    with pytest.raises(CollateError, match=r"sample 0 \([^)]*\) has 'mask', sample 1 \([^)]*\) has not"):
        Collate()(pair[::-1] if swap else pair)


sizes = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=4)


@given(sizes, st.sampled_from(["chw", "hwc"]))
def test_pad_keeps_every_pixel_and_marks_the_rest(found: list[tuple[int, int]], layout: Any) -> None:
    samples = [sample(h, w, i) for i, (h, w) in enumerate(found)]
    if layout == "hwc":
        samples = [s | {"image": s["image"].permute(1, 2, 0)} for s in samples]
    batch = Collate("pad", layout)(samples)
    height, width = max(h for h, _ in found), max(w for _, w in found)
    image = batch["image"] if layout == "chw" else batch["image"].permute(0, 3, 1, 2)
    assert image.shape == (len(found), 3, height, width)
    assert batch["padding"].shape == (len(found), height, width)
    for i, (h, w) in enumerate(found):
        assert (image[i, :, :h, :w] == i + 1).all()
        assert (batch["mask"][i, :h, :w] == i + 1).all()
        assert not batch["padding"][i, :h, :w].any()
        assert batch["padding"][i].sum() == height * width - h * w
        assert (image[i, :, batch["padding"][i]] == 0).all()
        assert (batch["mask"][i][batch["padding"][i]] == MASK_PADDING).all()


def test_pad_refuses_other_channels() -> None:
    with pytest.raises(CollateError, match="1×4×5 in sample 1"):
        Collate("pad")([sample(), sample(index=1) | {"image": torch.zeros(1, 4, 5)}])
