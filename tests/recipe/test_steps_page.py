"""docs/STEPS.md is what the steps say of themselves, as `augrecipes step` says it; its pictures show something."""

import json
import re

import cv2
import numpy as np
import pytest
from steps_page import _WIDE, EXAMPLES, PAGE, PICTURES, page, picture
from support.checks import rows

from augrecipes.mixtures.families import MIXTURES
from augrecipes.ops.groups import GROUPS, PAIR_STEPS, POLICIES
from augrecipes.ops.records import own_names
from augrecipes.ops.registry import get_class, names
from augrecipes.recipe.words import step_facts, step_names

OURS = {*own_names(), *PAIR_STEPS, *POLICIES, *MIXTURES}


def test_the_page_is_what_the_steps_say(monkeypatch):
    assert PAGE.read_text(encoding="utf-8") == page(), "python tests/steps_page.py writes it"
    # A planted fault: a class whose docstring says something else.
    monkeypatch.setattr("steps_page.step_facts", lambda name: {**step_facts(name), "about": "Does nothing"})
    assert page().count("Does nothing.") == len(OURS) + len(GROUPS)


def test_every_step_of_ours_is_on_it_with_all_arguments_and_a_picture():
    parts = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", page(), flags=re.MULTILINE | re.DOTALL))
    assert {*parts} == OURS | {*GROUPS}
    assert {*EXAMPLES} == OURS
    assert {file.stem for file in PICTURES.iterdir()} == OURS
    assert sum(file.stat().st_size for file in PICTURES.iterdir()) < 28_000 * len(OURS)
    for name, part in parts.items():
        told = re.findall(r"^\| `(\w+)` \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", part, flags=re.MULTILINE)
        assert [row[0] for row in told] == [one["argument"] for one in step_facts(name)["arguments"]]
        assert all(takes and meaning for _, _, takes, meaning in told), name
    assert "| `bias` | `0.05` | number or pair of numbers |" in parts["StainJitter"]


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_a_picture_shows_what_a_step_does(name):
    shown = picture(name)
    stored = cv2.imread(str(PICTURES / f"{name}.jpg"))
    assert stored.shape == shown.shape
    cells = [shown[30:, start : start + _WIDE] for start in range(0, shown.shape[1], _WIDE + 8)]
    assert len({cell.tobytes() for cell in cells}) == len(cells) == 4


def test_all_steps_have_facts_and_every_argument_of_a_class_is_among_them():
    assert set(names()) <= set(step_names())
    for name in step_names():
        facts = step_facts(name)
        assert facts["about"], name
        unsaid = [one["argument"] for one in facts["arguments"] if not (one["takes"] and one["meaning"])]
        assert unsaid == [], name
        assert facts.get("runs") or name in MIXTURES
    told = {one["argument"]: one for one in step_facts("Rotate")["arguments"]}
    assert told["limit"]["default"] == json.dumps(list(map(int, get_class("Rotate")().limit)))
    assert told["limit"]["meaning"].endswith("; a number s alone: -s to s")
    assert told["interpolation"]["takes"] == "one of linear, nearest, cubic, area, lanczos4"
    crop = {one["argument"]: one["default"] for one in step_facts("RandomCrop")["arguments"]}
    assert crop["height"] == "required"


@pytest.mark.parametrize(("name", "said"), rows(__file__, "what_is_said_of_how_it_runs"))
def test_what_is_said_of_how_it_runs(name, said):
    found = step_facts(name)
    assert {key: found[key][: len(text)] for key, text in said.items()} == said


def test_glass_is_a_share_from_0_to_1():
    """The bounds of a Field inside of a union reach the schema, and so the message of a recipe's check."""
    told = {one["argument"]: one["takes"] for one in step_facts("StainJitter")["arguments"]}
    assert told["white_threshold"] == "number or null, between 0 and 1"
    assert np.isclose(get_class("StainJitter")().white_threshold, 0.85)
