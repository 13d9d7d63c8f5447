"""Trials in words: every record can be said, in any width, and what is said is what was measured."""

import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from records import HOSTILE, PLAN, ablation, result, trial_of, trials, two

from augrecipes.errors import harmless
from augrecipes.notebook import pages
from augrecipes.trials.record import NO_DIFFERENCE, SeedEstimate, Trial
from augrecipes.trials.tables import (
    class_names,
    estimate_text,
    figures,
    headline,
    plan_lines,
    report_of,
    shown_difference,
    verdict_lines,
    verdict_text,
)

DECIDED = SeedEstimate(0.0213, 0.0121, 0.0304)


def sentence(trial: Trial, **verdict: object) -> str:
    """What is said of the first verdict, once some of its fields are others."""
    return verdict_text(replace(trial.verdicts[0], **verdict), trial)


@given(trials(), st.integers(20, 200))
def test_any_trial_can_be_said_in_any_width(trial: Trial, columns: int) -> None:
    text = report_of(trial).text(columns)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text)
    assert max(map(len, text.splitlines())) <= columns or any(len(one.name) > 8 for one in trial.recipes)
    for line in [*verdict_lines(trial), *trial.notes]:
        assert "".join(harmless(line).split()) in "".join(text.split())
    assert headline(trial).strip()
    assert all(plan_lines(trial.plan, trial.unit))


@given(trials())
def test_any_trial_is_shown_in_a_notebook_and_as_one_line(trial: Trial) -> None:
    page = trial._repr_html_()
    assert "it cannot be shown" not in page
    assert "<script" not in page
    assert "<img" not in page
    assert repr(trial).isprintable()


def test_a_notebook_shows_verdicts_first_then_tables() -> None:
    page = pages.html_of(replace(two(), notes=("only 8 of 12 seeds fitted",)))
    sentence = "strong is better than weak: accuracy +2.1 points (1.2 to 3.1), p = 0.008"
    order = [page.index(f"<header><b>{sentence}"), page.index(f"<li>{sentence}"), page.index("<h4>Scores</h4>")]
    assert order == sorted(order)
    assert "<li>only 8 of 12 seeds fitted</li>" in page
    assert repr(two()) == "<Trial of 8 seeds, accuracy: strong 0.875, weak 0.853>"


def test_verdicts_are_sentences_of_the_better_one() -> None:
    trial = two()
    ends = {"difference": DECIDED.mean, "low": DECIDED.low, "high": DECIDED.high, "p": 0.0078}
    better = "strong is better than weak: accuracy +2.1 points (1.2 to 3.0), p = 0.008"
    assert sentence(trial, **ends) == better
    turned = {"a": "weak", "b": "strong", "difference": -0.0213, "low": -0.0304, "high": -0.0121, "p": 0.0078}
    assert sentence(trial, **turned, verdict="b") == better
    assert sentence(trial, **ends, verdict=NO_DIFFERENCE) == (
        "no difference seen between strong and weak: one of 1.4 points or more would have been seen; "
        "it is +2.1 points (1.2 to 3.0), p = 0.008"
    )
    assert sentence(replace(trial, unit="dB", metric="PSNR"), difference=0.312, low=0.2, high=0.4, p=1e-5) == (
        "strong is better than weak: PSNR +0.31 dB (0.20 to 0.40), p < 0.001"
    )


def test_steps_help_or_hurt() -> None:
    trial = ablation()
    assert sentence(trial, difference=0.021, low=0.012, high=0.03).startswith("Step0#1 helps: accuracy +2.1 points")
    hurts = sentence(trial, verdict="b", difference=-0.021, low=-0.03, high=-0.012)
    assert hurts.startswith("Step0#1 hurts: accuracy -2.1 points (-3.0 to -1.2)")
    assert sentence(trial, verdict=NO_DIFFERENCE).startswith("no difference seen with and without Step0#1: one of")
    assert headline(trial) == "Step0#1, Step1#1 help; Step5#1, Step6#1 hurt"
    assert shown_difference(replace(trial.verdicts[0], verdict="b")).mean == trial.verdicts[0].difference


@pytest.mark.parametrize(("asked", "cure"), [(6, "--seeds 7"), (8, "--minutes 12")])
def test_too_few_seeds_say_how_many_it_takes(asked: int, cure: str) -> None:
    """More seeds where so few were asked for; more minutes where no more fitted."""
    trial = trial_of(*(result(name, 0.8, seeds=6) for name in "abc"), needed=7)
    trial = replace(trial, plan=replace(trial.plan, asked=asked))
    assert verdict_lines(trial) == [f"6 seeds cannot decide 3 pairs; it takes 7: {cure}"]
    assert headline(trial) in report_of(trial).text()
    assert "better" not in report_of(trial).text()
    one = trial_of(result("a", 0.8, seeds=1), result("b", 0.9, seeds=1))
    assert verdict_lines(one)[0].startswith("1 seed cannot decide 1 pair; it takes 6")


def test_the_headline_of_several_recipes() -> None:
    a, b, c = result("a", 0.9), result("b", 0.8), result("c", 0.7)
    assert headline(trial_of(a)) == f"a: accuracy {100 * a.score.mean:.1f} %"
    assert headline(trial_of(a, b, c)) == headline(trial_of(c, a, b)) == "a is better than each of the 2 others"
    equal = trial_of(a, b, c)
    equal = replace(equal, verdicts=(replace(equal.verdicts[0], verdict=NO_DIFFERENCE), *equal.verdicts[1:]))
    assert headline(equal) == "a scores highest of 3, with no difference seen to b"
    none = replace(equal, verdicts=tuple(replace(one, verdict=NO_DIFFERENCE) for one in equal.verdicts))
    assert headline(none) == "no difference seen in any of 3 pairs"


def test_figures_have_the_digits_that_they_deserve() -> None:
    assert figures("", 0.87312) == ["87.3"]
    assert figures("", 0.87312, 0.87334) == ["87.31", "87.33"]
    assert figures("", 0.5, 0.5 + 1e-9) == ["50.000", "50.000"]
    assert figures("", -0.0001) == ["0.0"]
    assert figures("dB", math.nan, math.inf, 28.0) == ["–", "–", "28.00"]
    assert estimate_text(None) == ""
    assert estimate_text(SeedEstimate(0.5, 0.5, 0.5), "") == "50.0"


def test_every_figure_of_the_scores_is_there() -> None:
    trial = trial_of(*(result(name, level) for name, level in (("strong", 0.873), ("weak", 0.85), ("third", 0.8))))
    text = report_of(trial).text(200)
    for one in trial.recipes:
        assert re.search(
            rf"{one.name} +{re.escape(estimate_text(one.score, ''))} +{one.affinity.mean:.2f} "
            rf"+{one.diversity.mean:.2f} +1,234 +3 % +[▁▂▃▄▅▆▇█]{{10}}", text,
        )  # fmt: skip
    for field in ("data", "valid", "network", "machine"):
        assert getattr(trial, field) in text
    for line in verdict_lines(trial):
        assert line in text
    assert "8 seeds of 12.5 epochs (390 steps in batches of 32)" in text
    assert "adjusted for 3 pairs (Holm)" in text


def test_of_many_classes_those_are_shown_on_which_recipes_differ_most() -> None:
    a, b = result("a", 0.9, classes=60), result("b", 0.8, classes=60)
    even = dict.fromkeys(a.classes, 0.5)
    trial = trial_of(replace(a, classes={**even, "class 41": 0.9}), replace(b, classes={**even, "class 7": 0.2}))
    assert class_names(trial)[:3] == ["class 41", "class 7", "class 0"]
    assert class_names(trial_of(replace(a, classes={**even, "class 9": 0.1})))[0] == "class 9"


def test_a_plan_says_what_fits_and_what_could_be_told_apart() -> None:
    assert plan_lines(PLAN) == [
        "into 10 min fit 8 seeds of 12.5 epochs (390 steps in batches of 32), on 1,024 training and 256 validation "
        "samples: 71.2 s for a seed of all recipes",
        "a difference of about 1.4 points could be told apart",
    ]
    few = plan_lines(replace(PLAN, seeds=5, detectable=0.21), "dB")
    assert few[1:] == [
        "a difference of about 0.21 dB could be told apart",
        "8 seeds do not fit: --minutes 16 fits them",
    ]
    for nothing in (math.inf, math.nan, 1.275):
        assert plan_lines(replace(PLAN, detectable=nothing))[1] == "so few seeds and samples tell nothing apart"


def test_names_are_spelt_out_where_they_would_move_the_cursor() -> None:
    text = report_of(trial_of(result("a\x1b[31m", 0.9), result(HOSTILE, 0.8))).text(120)
    assert "a\\x1b[31m" in text
    assert "\x1b" not in text
