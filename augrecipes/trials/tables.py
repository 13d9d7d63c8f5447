"""A trial as a report: verdicts in plain English, scores with affinity and diversity, curves, and classes."""

from collections import Counter
from collections.abc import Sequence
from math import ceil, floor, isfinite, log10, nan

from augrecipes.bench.scales import LinearScale, has_place
from augrecipes.bench.verdicts import percent, rate
from augrecipes.errors import counted
from augrecipes.report import Note, Report, TextTable
from augrecipes.trials.record import NO_DIFFERENCE, CurvePoint, ScoreVerdict, SeedEstimate, Trial, TrialPlan

WITHOUT = "without "  # prefix of an ablation's arms
CLASSES = 12  # shown first on the page, where there are more
DEFINITIONS = (
    "affinity: score on augmented validation samples over that on plain ones, 1 is in distribution; diversity: "
    "training loss over that without augmentation, more is more diverse (Gontijo-Lopes et al., 2020)"
)
_METHOD = "in brackets 95 % intervals over the seeds (BCa); p of the sign-flip test"
_BLOCKS = "▁▂▃▄▅▆▇█"
_CURVE = 10  # points of a curve that a terminal shows
_VERBS = "a help", "b hurt"  # what steps do where the whole recipe is better, or worse
_DIGITS = 3  # most decimal places


def report_of(trial: Trial) -> Report:
    """Report a trial for the terminal: all but its worst samples and scores by class."""
    facts = {
        "data": trial.data,
        "validation": trial.valid,
        "network": f"{trial.network}, on {trial.plan.device} with {counted(trial.plan.threads, 'thread')}",
        "training": training_text(trial),
        "machine": trial.machine,
    }
    notes = [*map(Note, verdict_lines(trial)), Note(how_sure(trial), "", "faint")]
    tables = [TextTable("Verdicts", (), [], notes=notes)] if trial.verdicts else []
    tables.append(_scores(trial))
    return Report(facts, tables, [Note(text, "note:", "warning") for text in trial.notes])


def plan_lines(plan: TrialPlan, unit: str = "") -> list[str]:
    """Describe a plan before the trial begins; scores with no unit are shares."""
    detectable = f"a difference of about {score_text(unit, plan.detectable, 'points')} could be told apart"
    lines = [
        f"into {plan.minutes:g} min fit {_volume(plan, plan.seeds)}, on {plan.train:,} training and {plan.valid:,} "
        f"validation samples: {plan.seconds:,.3g} s for a seed of all recipes",
        detectable if plan.detectable < (1e3 if unit else 1) else "so few seeds and samples tell nothing apart",
        f"{plan.asked} seeds do not fit: {_more_seeds(plan, plan.asked, plan.seeds)} fits them",
    ]
    return lines[: 2 + (plan.seeds < plan.asked)]


def _volume(plan: TrialPlan, seeds: int) -> str:
    """Say how much is trained."""
    steps = f"{counted(plan.steps, 'step')} in batches of {plan.batch_size}"
    return f"{counted(seeds, 'seed')} of {plan.epochs:.3g} epochs ({steps})"


def _more_seeds(plan: TrialPlan, seeds: int, ran: int) -> str:
    """The option that gets so many seeds: `--seeds`, or where they did not fit, `--minutes`."""
    return f"--seeds {seeds}" if seeds > plan.asked else f"--minutes {ceil(plan.minutes * seeds / ran)}"


def training_text(trial: Trial) -> str:
    """Say how much was trained, and how long it took."""
    volume = _volume(trial.plan, max(len(result.scores) for result in trial.recipes))
    minutes = f"{trial.seconds / 60:.1f} of {trial.plan.minutes:g} min"
    return f"{volume} of each recipe on {trial.plan.train:,} samples, in {minutes}"


def how_sure(trial: Trial) -> str:
    """Explain the brackets and p."""
    adjusted = f", adjusted for {len(trial.verdicts)} pairs (Holm)" * (len(trial.verdicts) > 1)
    return f"{_METHOD}{adjusted}; what would have been seen, in 80 % of trials"


def figures(unit: str, *scores: float) -> list[str]:
    """Format scores in percent, or in dB, with enough digits to tell the lowest from the highest.

    >>> figures("", 0.8731, 0.861, 0.885), figures("dB", 28.4123, 28.4109), figures("", float("nan"))
    (['87.3', '86.1', '88.5'], ['28.412', '28.411'], ['–'])
    """
    times, digits = (1, 2) if unit else (100, 1)
    finite = [times * score for score in scores if has_place(score)]
    if spread := max(finite, default=0) - min(finite, default=0):
        digits = max(digits, min(_DIGITS, -floor(log10(spread))))
    return [f"{times * score:z.{digits}f}" if has_place(score) else "–" for score in scores]


def score_text(unit: str, score: float, share: str = "%") -> str:
    """Format a score, or a difference of scores, with its unit; shares get `share`.

    >>> score_text("", 0.8731), score_text("dB", 28.412), score_text("", 0.014, "points")
    ('87.3 %', '28.41 dB', '1.4 points')
    """
    return f"{figures(unit, score)[0]} {unit or share}"


def difference_text(unit: str, difference: SeedEstimate) -> str:
    """Format a difference of scores and its interval.

    >>> difference_text("", SeedEstimate(0.021, 0.012, 0.03)), difference_text("dB", SeedEstimate(-0.2, -0.3, 0.05))
    ('+2.1 points (1.2 to 3.0)', '-0.20 dB (-0.30 to 0.05)')
    """
    mean, low, high = figures(unit, difference.mean, difference.low, difference.high)
    return f"{'+' * (difference.mean >= 0)}{mean} {unit or 'points'} ({low} to {high})"


def estimate_text(estimate: SeedEstimate | None, unit: str = "ratio") -> str:
    """Format a mean and its interval, of scores or ratios; an interval of zero width is left out.

    >>> estimate_text(SeedEstimate(0.8731, 0.861, 0.885), ""), estimate_text(SeedEstimate(0.93, 0.93, 0.93))
    ('87.3 (86.1–88.5)', '0.93')
    """
    if estimate is None:
        return ""
    mean, low, high = figures(unit, estimate.mean, estimate.low, estimate.high)
    return f"{mean} ({low}–{high})" if low != high else mean


def verdict_lines(trial: Trial) -> list[str]:
    """Write one sentence for each decided pair, and those of `undecided_lines`."""
    return [verdict_text(v, trial) for v in trial.verdicts if v.verdict is not None] + undecided_lines(trial)


def undecided_lines(trial: Trial) -> list[str]:
    """Say how many pairs the seeds cannot decide, and how many seeds it takes."""
    undecided = Counter((verdict.seeds, verdict.needed) for verdict in trial.verdicts if verdict.verdict is None)
    return [
        f"{counted(seeds, 'seed')} cannot decide {counted(pairs, 'pair')}; it takes {needed}: "
        f"{_more_seeds(trial.plan, needed, seeds)}"
        for (seeds, needed), pairs in undecided.items()
    ]


def shown_difference(verdict: ScoreVerdict) -> SeedEstimate:
    """The difference as the sentence states it: seen from the better recipe, or from the whole recipe."""
    if verdict.verdict == "b" and not ablated_step(verdict):
        return SeedEstimate(-verdict.difference, -verdict.high, -verdict.low)
    return SeedEstimate(verdict.difference, verdict.low, verdict.high)


def verdict_text(verdict: ScoreVerdict, trial: Trial) -> str:
    """State one decided comparison as a sentence."""
    a, b, step, winner = verdict.a, verdict.b, ablated_step(verdict), verdict.verdict
    p = "p < 0.001" if verdict.p < 0.0005 else f"p = {verdict.p:.{2 + (verdict.p < 0.0995)}f}"
    difference = f"{difference_text(trial.unit, shown_difference(verdict))}, {p}"
    if winner == NO_DIFFERENCE:
        between = f"with and without {step}" if step else f"between {a} and {b}"
        seen = f"one of {score_text(trial.unit, verdict.smallest, 'points')} or more would have been seen; "
        is_known = has_place(verdict.smallest) and verdict.smallest > 0
        return f"{NO_DIFFERENCE} {between}: {seen * is_known}it is {difference}"
    better = f"{a} is better than {b}" if winner == "a" else f"{b} is better than {a}"
    what = f"{step} {'helps' if winner == 'a' else 'hurts'}" if step else better
    return f"{what}: {trial.metric} {difference}"


def ablated_step(verdict: ScoreVerdict) -> str:
    """The step that an ablation left out; empty for other comparisons."""
    return verdict.b.removeprefix(WITHOUT) if verdict.b.startswith(WITHOUT) else ""


def headline(trial: Trial) -> str:
    """Sum up a trial in a sentence: which recipe is better, which steps help, or that no difference was seen."""
    lines, best = verdict_lines(trial), max(trial.recipes, key=lambda r: (isfinite(r.score.mean), r.score.mean))
    decided = [v for v in trial.verdicts if v.verdict in ("a", "b")]
    won = [(v.a, v.b) if v.verdict == "a" else (v.b, v.a) for v in decided]
    if len(lines) < 2 or not any(v.verdict for v in trial.verdicts):
        return (lines or [f"{best.name}: {trial.metric} {score_text(trial.unit, best.score.mean)}"])[-1]
    if not won:
        return f"{NO_DIFFERENCE} in any of {len(lines)} pairs"
    if any(map(ablated_step, trial.verdicts)):
        steps = [(verb, [ablated_step(v) for v in trial.verdicts if v.verdict == verb[0]]) for verb in _VERBS]
        return "; ".join(f"{', '.join(some)} {verb[2:]}{'s' * (len(some) == 1)}" for verb, some in steps if some)
    others = [result.name for result in trial.recipes if result is not best and (best.name, result.name) not in won]
    if not others:
        return f"{best.name} is better than each of the {len(trial.recipes) - 1} others"
    return f"{best.name} scores highest of {len(trial.recipes)}, with {NO_DIFFERENCE} to {' and '.join(others)}"


def _scores(trial: Trial) -> TextTable:
    """The table of scores, a row for each recipe; all curves share a scale."""
    scale = LinearScale(point.score for result in trial.recipes for point in result.curve)
    rows = [
        [
            result.name, estimate_text(result.score, trial.unit),
            *(figures("ratio", ratio.mean)[0] if ratio else "" for ratio in (result.affinity, result.diversity)),
            rate(result.samples_per_second), percent(result.waiting, 0), _sparkline(result.curve, scale),
        ]
        for result in trial.recipes
    ]  # fmt: skip
    headings = ["", f"{trial.metric} {trial.unit or '%'}", "affinity", "diversity", "samples/s", "waiting", "curve"]
    notes = [Note(DEFINITIONS, "", "faint")] * any(result.affinity or result.diversity for result in trial.recipes)
    return TextTable("Scores", headings, rows, right=range(1, 6), strong=(6,), notes=notes)


def _sparkline(curve: Sequence[CurvePoint], scale: LinearScale) -> str:
    """Draw up to ten scores, the last among them, as block characters; a missing one is a gap."""
    scores = [point.score for point in curve[:: min(-len(curve) // _CURVE, -1)]][::-1]
    return "".join(_BLOCKS[round(scale.place(score) * 0.07)] if has_place(score) else " " for score in scores)


def class_names(trial: Trial) -> list[str]:
    """The classes that have scores; where there are many, those on which recipes differ most come first."""
    names = dict.fromkeys(name for recipe in trial.recipes for name in recipe.classes)

    def sameness(name: str) -> float:
        scores = [score for result in trial.recipes if has_place(score := result.classes.get(name, nan))]
        return min(scores) - max(scores) if len(scores) > 1 else sum(scores)  # of a single recipe the lowest first

    return sorted(names, key=sameness) if len(names) > CLASSES else [*names]
