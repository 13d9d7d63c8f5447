"""Law: run lengths of COCO, as numbers or as compressed text, are read as pycocotools does; no text does harm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_annotation_rules import instances, refused, rows
from test_one_table import recipe

from augrecipes.errors import DataError
from augrecipes.kinds.image.dataset import ImageFolder
from augrecipes.sources.annotations import coco

_COUNTS = st.lists(st.integers(0, 1 << 28) | st.integers(0, 40), max_size=40)


def test_run_lengths_of_coco(tmp_path: Path) -> None:
    """Uncompressed ones are read without pycocotools; they run down the columns."""
    path = instances(tmp_path, {"bbox": [0, 0, 2, 30], "segmentation": {"size": [30, 40], "counts": [3, 30, 1167]}})
    mask = ImageFolder(files=path, recipe=recipe(mask="required"))[0]["mask"]
    assert (mask[3:, 0] == 1).all()
    assert (mask[:3, 1] == 1).all()
    assert int(mask.sum()) == 30
    wrong = instances(tmp_path, {"bbox": [0, 0, 2, 3], "segmentation": {"size": [30, 40], "counts": [3, 30]}})
    refused(wrong, "annotation 1", "add up to 30×40", recipe=recipe(mask="required"))
    assert rows(wrong) == [[0, 0, 2, 3]]  # whoever wants boxes does not look at masks


def compressed(counts: list[int]) -> str:
    """COCO's text of run lengths, as its own C code writes it."""
    text = ""
    for k, count in enumerate(counts):
        value, more = count - (counts[k - 2] if k > 2 else 0), True
        while more:
            bits, value = value & 31, value >> 5
            more = value != -1 if bits & 16 else value != 0
            text += chr((bits | 32 if more else bits) + 48)
    return text


@pytest.mark.parametrize("seed", range(5))
def test_compressed_run_lengths_of_coco(tmp_path: Path, seed: int) -> None:
    truth = np.random.default_rng(seed).random((30, 40)) < 0.1 * (seed + 1)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], truth.T.ravel(), [0]])))
    counts = np.diff(np.concatenate([[0], edges, [1200]])).tolist()
    text = compressed(counts if edges[-1] < 1200 else counts[:-1])
    area = {"bbox": [0, 0, 40, 30], "segmentation": {"size": [30, 40], "counts": text}}
    mask = ImageFolder(files=instances(tmp_path, area), recipe=recipe(mask="required"))[0]["mask"]
    assert (mask.numpy() == truth).all()
    for wrong in ("", text[:-1], "~" * 9, "o" * 400, text + "1", "é", text.replace(text[3], "\n")):
        area["segmentation"] = {"size": [30, 40], "counts": wrong}
        refused(instances(tmp_path, area), "annotation 1: `counts` of run", recipe=recipe(mask="required"))
    area["segmentation"] = {"size": [40, 30], "counts": text}
    with pytest.raises(DataError, match="run-length mask is of 40×30 px, the picture has 30×40"):
        ImageFolder(files=instances(tmp_path, area), recipe=recipe(mask="required"))[0]


@given(counts=_COUNTS)
def test_what_is_written_is_read(counts: list[int]) -> None:
    assert coco.counts_of(compressed(counts)) == counts


@given(text=st.text() | st.text(st.characters(min_codepoint=40, max_codepoint=120), max_size=300))
def test_any_text_is_numbers_or_nothing(text: str) -> None:
    """Damaged ones end the process in pycocotools; here they are a fault of their annotation."""
    found = coco.counts_of(text)
    assert found is None or (len(found) <= len(text) and all(abs(count) < 1 << 62 for count in found))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_pycocotools_reads_the_same(tmp_path: Path) -> None:
    coder = pytest.importorskip("pycocotools.mask")
    chance = np.random.default_rng(0)
    for _ in range(60):
        truth = chance.random((30, 40)) < chance.random()
        text = coder.encode(np.asfortranarray(truth.astype(np.uint8)))["counts"].decode()
        counts = coco.counts_of(text)
        assert counts is not None
        assert compressed(counts) == text
        flat = np.repeat(np.arange(len(counts)) % 2 == 1, counts)
        assert (truth == flat.reshape(40, 30).T).all()
