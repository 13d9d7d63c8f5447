"""LR of files beside LR made of HR, and several versions of an image: which one a sample takes is drawn by its key."""

import logging
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from support.folders import reduced, save, scene

import augrecipes as ar
from augrecipes.compiler.explain import explain
from augrecipes.kinds.pair import pipeline as pair_pipeline
from augrecipes.kinds.pair import versions
from augrecipes.kinds.pair.pairing import pair

COUNT, LACKING = 8, (2, 5)  # scenes, and those without LR
DEGRADE = "Degrade: {source: hr, target: lr, steps: [GaussianBlur, ResizeToTarget: {method: area}]}"
TEXT = """
version: 1
recipe: real
kind: pair
scales: {{lr: 1, hr: 4}}
{inputs}
steps:
  - RandomCrop: {{height: 8, width: 8, at: lr}}
  - D4: {{p: 1.0}}
{degrade}  - GaussNoise: {{target: lr, p: 0.5}}
eval: {evaluation}
output: {{dtype: uint8, layout: hwc}}
"""
EVALUATION = "[Degrade: {source: hr, target: lr, steps: [ResizeToTarget: {method: area}]}]"


def mixed(share: float | str | None, evaluation: str = EVALUATION) -> ar.Recipe:
    """LR made of HR, and a share of it read."""
    inputs = "" if share is None else f"inputs: {{lr: {{real: {share}}}}}"
    return ar.load(TEXT.format(inputs=inputs, degrade=f"  - {DEGRADE}\n", evaluation=evaluation))


def read() -> ar.Recipe:
    """LR that is read."""
    return ar.load(TEXT.format(inputs="", degrade="", evaluation="[]"))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for k in range(COUNT):
        save(tmp_path / "HR" / f"{k:04}.png", scene(k))
        for folder, darker, end in (("A", 2, "x4.png"), ("B", 4, "x4m.jpg")):
            if k not in LACKING or folder == "B":
                save(tmp_path / folder / f"{k:04}{end}", reduced(scene(k), 4) // darker)
    return tmp_path


def whole(data: Path) -> Path:
    for k in LACKING:
        save(data / "A" / f"{k:04}x4.png", reduced(scene(k), 4) // 2)
    return data


def roots(data: Path) -> dict[str, Path]:
    return {"hr": data / "HR", "lr": data / "A"}


def choice(sample: dict) -> tuple[str, dict]:
    ((_, name, parameters),) = [each for each in sample["applied"] if each[0] == "inputs.lr"]
    return name, parameters


def epochs_of(data: Path, recipe: ar.Recipe, count: int = 3, **how) -> dict[tuple[int, int], dict]:
    ds = ar.PairedImages(how.pop("roots", roots(data)), recipe, seed=1, **how)
    return {(epoch, i): ds[epoch, i] for epoch in range(count) for i in range(len(ds))}


def share_law(data: Path, optimize: str) -> None:
    made = epochs_of(data, mixed(None), roots={"hr": data / "HR"}, optimize=optimize)
    never, some, always = (epochs_of(data, mixed(share), optimize=optimize) for share in (0, 0.3, 1.0))
    mixtures = set()
    for (epoch, i), sample in made.items():
        key = epoch, i
        for other in (never, some, always):
            assert torch.equal(other[key]["hr"], sample["hr"])
        assert torch.equal(never[key]["lr"], sample["lr"])
        assert torch.equal(always[key]["lr"], sample["lr"]) is (i in LACKING)
        is_real = torch.equal(some[key]["lr"], always[key]["lr"])
        assert is_real or torch.equal(some[key]["lr"], sample["lr"])
        mixtures |= {is_real} if i not in LACKING else set()
    assert mixtures == {True, False}


@pytest.mark.parametrize("optimize", ["none", "exact"])
def test_a_share_is_read_and_no_other_draw_changes(data: Path, optimize: str) -> None:
    share_law(data, optimize)


@pytest.mark.parametrize("fault", [{"seed": 2}, {"plans": None}])
def test_steps_that_draw_otherwise_beside_real_lr_are_seen(
    data: Path, fault: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reading(compiled, real):
        own = versions.reading(compiled, real)
        if "seed" in fault and real:
            return replace(own, **fault)
        return replace(own, plans={name: replace(plan, steps=plan.steps[:-1]) for name, plan in own.plans.items()})

    monkeypatch.setattr(pair_pipeline, "reading", reading)
    with pytest.raises(AssertionError):
        share_law(data, "exact")


def test_real_lr_is_cut_where_hr_is(data: Path) -> None:
    """The LR that is read is the file's window, under the same turn: HR reduced shows the same place."""
    recipe = ar.load(TEXT.format(inputs="inputs: {lr: {real: 1}}", degrade=f"  - {DEGRADE}\n", evaluation="[]")
                     .replace("  - GaussNoise: {target: lr, p: 0.5}\n", ""))  # fmt: skip
    for (_, i), sample in epochs_of(data, recipe).items():
        if i not in LACKING:
            darker = reduced(sample["hr"].numpy(), 4).astype(int) // 2
            assert np.abs(sample["lr"].numpy() - darker).max() <= 1


def test_the_share_is_what_was_said(data: Path) -> None:
    ds = ar.PairedImages(roots(data), mixed(0.3), seed=2, save_applied_params=True, samples_per_epoch=600)
    names = [choice(ds[i])[0] for i in range(600) if i % COUNT not in LACKING]
    assert abs(names.count("real") / len(names) - 0.3) < 0.07  # 3.2 standard deviations
    assert {choice(ds[k])[0] for k in LACKING} == {"Degrade"}
    assert choice(ds[0]) == choice(ds[0])


def test_scenes_without_lr_are_counted_once(data: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        ar.PairedImages(roots(data), mixed(0.3))
        assert "2 of 8 scenes have no lr" in caplog.text
        assert "0002.png first: Degrade makes it in all of their samples" in caplog.text
        ar.PairedImages({"hr": data / "HR"}, mixed(0.3))
        assert "8 of 8 scenes have no lr" in caplog.text


def test_what_is_there_must_fit(data: Path) -> None:
    save(data / "A" / "0001x4.png", reduced(scene(1), 2))
    with pytest.raises(ar.DataError, match=r"0001x4\.png.*this looks like ×2"):
        ar.PairedImages(roots(data), mixed(0.3))
    save(data / "A" / "0001x4.png", reduced(scene(1), 4))
    save(data / "A" / "0099x4.png", reduced(scene(1), 4))
    with pytest.raises(ar.DataError, match=r"0099x4\.png: no hr"):
        ar.PairedImages(roots(data), mixed(0.3))


def test_evaluation_makes_it_by_its_degrade_or_reads_it(data: Path) -> None:
    made = ar.PairedImages(roots(data), mixed(1.0), mode="eval")
    np.testing.assert_array_equal(made[0]["lr"].numpy(), reduced(scene(0), 4))
    with pytest.raises(ar.DataError, match=r"0002\.png: no lr"):
        ar.PairedImages(roots(data), mixed(1.0, "[]"), mode="eval")
    files = ar.PairedImages(roots(whole(data)), mixed(0.0, "[]"), mode="eval")
    np.testing.assert_array_equal(files[0]["lr"].numpy(), reduced(scene(0), 4) // 2)


def test_a_call_takes_lr_or_not() -> None:
    pipeline = mixed(1.0).compile(seed=3, save_applied_params=True)
    hr = scene(0)
    lr = reduced(hr, 4) // 2
    real, made, none = (
        pipeline.at(4)(**images) for images in ({"hr": hr, "lr": lr}, {"hr": hr}, {"hr": hr, "lr": None})
    )
    assert (choice(real)[0], choice(made)[0], choice(none)[0]) == ("real", "Degrade", "Degrade")
    np.testing.assert_array_equal(made["lr"], none["lr"])
    assert not np.array_equal(real["lr"], made["lr"])
    stages = [label for label, _ in pipeline.stages(4)(hr=hr, lr=lr)]
    assert not any("Degrade" in label for label in stages)
    with pytest.raises(ar.DataError, match="lr is made by Degrade and cannot be given"):
        mixed(None).compile().at(0)(hr=hr, lr=lr)


def test_a_transform_adds_what_a_degrade_makes() -> None:
    hr = scene(0)
    for recipe in (mixed(None), mixed(0.5)):
        found = recipe.transform()({"hr": hr, "name": "a"})
        assert (found["lr"].shape, found["hr"].shape, found["name"]) == ((8, 8, 3), (32, 32, 3), "a")


def same(one: dict, other: dict) -> bool:
    return all(torch.equal(one[name], other[name]) for name in ("lr", "hr"))


@pytest.mark.parametrize("share", [None, 0.5])
def test_loaders_workers_packed_and_saved_draws(data: Path, share: float | None) -> None:
    recipe = read() if share is None else mixed(share)
    versions = {"hr": data / "HR", "lr": whole(data) / "A", "lr_2": data / "B"} if share is None else {}
    where = versions or roots(data)
    ds = ar.PairedImages(where, recipe, seed=1)
    batches = [*ar.loader(ds, 4), *torch.utils.data.DataLoader(ds, batch_size=4, num_workers=2)]
    for batch in batches:
        for k, i in enumerate(batch["index"].tolist()):
            assert torch.equal(batch["lr"][k], ds[i]["lr"])
    saved = ar.PairedImages(where, recipe, seed=1, save_applied_params=True)
    assert all(same(saved[i], ds[i]) for i in range(COUNT))
    ar.pack(recipe, where, data / "store")
    packed = ar.Packed(data / "store", recipe, seed=1)
    assert all(same(packed[epoch, i], ds[epoch, i]) for epoch in range(3) for i in range(COUNT))
    (batch, _) = ar.loader(packed, 4)
    assert all(torch.equal(batch["lr"][k], ds[i]["lr"]) for k, i in enumerate(batch["index"].tolist()))
    ds.show(2)
    ds.show(2, stages=True)


def version_law(data: Path) -> None:
    """Folders by name and columns are the same; each version is drawn as often."""
    csv = whole(data) / "list.csv"
    rows = [f"HR/{k:04}.png,A/{k:04}x4.png,B/{k:04}x4m.jpg\n" for k in range(COUNT)]
    csv.write_text("hr,lr,lr_2\n" + "".join(rows))
    how = {"seed": 1, "save_applied_params": True, "samples_per_epoch": 400}
    forms = [
        ar.PairedImages({"hr": data / "HR", "lr": data / "A", "lr_2": data / "B"}, read(), **how),
        ar.PairedImages(files=csv, recipe=read(), **how),
    ]
    assert {ds.targets for ds in forms} == {("hr", "lr", "lr_2")}
    drawn = []
    for i in range(400):
        first, *others = (ds[i] for ds in forms) if i < COUNT else [forms[0][i]]
        assert all(same(first, other) for other in others)
        drawn.append(choice(first)[1]["version"])
    assert abs(drawn.count("lr_2") - 200) < 35  # 3.5 standard deviations
    for i in range(COUNT):
        alone = ar.PairedImages({"hr": data / "HR", "lr": data / ("B" if drawn[i] == "lr_2" else "A")}, read(), seed=1)
        assert same(alone[i], forms[0][i])


def test_versions_are_drawn_as_often(data: Path) -> None:
    version_law(data)


def test_a_version_that_is_never_drawn_is_seen(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = versions.Choices.of_sample
    monkeypatch.setattr(versions.Choices, "of_sample", lambda self, names: own(self, names) | {"lr": "lr"})
    with pytest.raises(AssertionError):
        version_law(data)


def test_a_choice_that_no_key_decides_is_seen(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = versions.Choices.of_sample

    def sharing(self, names):
        shared = random.Random(0)
        return own(versions.Choices(dict.fromkeys(self.draws, shared), self.shares, self.scales, True), names)

    monkeypatch.setattr(versions.Choices, "of_sample", sharing)
    with pytest.raises(AssertionError):
        version_law(data)


def test_evaluation_takes_the_first_version(data: Path) -> None:
    where = {"hr": data / "HR", "lr": whole(data) / "A", "lr_2": data / "B"}
    for ds in (ar.PairedImages(where, read(), mode="eval"), ar.PairedImages(where, read()).subset([0], mode="eval")):
        np.testing.assert_array_equal(ds[0]["lr"].numpy(), reduced(scene(0), 4) // 2)


def test_versions_are_real_lr_too(data: Path) -> None:
    """Scenes without one of them take another; with none at all HR is degraded."""
    (data / "B" / "0005x4m.jpg").unlink()
    ds = ar.PairedImages({**roots(data), "lr_2": data / "B"}, mixed(1.0), seed=1, save_applied_params=True,
                         samples_per_epoch=30 * COUNT)  # fmt: skip
    drawn = {i: {choice(ds[k * COUNT + i])[1].get("version", "") for k in range(30)} for i in range(COUNT)}
    assert drawn == {i: {2: {"lr_2"}, 5: {""}}.get(i, {"lr", "lr_2"}) for i in range(COUNT)}
    assert ds.paths(2) == {"hr": str(data / "HR" / "0002.png"), "lr_2": str(data / "B" / "0002x4m.jpg")}


def test_a_scene_that_lacks_a_version_is_named(data: Path) -> None:
    with pytest.raises(ar.DataError, match=r"0001\.png: no lr_2"):
        whole(data)
        (data / "B" / "0001x4m.jpg").unlink()
        ar.PairedImages({"hr": data / "HR", "lr": data / "A", "lr_2": data / "B"}, read())
    with pytest.raises(ar.DataError, match="no target is called 'lr_1'"):
        ar.PairedImages({**roots(data), "lr_1": data / "B"}, read())


def test_versions_in_one_folder_by_their_names(data: Path) -> None:
    for k in range(COUNT):
        for n in (1, 2):
            save(data / "W" / f"{k:04}x4w{n}.png", reduced(scene(k), 4) // (n + 1))
    where = {"hr": data / "HR", "lr": data / "W", "lr_2": data / "W"}
    ds = ar.PairedImages(where, read(), names={"lr": "{}x4w1", "lr_2": "{}x4w2"})
    assert [Path(path).name for path in ds.paths(1).values()] == ["0001.png", "0001x4w1.png", "0001x4w2.png"]


def test_a_list_of_folders_is_one_data_set(data: Path) -> None:
    for k in (6, 7):
        (data / "C").mkdir(exist_ok=True)
        (data / "A" / f"{k:04}x4.png").rename(data / "C" / f"{k:04}x4.png")
    scenes = pair({"hr": data / "HR", "lr": [data / "A", data / "C"]}, {"lr": 1, "hr": 4}, cache=False)
    assert (scenes.targets, len(scenes.scenes)) == (("hr", "lr"), COUNT - len(LACKING))


def test_a_csv_file_with_blanks(data: Path) -> None:
    csv = data / "list.csv"
    csv.write_text(
        "hr,lr\n" + "".join(f"HR/{k:04}.png,{'' if k in LACKING else f'A/{k:04}x4.png'}\n" for k in range(8))
    )
    listed, folders = (
        ar.PairedImages(files=csv, recipe=mixed(0.5), seed=1),
        ar.PairedImages(roots(data), mixed(0.5), seed=1),
    )
    assert all(same(listed[i], folders[i]) for i in range(COUNT))
    with pytest.raises(ar.DataError, match="no lr in this row"):
        ar.PairedImages(files=csv, recipe=read())
    csv.write_text("hr\n" + "".join(f"HR/{k:04}.png\n" for k in range(8)))
    assert len(ar.PairedImages(files=csv, recipe=mixed(0.5))) == COUNT


def test_samples_of_a_source_have_lr_or_not(data: Path) -> None:
    rows = [{"hr": scene(k), **({} if k in LACKING else {"lr": reduced(scene(k), 4) // 2})} for k in range(COUNT)]
    own, folders = ar.Samples(rows, mixed(0.5), seed=1), ar.PairedImages(roots(data), mixed(0.5), seed=1)
    assert all(same(own[i], folders[i]) for i in range(COUNT))


@pytest.mark.parametrize(("text", "message"), [
    ("inputs: {hr: {real: 0.3}}", "no Degrade in `steps` makes hr"),
    ("inputs: {lr: {real: 30}}", "must be between 0 and 1"),
    ("inputs: {image: {real: 0.3}}", "unknown key 'real'"),
    ("lr: {real: 0.3}", r"unknown key; what is said of a target's images stands in `inputs: \{lr: ...\}`"),
])  # fmt: skip
def test_where_it_may_not_stand(text: str, message: str) -> None:
    with pytest.raises(ar.RecipeError, match=message):
        ar.load(TEXT.format(inputs=text, degrade=f"  - {DEGRADE}\n", evaluation="[]"))
    with pytest.raises(ar.RecipeError, match=r"stands in `inputs: \{lr: \.\.\.\}`"):
        ar.load(TEXT.format(inputs="", degrade="", evaluation="[]").replace("{lr: 1,", "{lr: {real: 0.3},"))


def test_the_recipe_is_written_as_it_was_said() -> None:
    recipe = mixed(0.25)
    assert "inputs: {lr: {real: 0.25}}" in recipe.to_yaml()
    assert ar.load(recipe.to_yaml()) == recipe
    assert recipe.digest != mixed(None).digest
    assert "0.25 of the samples read it where there is a file" in str(explain(recipe).shared)
    assert "read it where" not in str(explain(recipe, mode="eval").shared)
