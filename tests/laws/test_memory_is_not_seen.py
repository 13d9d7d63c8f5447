"""What memory held before is in no sample: every class writes all of what it gives, or says why it cannot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_inputs_are_untouched import ALSO, CASE, CLASSES, cases

from augrecipes.errors import AugrecipesError
from augrecipes.ops import registry
from augrecipes.recipe.model import Arguments, Recipe, Step

PLAIN = [ALSO, ("Posterize", {"num_bits": [[2, 3]] * 4}), *(next(cases(name)) for name in CLASSES)]


def results(case: CASE, optimize: Any) -> list[bytes]:
    """The sample of an image of 1, 3 and 4 channels; errors are no samples."""
    name, arguments = case
    found = []
    for channels in (1, 3, 4):
        image = np.random.default_rng(channels).integers(0, 256, (48, 56, channels), np.uint8)
        try:
            recipe = Recipe(name="tiny", steps=(Step(name, Arguments(arguments), p=1.0),))
            found.append(recipe.compile(seed=1, optimize=optimize).at(index=0, epoch=0)(image=image)["image"].tobytes())
        except AugrecipesError as error:
            found.append(type(error).__name__.encode())
    return found


def check(case: CASE, monkeypatch: pytest.MonkeyPatch, optimize: Any = "none") -> None:
    """The law: whatever new memory is full of, the samples are the same."""
    seen = []
    empty, empty_like = np.empty, np.empty_like
    for dirt in (0, 113):

        def dirty(make: Callable[..., Any], dirt: int = dirt) -> Callable[..., Any]:
            def made(*args: Any, **options: Any) -> Any:
                array = make(*args, **options)
                if array.dtype.kind in "uif" and array.base is None:
                    array.fill(dirt)
                return array

            return made

        with monkeypatch.context() as patched:
            patched.setattr(np, "empty", dirty(empty))
            patched.setattr(np, "empty_like", dirty(empty_like))
            seen.append(results(case, optimize))
    assert seen[0] == seen[1], case


def test_no_class_shows_what_memory_held(monkeypatch: pytest.MonkeyPatch) -> None:
    for case in PLAIN:
        check(case, monkeypatch)


@pytest.mark.soak
@pytest.mark.parametrize("name", CLASSES)
def test_no_class_shows_what_memory_held_in_any_way(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for case in cases(name):
        check(case, monkeypatch)


@pytest.mark.parametrize("optimize", ["exact", "fast"])
def test_a_range_for_each_channel_is_held_to_the_picture(optimize: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    check(ALSO, monkeypatch, optimize)
    assert [len(one) < 99 for one in results(ALSO, optimize)] == [True, False, True]


def test_the_law_sees_a_channel_that_nobody_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_of_channels", lambda channels, apply, img, *a, **k: apply(img, *a, **k))
    with pytest.raises(AssertionError, match="Posterize"):
        check(ALSO, monkeypatch)
