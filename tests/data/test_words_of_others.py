"""What people write who come from torchvision: refused with what is written instead."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import albumentations as A
import pytest

import augrecipes as ar

_MAKERS = (ar.ImageFolder, ar.PairedImages, ar.TileBags, ar.SlideBags, ar.Samples, ar.Packed)


@pytest.mark.parametrize("make", _MAKERS)
@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("transform", "give a recipe, or `ar.from_albumentations(transform)`"),
        ("transforms", "give a recipe, or `ar.from_albumentations(transform)`"),
        ("target_transform", "labels come as they are"),
        ("train", "mode='eval'"),
        ("download", "nothing is downloaded"),
    ],
)
def test_what_other_datasets_take_is_refused_with_the_way_out(make: Any, word: str, said: str) -> None:
    with pytest.raises(TypeError, match=rf"^{make.__name__} takes no {word}=: .*{re.escape(said)}"):
        make("somewhere", **{word: None})


@pytest.mark.parametrize("make", _MAKERS)
def test_other_words_are_as_ever(make: Any) -> None:
    with pytest.raises(TypeError, match="strange"):
        make("somewhere", "folder-128", strange=1)


def test_a_transform_in_the_place_of_a_recipe_is_named(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"albumentations' Compose: ar\.from_albumentations\(it\)"):
        ar.ImageFolder(tmp_path, A.Compose([A.HorizontalFlip()]))  # type: ignore[arg-type]


class Own(ar.ImageFolder):
    """A dataset of the user's own, which has a `transform`."""

    def __init__(self, root: Path, transform: Any = None) -> None:
        super().__init__(root, "folder-128")
        self.transform = transform


def test_a_class_of_ones_own_may_take_the_word(tmp_path: Path) -> None:
    found = ar.draw_dataset(tmp_path, tiles=3, photo_count=0, shrink=4).tissue
    made = pickle.loads(pickle.dumps(Own(found, transform="mine")))
    assert made.transform == "mine"
