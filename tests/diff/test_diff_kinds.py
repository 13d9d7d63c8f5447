"""Pairs and bags: of all variants of a recipe, those that are called the same make the same samples, and only those."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from augrecipes.diff import diff
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text

RNG = np.random.default_rng(0)
LR, HR = RNG.integers(0, 256, (20, 24, 3), np.uint8), RNG.integers(0, 256, (40, 48, 3), np.uint8)
TILES = [RNG.integers(0, 256, (16, 20, 3), np.uint8) for _ in range(3)]

PAIRS = [
    "steps: [{RandomCrop: {height: 8, width: 8}}, {RandomGamma: {p: 1.0}}]",
    "steps: [{RandomCrop: {height: 8, width: 8, at: lr}}, {RandomGamma: {p: 1.0, target: [hr, lr]}}]",
    "steps: [{RandomCrop: {height: 8, width: 8, at: hr}}, {RandomGamma: {p: 1.0}}]",
    "steps: [{RandomCrop: {height: 8, width: 8}}, {RandomGamma: {p: 1.0, target: hr}}]",
    "steps: [{RandomCrop: {height: 8, width: 8}}, {Sequential: {target: hr, steps: [{RandomGamma: {p: 1.0}}]}}]",
    "steps: [{RandomCrop: {height: 8, width: 8}}, "
    "{Sequential: {target: hr, p: 1.0, steps: [{RandomGamma: {p: 1.0, target: hr}}]}}]",
    "steps: [{RandomCrop: {height: 8, width: 8}}, {RandomGamma: {p: 1.0}}]\noutput: {hr: {layout: hwc}}",
    "steps: [{RandomCrop: {height: 8, width: 8}}, {RandomGamma: {p: 1.0}}]\noutput: {hr: {layout: chw}}",
    "steps: [{RandomCrop: {height: 8, width: 8}}, {RandomGamma: {p: 1.0, id: fewer}}]",
]
BAGS = [
    "steps: [{RandomGamma: {p: 1.0}}, {Sequential: {steps: [{RandomGamma: {p: 1.0}}]}}]",
    "steps: [{RandomGamma: {p: 1.0, share: tile}}, {Sequential: {share: tile, steps: [{RandomGamma: {p: 1.0}}]}}]",
    "steps: [{RandomGamma: {p: 1.0, share: bag}}, {Sequential: {steps: [{RandomGamma: {p: 1.0}}]}}]",
    "steps: [{RandomGamma: {p: 1.0}}, {Sequential: {share: bag, steps: [{RandomGamma: {p: 1.0}}]}}]",
    "steps: [{RandomGamma: {p: 1.0}}, {Sequential: {steps: [{RandomGamma: {p: 1.0, share: bag}}]}}]",
]


def pair(text: str) -> Recipe:
    return parse_text(f"version: 1\nrecipe: a\nkind: pair\nscales: {{lr: 1, hr: 2}}\neval: []\n{text}")


def bag(text: str) -> Recipe:
    return parse_text(f"version: 1\nrecipe: a\nkind: bag\neval: []\n{text}")


def sample_of_pair(recipe: Recipe, index: int) -> dict[str, Any]:
    made: dict[str, Any] = recipe.compile().at(index)(lr=LR, hr=HR)
    return made


def sample_of_bag(recipe: Recipe, index: int) -> dict[str, Any]:
    pipeline = recipe.compile()
    return {str(k): pipeline.at(index, 0, k)(image=tile)["image"] for k, tile in enumerate(TILES)}


@pytest.mark.parametrize(
    ("make", "sample", "texts"), [(pair, sample_of_pair, PAIRS), (bag, sample_of_bag, BAGS)], ids=["pairs", "bags"]
)
def test_same_is_same_and_different_is_different(make: Any, sample: Any, texts: list[str]) -> None:
    recipes = [make(text) for text in texts]
    samples = [[sample(recipe, index) for index in range(8)] for recipe in recipes]
    alike = 0
    for (a, made), (b, other) in combinations(zip(recipes, samples, strict=True), 2):
        equal = all(np.array_equal(one[name], two[name]) for one, two in zip(made, other, strict=True) for name in one)
        assert diff(a, b).same == equal, diff(a, b)
        alike += equal
    assert alike
