"""A trial: the same samples, order, weights and draws for every recipe; truths that are planted are found."""

from __future__ import annotations

import json
import signal
import time
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

import augrecipes as ar
from augrecipes.bench.run import by_name
from augrecipes.cache import CACHE
from augrecipes.errors import BenchError
from augrecipes.trials.plan import rehearse
from augrecipes.trials.run import TrialRun
from augrecipes.trials.trainees import open_trainees, without_augmentation
from augrecipes.trials.training import Trainer, TrainingResult, reseeded

OUTPUT = {"range": [-1, 1]}
NOISE = {"GaussNoise": {"std_range": [0.02, 0.05], "p": 1.0}}


def recipe(name, *steps, **more):
    return ar.load({"version": 1, "recipe": name, "steps": [*steps], "eval": [], "output": OUTPUT, **more})


OWN = """
from torch import nn
import torch
made = []
def make(channels, classes):
    net = nn.Sequential(nn.Flatten(), nn.LazyLinear(classes))
    made.append((channels, classes))
    return net
def broken(classes):
    return nn.Linear(3, classes)
def text():
    return "network"
def other(width):
    return nn.Linear(3, width)
network = nn.Linear(3, 2)
"""


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    """Two classes: the left or the right half of an image is lighter, by little and under noise."""
    rng, root = np.random.default_rng(5), tmp_path_factory.mktemp("sides")
    for k in range(64):
        image = rng.normal(110, 30, (16, 16, 3))
        image[:, 8 * (k % 2) :][:, :8] += 45
        folder = root / ("left", "right")[k % 2]
        folder.mkdir(exist_ok=True)
        cv2.imwrite(str(folder / f"{k:02d}.png"), image.clip(0, 255).astype(np.uint8))
    return root


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Each test has a cache of its own."""
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def own(tmp_path):
    """A file with a network that is trained in no time."""
    (tmp_path / "own.py").write_text(OWN)
    return str(tmp_path / "own.py")


@pytest.fixture
def untrained(monkeypatch):
    """Trials train nothing: what they are is asked, and not what a network learns."""
    monkeypatch.setattr(Trainer, "train", lambda self, *args: Clockwork(self, 0.01, 0.0001).train(*args))


def figures(trial):
    """What two runs must have in common: all but times."""
    report = trial.to_json()
    for one in report["recipes"]:
        del one["samples_per_second"], one["waiting"]
    return report["recipes"], report["verdicts"]


def test_labels_that_are_destroyed_are_found_and_the_table_is_the_same_again(sides, own, monkeypatch, tmp_path):
    recipes = [recipe("plain", NOISE), recipe("mirrors", NOISE, "HorizontalFlip"), recipe("copy", NOISE)]
    first = ar.trial(recipes, sides, model=own, epochs=3, seeds=7, minutes=60)
    by_pair = {(one.a, one.b): one for one in first.verdicts}
    assert by_pair["plain", "mirrors"].verdict == "a"
    assert by_pair["mirrors", "copy"].verdict == "b"
    assert by_pair["plain", "copy"].verdict == "no difference seen"
    assert by_pair["plain", "copy"].difference == 0
    assert any("plain and copy do the same" in note for note in first.notes)
    plain, mirrors, _ = first.recipes
    assert mirrors.affinity.mean < 0.8 < plain.affinity.mean
    assert mirrors.diversity.mean > plain.diversity.mean
    assert set(mirrors.classes) == {"left", "right"}
    assert mirrors.worst[0].truth != mirrors.worst[0].predicted
    assert Path(mirrors.worst[0].path).exists()

    cached = ar.trial(recipes, sides, model=own, epochs=3, seeds=7, minutes=60)
    assert replace(cached, machine=first.machine) == first  # to the second, but for the load of the machine
    short = ar.trial(recipes, sides, model=own, epochs=1, seeds=2, minutes=60)
    monkeypatch.setenv(CACHE, str(tmp_path / "another"))
    assert figures(ar.trial(recipes, sides, model=own, epochs=1, seeds=2, minutes=60)) == figures(short)


def test_recipes_share_weights_order_and_the_draws_of_the_steps_that_they_share(sides, monkeypatch):
    seen: dict[tuple[str, int], list] = {}
    step = Trainer._step

    naming_errors, names = Trainer._naming_errors, []

    def named(self, dataset):
        names.append(dataset.recipe.name)
        return naming_errors(self, dataset)

    def watched(self, network, optimizer, batch):
        if (key := (names[-1], torch.initial_seed())) not in seen:
            weights = [each.detach().clone() for each in network.parameters()]
            seen[key] = [batch["index"].clone(), batch["image"].clone(), weights]
        return step(self, network, optimizer, batch)

    monkeypatch.setattr(Trainer, "_step", watched)
    monkeypatch.setattr(Trainer, "_naming_errors", named)
    plain, more = recipe("plain", NOISE, "HorizontalFlip"), recipe("more", NOISE, "HorizontalFlip", "VerticalFlip")
    ar.trial([plain, more], sides, epochs=1, seeds=2, minutes=60)
    for seed in (0, 1):
        (order, images, weights), (order_2, images_2, weights_2) = seen["plain", seed], seen["more", seed]
        assert torch.equal(order, order_2)
        assert all(map(torch.equal, weights, weights_2))
        upright = [torch.equal(a, b) for a, b in zip(images, images_2, strict=True)]
        turned = [torch.equal(a, b.flip(1)) for a, b in zip(images, images_2, strict=True)]
        assert all(a or b for a, b in zip(upright, turned, strict=True))
        assert any(upright)
        assert any(turned)
    assert not torch.equal(seen["plain", 0][0], seen["plain", 1][0])
    assert not torch.equal(seen["plain", 0][2][0], seen["plain", 1][2][0])


SCRIPT = """
import os, signal, sys
from pathlib import Path
import augrecipes as ar
from augrecipes.trials.training import Trainer
sides, os.environ["AUGRECIPES_CACHE"], most = sys.argv[1:]
train, step = Trainer.train, Trainer._step
def told(self, *args):
    result = train(self, *args)
    print("trained", flush=True)
    return result
def until_killed(self, *args):
    if len(list(Path(os.environ["AUGRECIPES_CACHE"], "trials").glob("*.training"))) == int(most):
        os.kill(os.getpid(), signal.SIGKILL)
    return step(self, *args)
Trainer.train, Trainer._step = told, until_killed
steps = [{"GaussNoise": {"std_range": [0.02, 0.05], "p": 1.0}}]
recipes = [{"version": 1, "recipe": n, "steps": s, "eval": [], "output": {"range": [-1, 1]}}
           for n, s in (("plain", []), ("noise", steps))]
table = ar.trial(recipes, sides, epochs=1, seeds=3, minutes=60)
print([one.scores for one in table.recipes])
"""


def test_a_trial_that_was_killed_goes_on(sides, cache, tmp_path, monkeypatch, programs):
    killed = programs(SCRIPT, str(sides), str(cache), "3")  # in the fourth: the plan, and two trainings are done
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    trained = {path: path.read_bytes() for path in (cache / "trials").glob("*.training")}
    assert len(trained) == 3
    done = programs(SCRIPT, str(sides), str(cache), "-1")
    assert all(path.read_bytes() == content for path, content in trained.items())
    assert done.stdout.count("trained") == 7 - len(trained)  # the plan, and six trainings
    monkeypatch.setenv(CACHE, str(tmp_path / "other"))
    whole = ar.trial([recipe("plain"), recipe("noise", NOISE)], sides, epochs=1, seeds=3, minutes=60)
    assert str([one.scores for one in whole.recipes]) == done.stdout.splitlines()[-1]


@pytest.mark.usefixtures("untrained")
def test_changed_files_and_steps_are_trained_anew(sides, tmp_path, cache):
    folder = tmp_path / "copy"
    for name in ("left", "right"):
        (folder / name).mkdir(parents=True)
        for path in sorted((sides / name).iterdir())[:6]:
            (folder / name / path.name).write_bytes(path.read_bytes())

    def trainings(*recipes, **how):
        before = len(list(cache.glob("trials/*")))
        ar.trial(recipes, folder, **{"epochs": 1, "seeds": 1, "minutes": 60, **how})
        return len(list(cache.glob("trials/*"))) - before

    plain, noise = recipe("plain"), recipe("noise", NOISE)
    assert trainings(plain, noise) == 3  # with the plan
    assert trainings(plain, noise) == 0
    assert trainings(plain, recipe("noise", {"GaussNoise": {"std_range": [0.02, 0.06], "p": 1.0}})) == 3
    assert trainings(plain, noise, seeds=2) == 5
    time.sleep(0.01)
    path = next((folder / "left").iterdir())
    path.write_bytes(path.read_bytes())
    assert trainings(plain, noise) == 3


@pytest.mark.usefixtures("untrained")
def test_other_masks_pixels_and_labels_are_trained_anew(tmp_path, cache):
    """What lies at the same names, or in lists of the same length, may be something else."""
    rng = np.random.default_rng(3)
    images = rng.integers(0, 256, (12, 16, 16, 3), np.uint8)
    for folder in ("images", "masks", "others"):
        (tmp_path / folder).mkdir()
    for k, image in enumerate(images):
        cv2.imwrite(str(tmp_path / "images" / f"{k}.png"), image)
        cv2.imwrite(str(tmp_path / "masks" / f"{k}.png"), image[..., 0] // 128)
        cv2.imwrite(str(tmp_path / "others" / f"{k}.png"), image[..., 1] // 86)

    def classes(data, **how):
        inputs = {"inputs": {"mask": "required"}} if how else {}
        table = ar.trial(
            [recipe("a", **inputs), recipe("b", "HorizontalFlip", **inputs)], data, epochs=1, seeds=1, **how
        )
        return len(table.recipes[0].classes), len(list(cache.glob("trials/*")))

    def pairs(other=None):
        return [(image ^ np.uint8(k == other), k % 2) for k, image in enumerate(images)]

    assert classes(pairs()) == (2, 3)
    assert classes(pairs()) == (2, 3)
    assert classes(pairs(other=5)) == (2, 6)
    assert classes([(image, (k + 1) % 2) for image, k in pairs()]) == (2, 9)
    assert classes(tmp_path / "images", masks=tmp_path / "masks") == (2, 12)
    assert classes(tmp_path / "images", masks=tmp_path / "others") == (3, 15)
    path = tmp_path / "others" / "4.png"
    path.write_bytes(path.read_bytes() + b"0")
    assert classes(tmp_path / "images", masks=tmp_path / "others") == (3, 18)


# The budget, by a trainer whose seconds are known.


class Clockwork(Trainer):
    """A trainer that trains nothing, in seconds that it says."""

    step: float
    sample: float
    slower: float
    calls: list

    def __init__(self, whole, step, sample, slower=1.0):
        super().__init__(whole.lesson, whole.device, whole.batch_size, whole.module)
        self.__dict__.update(step=step, sample=sample, slower=slower, calls=[])

    def train(self, trainee, seed, steps, points):
        valid = len(trainee.valid)
        seconds = 0.1 + steps * self.step + self.sample * valid * (points + len(trainee.augmented))
        self.calls.append((seed, steps, points, valid, seconds))
        rng = np.random.default_rng(seed)
        scores = (rng.random(valid) < 0.7).astype(float).tolist()
        curve = [(steps, 1.0, float(np.mean(scores)))] * points
        return TrainingResult(
            curve=curve, score=float(np.mean(scores)), scores=scores, losses=[1.0] * valid, predicted=[0] * valid,
            classes=[0.5] * len(self.lesson.classes), loss=1.0, step_seconds=self.step, valid_seconds=self.sample,
            train_seconds=steps * self.step, waiting_seconds=0.0, seconds=seconds * self.slower,
            augmented=dict.fromkeys(trainee.augmented, 0.5),
        )  # fmt: skip


@pytest.fixture(scope="module")
def trained(sides):
    """A trial that ran, for its parts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CACHE, str(sides.parent / "cache-of-parts"))
        recipes = [recipe("plain"), recipe("noise", NOISE, "HorizontalFlip")]
        return TrialRun(recipes, sides, epochs=2, seeds=1, minutes=60)


@pytest.mark.usefixtures("untrained")
def test_records_of_another_version_are_written_anew(sides, cache):
    def scores():
        table = ar.trial([recipe("plain"), recipe("noise", NOISE)], sides, epochs=1, seeds=1)
        return [one.scores for one in table.recipes]

    first, files = scores(), sorted(cache.glob("trials/*"))
    whole = [path.read_bytes() for path in files]
    for content in (b"{}", b"[1]", b"null", b"not JSON", b"\xff", b'{"score": 1.0, "seeds": 3}', b""):
        for path in files:
            path.write_bytes(content)
        assert scores() == first
    assert [json.loads(path.read_bytes()).keys() for path in files] == [json.loads(one).keys() for one in whole]


@pytest.mark.parametrize("minutes", [0.5, 1, 10, 600])
@pytest.mark.parametrize("seeds", [1, 6, 8, 30])
@pytest.mark.parametrize(("step", "sample"), [(0.01, 0.0005), (0.2, 0.002), (0.02, 0.05), (5.0, 0.1)])
def test_what_is_planned_fits_into_the_minutes(trained, minutes, seeds, step, sample):
    clockwork = Clockwork(trained._trainer, step, sample)
    trainees = [*trained._trainees.by_digest.values()]
    plan = rehearse(clockwork, trainees, minutes, seeds, None, lambda: 1.0, lambda n: (n,), 2, 1)
    planned = plan.seeds * plan.seconds
    assert plan.seeds <= seeds
    assert planned <= 60 * minutes or plan.seeds == 1
    assert plan.epochs <= 100
    if plan.seeds < seeds:  # fewer seeds only where one more does not fit with trainings as short as may be
        assert (plan.seeds + 1) * (plan.seconds - (plan.steps - 8) * 2 * step) > 0.69 * (60 * minutes - 1)
    elif plan.epochs < 100 and plan.steps >= 20:  # and otherwise the time is used
        assert planned > 0.4 * 60 * minutes


def test_a_machine_that_slows_down_ends_the_trial_in_time_with_fewer_seeds(sides, monkeypatch):
    clocks = []

    def slow(self, *args):
        clocks.append(Clockwork(self, 0.05, 0.001, slower=2.0))
        return clocks[-1].train(*args)

    monkeypatch.setattr(Trainer, "train", slow)
    run = TrialRun([recipe("plain"), recipe("noise", NOISE)], sides, seeds=8, minutes=2)
    assert 1 < len(run.trial.recipes[0].scores) < 8
    spent = run.trial.plan.rehearsal + sum(2 * clock.calls[0][-1] for clock in clocks)
    assert spent <= 120 + run.trial.plan.seconds
    assert any("seeds ran: the machine was slower" in note for note in run.trial.notes)


def test_what_could_be_told_apart_knows_of_all_comparisons(trained):
    clockwork = Clockwork(trained._trainer, 0.05, 0.001)
    trainees = [*trained._trainees.by_digest.values()]

    def plan(arms, pairs, rungs=lambda seeds: (seeds,)):
        return rehearse(clockwork, trainees, 60, 12, None, lambda: 1.0, rungs, arms, pairs)

    assert plan(2, 1).detectable < plan(4, 6).detectable < plan(7, 21).detectable
    assert plan(4, 3).detectable < plan(4, 3, lambda seeds: (seeds // 2, seeds)).detectable


def test_many_recipes_are_not_all_rehearsed_where_minutes_are_few(trained):
    clockwork = Clockwork(trained._trainer, 0.05, 0.001)
    trainees = [*trained._trainees.by_digest.values()] * 20
    seconds = lambda: 1.0 * len(clockwork.calls)  # noqa: E731
    few = rehearse(clockwork, trainees, 1, 8, None, seconds, lambda seeds: (seeds,), 40, 39)
    assert len(clockwork.calls) < 10
    clockwork.calls.clear()
    whole = rehearse(clockwork, trainees, 600, 8, None, seconds, lambda seeds: (seeds,), 40, 39)
    assert len(clockwork.calls) == 41
    by_sample = 0.001 * 40 * (few.points + 1)
    assert few.seconds == pytest.approx(40 * (0.1 + few.steps * 0.05) + by_sample * few.valid, rel=0.1)
    assert whole.seeds == 8


@pytest.mark.usefixtures("untrained")
def test_seeds_that_nobody_asked_for_are_enough_to_decide(sides):
    recipes = [recipe(f"flips{k}", {"HorizontalFlip": {"p": k / 8}}) for k in range(5)]
    table = ar.trial(recipes, sides, epochs=1, minutes=600)
    assert table.plan.seeds == table.plan.asked == 9  # ten pairs
    assert all(one.verdict for one in table.verdicts)
    assert any("9 seeds instead of 8: fewer cannot decide 10 comparisons" in note for note in table.notes)
    assert ar.trial(recipes[:3], sides, epochs=1, minutes=600).plan.asked == 8
    assert ar.trial(recipes, sides, epochs=1, minutes=600, seeds=3).plan.asked == 3


# What a plain training is.


def test_without_augmentation_stays_what_sizes_and_eval_rest_on():
    whole = recipe("whole", {"RandomCrop": {"height": 8, "width": 8}}, "HorizontalFlip", NOISE, batch=["MixUp"])
    clean = without_augmentation(whole)
    assert [step.name for step in clean.steps] == ["CenterCrop"]
    assert clean.batch == ()
    pair = ar.load("sr-x4")
    assert [step.name for step in without_augmentation(pair).steps] == ["RandomCrop"]


def test_recipes_without_augmentation_are_their_own_yardstick(trained):
    plain, noise = trained.trial.recipes
    assert (plain.affinity.mean, plain.diversity.mean) == (1.0, 1.0)
    assert noise.affinity.mean != 1.0
    assert len(trained._trainees.by_digest) == 2


def test_affinity_and_diversity_are_those_of_their_paper(trained, sides):
    """Gontijo-Lopes et al., 2020: scores and losses of the clean network, by hand."""
    trainees, trainer, plan = trained._trainees, trained._trainer, trained._plan
    clean = trainees.by_digest[trainees.recipes["plain"].digest]
    noisy = trainees.by_digest[trainees.recipes["noise"].digest]
    caught = []
    validate = Trainer._validate

    def kept(self, network, dataset):
        caught.append(network)
        return validate(self, network, dataset)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "_validate", kept)
        one = trainer.train(clean, 0, plan.steps, plan.points)
    network = caught[-1].eval()
    right = []
    rows = clean.augmented[trainees.recipes["noise"].digest]
    for k in range(len(rows)):
        sample = reseeded(rows, 0)[0, k]
        with torch.no_grad():
            right.append(int(network(sample["image"][None]).argmax()) == int(sample["label"]))
    two = trainer.train(noisy, 0, plan.steps, plan.points)
    result = trained.trial.recipes[1]
    assert result.affinity.mean == pytest.approx(np.mean(right) / one.score)
    assert result.diversity.mean == pytest.approx(two.loss / one.loss)


# The user's own network.


def test_a_network_of_ones_own(sides, own, tmp_path):
    recipes = [recipe("plain"), recipe("noise", NOISE)]
    table = ar.trial(recipes, sides, model=own, epochs=2, seeds=2, minutes=60)
    assert "own.py" in table.network
    messages = {
        "broken": r"own.py.*it fails on a batch of plain", "text": "gives a str; it must be",
        "other": "which may take channels, classes, factor, fails", "network": "is a Linear; it must be a function",
    }  # fmt: skip
    for name, message in messages.items():
        with pytest.raises(BenchError, match=message):
            ar.trial(recipes, sides, model=f"{tmp_path}/own.py:{name}", epochs=1, seeds=1)
    with pytest.raises(BenchError, match="no such file"):
        ar.trial(recipes, sides, model="absent.py:make")


# What cannot be.


def test_a_loss_that_is_not_finite_names_the_recipe(sides, tmp_path):
    (tmp_path / "own.py").write_text(OWN + "def loss(output, batch):\n    return output.mean() * float('nan')\n")
    with pytest.raises(BenchError, match=r"plain: the loss is nan.*augrecipes preview.*learning rate"):
        ar.trial([recipe("plain"), recipe("noise", NOISE)], sides, model=f"{tmp_path}/own.py:make", epochs=1, seeds=1)


@pytest.mark.usefixtures("untrained")
def test_validation_files_that_are_learned_from_are_told(sides):
    two = [recipe("plain"), recipe("noise", NOISE)]
    notes = ar.trial(two, sides, sides, epochs=1, seeds=1).notes
    assert any("64 validation files are learned from, too" in note for note in notes)
    arrays = [(np.full((16, 16, 3), 99 * (k % 2), np.uint8), k % 2) for k in range(20)]
    assert not any("learned from, too" in note for note in ar.trial(two, arrays, arrays[::-1], epochs=1, seeds=1).notes)
    assert not any("learned from" in note for note in ar.trial(two, sides, epochs=1, seeds=1).notes)


def test_validation_images_of_several_sizes_are_scored_one_by_one(sides, tmp_path):
    for k, size in enumerate((24, 24, 24, 24, 20, 40)):
        (tmp_path / "valid" / ("left", "right")[k % 2]).mkdir(parents=True, exist_ok=True)
        cv2.imwrite(
            str(tmp_path / "valid" / ("left", "right")[k % 2] / f"{k}.png"), np.full((size, 30, 3), 99, np.uint8)
        )
    table = ar.trial([recipe("plain"), recipe("noise", NOISE)], sides, tmp_path / "valid", epochs=1, seeds=1)
    assert len(table.recipes[0].worst) == 6


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("segment", "have no masks.*--masks FOLDER"), ("sr", "say --task classify or segment"),
        ("bag", "say --task classify or segment"), ("detect", "say --task classify or segment"),
    ],
)  # fmt: skip
def test_a_task_that_the_data_do_not_have(sides, task, message):
    with pytest.raises(BenchError, match=message):
        ar.trial([recipe("plain"), recipe("noise", NOISE)], sides, task=task)


def test_data_without_labels_and_of_one_class(sides):
    with pytest.raises(BenchError, match=r"no labels.*a folder for each class"):
        ar.trial([recipe("plain"), recipe("noise", NOISE)], sides / "left")
    one = [(np.zeros((8, 8, 3), np.uint8), 1)] * 9
    with pytest.raises(BenchError, match=r"two to 10,000 classes"):
        ar.trial([recipe("plain"), recipe("noise", NOISE)], one)
    with pytest.raises(BenchError, match=r"too few.*give --valid"):
        ar.trial([recipe("plain"), recipe("noise", NOISE)], one[:1])
    with pytest.raises(BenchError, match="recipes must be of one kind"):
        ar.trial([recipe("plain"), "sr-x4"], sides)


def test_validation_folders_with_fewer_classes_keep_the_numbers(sides, tmp_path):
    (tmp_path / "valid" / "right").mkdir(parents=True)
    for path in sorted((sides / "right").iterdir())[:8]:
        (tmp_path / "valid" / "right" / path.name).write_bytes(path.read_bytes())
    named = {"plain": recipe("plain"), "noise": recipe("noise", NOISE)}
    trainees = open_trainees(named, sides, tmp_path / "valid")
    for one in trainees.by_digest.values():
        assert set(one.valid.labels) == {1}
        assert {int(one.valid[k]["label"]) for k in range(len(one.valid))} == {1}


def test_names_are_told_apart_and_limits_are_more_than_nothing(sides):
    names = [*by_name([recipe("a"), recipe("b"), recipe("a"), recipe("a", "HorizontalFlip")])]
    assert names == ["a", "b", "a (2)", "a (3)"]
    for how in ({"seeds": 0}, {"seeds": 2.5}, {"minutes": -1}, {"minutes": np.nan}, {"epochs": 0}):
        with pytest.raises(BenchError, match="are more than 0"):
            ar.trial([recipe("plain"), recipe("noise", NOISE)], sides, **how)
    with pytest.raises(BenchError, match="a trial compares recipes, got 0"):
        ar.trial([], sides)


def test_the_command_writes_the_json_that_others_read(sides, tmp_path, monkeypatch):
    from support.command_line import invoke

    monkeypatch.chdir(tmp_path)
    for name, steps in (("a", "[]"), ("b", "[HorizontalFlip]")):
        Path(f"{name}.yaml").write_text(f"version: 1\nrecipe: {name}\nsteps: {steps}\neval: []\n")
    words = ["trial", "a.yaml", "b.yaml", "--data", str(sides), "--task", "classify", "--epochs", "1", "--seeds", "2"]
    done = invoke([*words, "--json", "table.json"])
    assert done.exit_code == 0, done.output
    table = json.loads(Path("table.json").read_text())
    assert [one["name"] for one in table["recipes"]] == ["a", "b"]
    for part in ("score", "affinity", "diversity"):
        assert set(table["recipes"][1][part]) >= {"mean", "low", "high"}
    assert table["verdicts"][0].keys() >= {"a", "b", "verdict", "difference", "low", "high", "p"}
    assert table["verdicts"][0]["verdict"] is None


def test_recipes_without_an_eval_section_are_scored_as_if_it_were_derived(sides):
    bare = ar.load({"version": 1, "recipe": "bare", "steps": [{"RandomCrop": {"height": 12, "width": 12}}]})
    flips = ar.load(
        {
            "version": 1,
            "recipe": "flips",
            "steps": [{"RandomCrop": {"height": 12, "width": 12}}, "HorizontalFlip"],
            "eval": "derived",
        }
    )
    run = TrialRun([bare, flips], sides, epochs=1, seeds=1)
    assert [run.valid[name].recipe.eval[0].name for name in ("bare", "flips")] == ["CenterCrop", "CenterCrop"]
    assert any("bare has no eval section" in note for note in run.trial.notes)
    assert not any("flips has" in note for note in run.trial.notes)


def test_an_ablation_ranks_the_steps_by_what_they_bring(sides, own):
    """The flip destroys labels, so that it hurts and comes last; each arm is compared with the whole."""
    whole = recipe("whole", {"HorizontalFlip": {"p": 1.0}}, NOISE, "VerticalFlip")
    table = ar.trial(whole, sides, model=own, ablate=True, epochs=2, seeds=7, minutes=60)
    names = [one.name for one in table.recipes]
    assert names[0] == "whole"
    assert set(names[1:]) == {f"without {name}#1" for name in ("HorizontalFlip", "GaussNoise", "VerticalFlip")}
    assert names[-1] == "without HorizontalFlip#1"
    assert [(one.a, one.b) for one in table.verdicts] == [("whole", name) for name in names[1:]]
    differences = [one.difference for one in table.verdicts]
    assert differences == sorted(differences, reverse=True)
    assert table.verdicts[-1].verdict == "b"
    with pytest.raises(BenchError, match="steps of one recipe out, got 2"):
        ar.trial([whole, recipe("plain")], sides, ablate=True)
