"""What commands find in data: `check-data` of pairs, `explain` with an image, and `verify`."""

import json
import re

import cv2
import numpy as np
import pytest
from support.checks import rows
from support.folders import draw, reduced, save, scene

import augrecipes as ar
from augrecipes.compiler.rewrite.rule import Edit, Rule
from augrecipes.compiler.rewrite.rules import RULES
from augrecipes.preview import sheet_of
from augrecipes.preview.rows import SheetRequest

PAIRS = """{version: 1, recipe: pairs, kind: pair, scales: {lr: 1, hr: 4}, eval: [],
steps: [RandomCrop: {height: 8, width: 8, at: lr}]}
"""


@pytest.fixture
def check(run, write, tmp_path):
    """Run `augrecipes check-data x.yaml WORDS` over six scenes and their reductions: its result."""
    write("x.yaml", PAIRS)
    for i in range(6):
        image = scene(i, (120, 160))
        save(tmp_path / f"HR/{i}.png", image)
        save(tmp_path / f"X4/{i}x4.png", reduced(image, 4))
    return lambda words="hr=HR lr=X4": run("check-data", "x.yaml", *words.split())


def test_clean_data_is_status_0(check):
    result = check("hr=HR lr=X4 --content")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == ["hr        6 files", "lr        6 files", "6 scenes, all fine"]


def test_defects_are_status_1_and_all_listed(check, tmp_path):
    (tmp_path / "X4/1x4.png").unlink()
    report = json.loads(check("hr=HR lr=X4 --json").stdout)
    assert report.pop("defects") == [{"kind": "missing", "files": ["HR/1.png"], "message": "HR/1.png: no lr"}]
    counts = {"kind": "pair", "targets": {"hr": 6, "lr": 5}, "fine": 5, "content": False}
    assert report == counts | {"notes": [], "cropped": []}
    (tmp_path / "HR/2.png").write_bytes(b"no image")
    result = check()
    assert result.exit_code == 1
    assert result.stdout.splitlines()[2:] == [
        "2 defects in the files of hr and lr; 4 scenes are fine",
        "no partner: 1",
        "  HR/1.png: no lr",
        "files that cannot be read: 1",
        "  HR/2.png: not an image in a known format (JPEG, PNG, TIFF, BMP, WebP, GIF, PNM, JPEG 2000, AVIF, "
        "NumPy's .npy) (hr of X4/2x4.png)",
    ]


@pytest.mark.parametrize(("step", "classes", "noted"), rows(__file__, "ignored_pixels"))
def test_masks_with_ignored_pixels_that_a_recipe_fills_with_a_class(run, write, tmp_path, step, classes, noted):
    write("x.yaml", f"{{version: 1, recipe: t, steps: [{{{step}}}], eval: []}}")
    for i in range(40):
        save(tmp_path / f"images/{i}.png", scene(i, (40, 50)))
        mask = np.full((40, 50), 255 * (i > 30), np.uint8)
        mask[3, 4] = 2 * classes
        save(tmp_path / f"masks/{i}.png", mask)
    checked = run("check-data", "x.yaml", "images", "--masks", "masks")
    assert checked.exit_code == 0, checked.output
    assert ("masks hold 255" in checked.stdout) is noted
    request = SheetRequest("images", 4, 2, masks="masks")
    assert ["get class 0 from Rotate" in line for line in sheet_of(ar.load("x.yaml"), request).footers] == [
        True
    ] * noted


def test_content_finds_what_headers_do_not(check, tmp_path):
    (tmp_path / "X4/0x4.png").rename(tmp_path / "X4/t.png")
    (tmp_path / "X4/1x4.png").rename(tmp_path / "X4/0x4.png")
    (tmp_path / "X4/t.png").rename(tmp_path / "X4/1x4.png")
    small = cv2.imread(str(tmp_path / "X4/3x4.png"))
    cv2.imwrite(str(tmp_path / "X4/3x4.png"), np.roll(small, 1, axis=0))
    assert check().exit_code == 0
    result = check("hr=HR lr=X4 --content")
    assert result.exit_code == 1
    count, title, *lines = result.stdout.splitlines()[2:]
    assert count == "3 defects in the files of hr and lr; 3 scenes are fine"
    assert title == "images that do not show the same: 3"
    assert [line.partition(" (")[0] for line in lines] == [
        "  HR/0.png and X4/0x4.png: they do not look like one scene",
        "  HR/1.png and X4/1x4.png: they do not look like one scene",
        "  HR/3.png and X4/3x4.png: shifted by 1 px down",
    ]


def test_torch_is_not_needed(check, process):
    script = """
import sys
from augrecipes import progress
from augrecipes.cli import main
progress.QUIET = float("inf")
try:
    main(["check-data", "x.yaml", "hr=HR", "lr=X4", "--content"])
except SystemExit as end:
    assert end.code == 0
assert not {"torch", "rich.progress"} & set(sys.modules)
"""
    done = process("-c", script)
    assert (done.returncode, done.stderr) == (0, "")


RECIPE = """version: 1
recipe: tiny
steps:
  - Rotate: {limit: 20, border_mode: reflect_101, p: 1.0}
  - RandomCrop: {height: 48, width: 48}
  - HorizontalFlip
  - RandomBrightnessContrast
eval:
  - CenterCrop: {height: 48, width: 48}
"""


@pytest.fixture
def explain(finish, tmp_path):
    """Run `augrecipes explain WORDS --seconds 0.02`: what it prints. There are `a.png`, `lr.png` and `hr.png`."""
    for name, size in (("a", (90, 120)), ("lr", (60, 80)), ("hr", (240, 320))):
        draw(tmp_path / f"{name}.png", 0, size)
    return lambda words: finish(f"explain {words} --seconds 0.02")


def numbers(text: str, what: str) -> list[float]:
    return [float(found) for found in re.findall(rf"^  {what} .*?([0-9]+\.[0-9]{{3}})", text, re.MULTILINE)]


def test_times_stand_next_to_the_steps(explain):
    text = explain("folder-128 a.png")
    assert "measured: a.png, 90×120 px, one thread, " in text
    assert re.search(r"^ratio: [0-9.]+ ± [0-9.]+, [0-9.]+ ms as written, [0-9.]+ ms as planned$", text, re.MULTILINE)
    for what in ("output conversion", "overhead", "total", "SmallestMaxSize#1", "RandomCrop#1"):
        assert len(numbers(text, what)) == 2, what  # as written, and as planned
    assert max(map(len, text.splitlines())) <= 120
    assert min(numbers(text, "total")) > 0
    assert "ms" not in explain("folder-128").split()


def test_the_numbers_of_an_epoch_are_explained(finish, tmp_path):
    rotate = "Rotate: {limit: {from: 0, to: 30, epochs: 20}, p: {by_epoch: [0, 1]}}"
    (tmp_path / "grows.yaml").write_text(f"version: 1\nrecipe: grows\nsteps: [{rotate}]\neval: []\n")
    assert "limit: 0 to 30 in 20 epochs" in finish("explain grows.yaml")
    assert "limit: 15.0" in finish("explain grows.yaml --epoch 10")


def test_times_of_steps_add_up(explain):
    report = json.loads(explain("folder-128 a.png --json --optimize none"))
    rest = report["timing"]["before"]
    assert sum(row["ms"] for row in report["steps"]) + rest["sink"] + rest["overhead"] == pytest.approx(rest["whole"])
    assert (report["timing"]["what"], report["optimize"]) == ("a.png, 90×120 px", "none")


def test_pairs_and_bags_are_timed(explain):
    assert len(numbers(explain("sr-x4 hr=hr.png lr=lr.png"), "D4#1")) >= 1
    assert numbers(explain("stained-tissue-bag hr.png"), "StainJitter#1")


def test_what_fast_keeps_is_said_where_a_recipe_chooses_it(explain):
    said = "optimize: fast (keeps the contracts below; augrecipes verify measures how far)"
    assert said in explain("stained-tissue").splitlines()
    assert "optimize: exact" in explain("stained-tissue --optimize exact").splitlines()
    assert json.loads(explain("stained-tissue --json"))["optimize"] == "fast"


def test_the_plan_says_by_what_each_step_runs() -> None:
    steps = "[Rotate, {OneOf: {steps: [{InvertImg: {p: 1}}, {RandomRain: {p: 1}}]}}, RandomSunFlare, FancyPCA]"
    recipe = ar.load(f"version: 1\nrecipe: mixed\nsteps: {steps}\neval: []\n")
    assert {row.runs for row in ar.explain(recipe, optimize="none").plan} == {"albumentations"}
    explained = ar.explain(recipe, optimize="exact")
    runs = {row.step: row.runs for row in explained.plan}
    if explained.native.startswith("yes"):  # where kernels are in use
        why = "albumentations: no kernel does what it does"
        assert runs == {
            "Rotate#1": "native", "OneOf#1": f"OneOf#1/InvertImg#1 native; OneOf#1/RandomRain#1 {why}",
            "RandomSunFlare#1": why, "FancyPCA#1": why,
        }  # fmt: skip
        foreign = {"OneOf#1/RandomRain#1", "RandomSunFlare#1", "FancyPCA#1"}
        assert all(label in explained.native for label in foreign)
    else:
        assert "native" not in "".join(runs.values())


@pytest.fixture
def verify(run, write, photos):
    """Run `augrecipes verify tiny.yaml --data photos WORDS`: its result."""
    write("tiny.yaml", RECIPE)
    return lambda words: run("verify", "tiny.yaml", "--data", photos, *words.split())


@pytest.mark.parametrize("optimize", ["none", "exact"])
def test_every_contract_holds(verify, optimize):
    result = verify(f"--samples 4 --optimize {optimize}")
    assert result.exit_code == 0, result.output
    assert "contract: EXACT" in result.stdout
    assert "every contract holds on 4 samples" in result.stdout


@pytest.mark.parametrize(("contract", "law"), [("EXACT", "levels"), ("GEOMETRY", "content")])
def test_a_broken_contract_is_status_1(verify, tmp_path, monkeypatch, contract, law):
    """A rule of the optimiser forgets the rotation."""

    def forget(steps, flow):
        del flow
        return [Edit(place, place + 1, ()) for place, step in enumerate(steps) if step.name == "Rotate"]

    monkeypatch.setitem(RULES, "fast", (Rule("forget_turns", "", contract, "", "", forget),))
    result = verify("--samples 3 -o out/worst.png")
    assert result.exit_code == 1
    assert f"broken: {law} of image: 3 of 3 samples; " in result.stdout
    assert ("Hard edges, aliasing and labels" in " ".join(result.stdout.split())) == (contract == "GEOMETRY")
    assert re.search(rf"contract: {contract}\b.* · forget_turns", result.stdout)
    assert result.stdout.splitlines()[-1] == "out/worst.png"
    assert cv2.imdecode(np.fromfile(tmp_path / "out/worst.png", np.uint8), cv2.IMREAD_COLOR).shape[2] == 3
    lines = re.search(r"the worst sample again:\n((?:.*\n){3})", result.stdout)
    space: dict = {}
    exec(lines[1], space)
    assert np.abs(space["again"].plain["image"] - space["again"].fast["image"]).max() > 0


def test_verify_as_json(verify):
    how = "--samples 2 --optimize exact --json --set RandomCrop.height=40"
    report = json.loads(verify(how).stdout)
    assert (report["ok"], report["samples"], report["contract"], report["optimize"]) == (True, 2, "EXACT", "exact")
    (figure,) = [figure for figure in report["figures"] if figure["law"] == "levels"]
    assert (figure["worst"], figure["limit"], figure["target"]) == (0.0, 0.0, "image")
    assert len(report["worst"]) == 2
    assert "overrides={'RandomCrop.height': 40}" in report["replay"]


def test_infinite_figures_are_json(verify, monkeypatch):
    from augrecipes.verify import compare

    monkeypatch.setattr(compare.np, "array_equal", lambda *a, **k: False)
    monkeypatch.setattr(compare, "levels_of", lambda image, output: np.full((2, 2, 1), np.nan, np.float32))
    result = verify("--samples 1 --json")
    assert result.exit_code == 1
    json.loads(result.stdout, parse_constant=pytest.fail)


FLIPS = "{version: 1, recipe: flips, steps: [RandomCrop: {height: 20, width: 20}, HorizontalFlip], eval: []}"
MASKED = "{version: 1, recipe: masked, inputs: {mask: required}, steps: [], eval: []}"


@pytest.fixture
def mirrored(write, tmp_path):
    """Two classes, of which one is the other mirrored, and masks of a spot in a corner; two recipes."""
    write("flips.yaml", FLIPS)
    write("masked.yaml", MASKED)
    for k in range(8):
        image = np.random.default_rng(k).integers(0, 40, (40, 40, 3), dtype=np.uint8)
        image[5:35, 4:12], image[25:35, 12:30] = 220, 220
        mask = np.zeros((40, 40), np.uint8)
        mask[:4, :4] = 1
        save(tmp_path / f"letters/left/{k}.png", image)
        save(tmp_path / f"letters/right/{k}.png", image[:, ::-1])
        for name in ("left", "right"):
            save(tmp_path / f"masks/{name}/{k}.png", mask)


def test_a_recipe_is_judged_by_what_it_does_to_labels(mirrored, finish, tmp_path):
    forms = ("check-data --recipe flips.yaml letters", "check-data letters --recipe flips.yaml")
    texts = [finish(line) for line in (*forms, "check-data --recipe flips.yaml --data letters")]
    assert len({*texts}) == 1
    assert "flipped left to right" in texts[0]
    assert "left → right" in texts[0]
    assert "16 images, all fine" in texts[0]
    report = json.loads(finish("check-data letters --recipe flips.yaml --samples 10 --json"))["labels"]
    assert (report["recipe"], report["samples"], report["total"]) == ("flips", 10, 16)
    assert "labels" not in json.loads(finish("check-data flips.yaml letters --json"))
    finish("check-data letters --recipe flips.yaml -o sheets/labels.png --json out.json")
    assert cv2.imread(str(tmp_path / "sheets/labels.png")).shape[1] > 300
    assert json.loads((tmp_path / "out.json").read_text())["labels"]["findings"]
    still = finish("check-data letters --recipe flips.yaml --without HorizontalFlip --set RandomCrop.height=10")
    assert "no draw mirrors" in still


def test_files_are_read_by_one_recipe_and_judged_by_another(mirrored, run):
    line = "check-data flips.yaml letters --masks masks --recipe masked.yaml --json"
    report = json.loads(run(*line.split()).stdout)
    assert report["targets"] == {"image": 16, "mask": 16}
    assert report["labels"]["recipe"] == "masked"
    assert [each["what"] for each in report["labels"]["findings"] if each["topic"] == "objects"] == ["mask"]


def test_defects_and_pairs_have_their_status(mirrored, check, run, tmp_path):
    pairs = run(*["check-data", "hr=HR", "lr=X4", "--recipe", "x.yaml", "-o", "none.png"])
    assert (pairs.exit_code, "a pair has no object" in " ".join(pairs.stdout.split())) == (0, True)
    assert not (tmp_path / "none.png").exists()
    (tmp_path / "fails.yaml").write_text("version: 1\nrecipe: fails\nsteps: [MaskDropout]\neval: []\n")
    failed = run(
        *["check-data", "letters", "--recipe", "fails.yaml", "--json", "wide.json"]
    )  # no sample can be drawn: the files are told of all the same
    assert (failed.exit_code, "missing keys" in failed.stderr) == (0, True)
    assert "missing keys" in json.loads((tmp_path / "wide.json").read_text())["labels"]["left_out"][0]
    assert json.loads((tmp_path / "wide.json").read_text())["fine"] == 16
    (tmp_path / "letters/left/0.png").write_bytes(b"no image")
    result = run(*["check-data", "letters", "--recipe", "flips.yaml"])
    assert (result.exit_code, "15 of 16 samples" in result.stdout) == (1, True)
    for line, words in {
        "check-data": "Missing argument RECIPE",
        "check-data --recipe flips.yaml": "which data?",
        "check-data flips.yaml letters -o x.png": "--recipe",
        "check-data letters --recipe flips.yaml -o x.gif": "x.gif",
        "check-data letters --recipe flips.yaml --samples 0": "--samples",
        "check-data letters --recipe missing.yaml": "missing.yaml",
    }.items():
        refused = run(*line.split())
        assert (refused.exit_code, words in refused.stderr) == (2, True), refused.output
