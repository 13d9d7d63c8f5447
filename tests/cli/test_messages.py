"""What cannot be done is said in a line, by whichever command, with exit status 2: one table."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from support.folders import draw_waves

CROP = """version: 1
recipe: crop
steps: [RandomCrop: {height: 48, width: 40}, HorizontalFlip]
eval: [CenterCrop: {height: 48, width: 40}]
"""
RECIPES = {
    "crop": CROP,
    "plain": "{version: 1, recipe: plain, steps: [HorizontalFlip]}",
    "pair": "{version: 1, recipe: pair, kind: pair, scales: {lr: 1, hr: 4}, steps: [HorizontalFlip], eval: []}",
    "bag": "{version: 1, recipe: bag, kind: bag, eval: [], steps: [HorizontalFlip]}",
    "lint": "{version: 1, recipe: lint, eval: [HorizontalFlip], steps: []}",
}
TRAIN = "from torch import nn\nmodel = nn.Conv2d(3, 4, 3, stride=8)\n"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with recipes, images, pairs, and a model; no command may change it."""
    folder = tmp_path_factory.mktemp("desk")
    for name, text in RECIPES.items():
        (folder / f"{name}.yaml").write_text(text)
    (folder / "train.py").write_text(TRAIN)
    (folder / "wrong.py").write_text(TRAIN.replace("3, 4", "7, 4"))
    for name in ("photos", "HR"):
        draw_waves(folder / name, count=2)
    draw_waves(folder / "X4", count=2, size=(20, 25))
    return folder


QUICK = "--seconds 0.01 --samples 4 --batch-size 4 --no-effects"
# The words that each line begins with, and those that it ends with.
LINES = {
    "check-data": ("check-data", ""),
    "pair": ("check-data pair.yaml hr=HR", ""),
    "explain": ("explain", "--seconds 0.01"),
    "diff": ("diff crop.yaml", ""),
    "verify": ("verify crop.yaml", ""),
    "pack": ("pack", ""),
    "photos": ("pack folder-128 --data photos --out store", "--workers 0"),
    "bench": ("bench crop.yaml --data photos --optimize exact", QUICK),
}
MESSAGES = [
    ("check-data pair.yaml", "which data?"),
    ("check-data pair.yaml HR X4", "each folder needs its target"),
    ("pair", "no folder was given for lr"),
    ("pair lr=nowhere", "no such folder"),
    ("pair lr=X4 gt=HR", "no target is called 'gt'"),
    ("pair lr=X4 --names lr=x4", "a template holds {} once"),
    ("pair lr=X4 --format xml", "--format"),
    ("explain folder-128 a.txt", "no such file"),
    ("explain folder-128 hr=HR/0.png lr=X4/0.png", "is of kind image"),
    ("explain sr-x4 HR/0.png", "no folder was given for"),
    ("explain sr-x4 hr=HR/0.png", "no folder was given for lr"),
    ("explain sr-x4 hr=X4/0.png lr=HR/0.png", "at scales 1:4"),
    ("explain folder-128 --mode test", "--mode"),
    ("explain folder-128 --optimize best", "--optimize"),
    ("explain folder-128 --set x", "--set"),
    ("diff plain.yaml --data photos -o grid.gif", "grid.gif"),
    ("diff plain.yaml --mode test", "'test' is not one of"),
    ("diff plain.yaml --optimize best", "'best' is not one of"),
    ("diff plain.yaml --set RandomCrop.height=4", "RandomCrop"),
    ("diff bag.yaml --data photos", "of kind"),
    ("diff lint.yaml --data photos", "L101"),
    ("diff plain.yaml --data photos --mode eval", "no `eval:` section"),
    ("verify", "which data?"),
    ("verify --data photos -o worst.gif", "worst.gif"),
    ("verify --data photos --optimize best", "'best' is not one of"),
    ("verify --data photos --mode test", "'test' is not one of"),
    ("verify --data photos --samples 0", "--samples"),
    ("verify --data photos --dtype float64", "'float64' is not one of"),
    ("verify --data photos --set RandomCrop.height=4000", "no sample of"),
    ("pack", "which recipe? Give one, or --merge DIR"),
    ("pack folder-128", "where to?"),
    ("pack folder-128 --merge parts", "takes parts as they are, without 'folder-128'"),
    ("pack --merge parts --dry-run", "takes parts as they are, without '--dry-run'"),
    ("pack --merge parts --epochs 2", "without '--epochs'"),
    ("pack --merge parts --out store", "leave it out, and move parts when that is done"),
    ("photos --through HorizontalFlip", "draws anew for every sample"),
    ("photos --format png", "'png' is not one of raw, lossless, jpeg, hdf5"),
    ("photos --mode test", "'test' is not one of train, eval"),
    ("photos --on-error stop", "'stop' is not one of skip, raise"),
    ("photos --data b", "each folder needs its target"),
    ("photos --epochs 0", "greater than or equal to 1"),
    ("photos --part 3/2", "give a part as i/n, from 1/2 to 2/2"),
    ("photos --shard-size much", "such as 2G"),
    ("photos --shard-size 2G --format hdf5", "hdf5 is one file a target"),
    ("photos --address auto", "goes with --engine ray"),
    ("photos --parts 3", "goes with --engine"),
    ("photos --engine slurm", "ray"),
    ("bench --fail-if-slower fast", "no share"),
    ("bench --optimize quick", "'quick' is not one of"),
    ("bench --against torchvision", "not one of stock"),
    ("bench --baseline absent.json", "absent.json: No such file"),
    ("bench -o crop.yaml", "crop.yaml is a file"),
    ("bench sr-x2", "of kind"),
    ("bench --workers 0,x", "'x' is no whole number from 0 to 256; numbers with commas between them"),
    ("bench --workers -1", "'-1' is no whole number"),
    ("bench --workers ''", "'' is no whole number"),
    ("bench --workers 1,", "'' is no whole number"),
    ("bench --workers 2,1,2", "names a number twice"),
    ("bench --workers 1,100000", "no whole number from 0 to 256"),
    ("bench --workers 1 --sizes 0", "'0' is no whole number from 1"),
    ("bench --sizes 100", "which --workers asks for"),
    ("bench --train-step absent.py", "error: absent.py: no such file"),
    ("bench --train-step train.py:net", "error: train.py: there is no net in it, but model: say train.py:model"),
    ("bench --train-step train.py --device gpu", "error: --device is cpu, cuda or cuda:N, not 'gpu'"),
    ("bench --train-step 20 --device cpu", "milliseconds are waited for on no device"),
    ("bench --device cpu", "is where the model of --train-step FILE.py is trained"),
    ("bench --train-step 0", "milliseconds a batch are more than 0"),
    ("bench --train-step wrong.py", "the model fails on a batch of crop (image float32 4×3×48×40, index, path): Runt"),
]


@pytest.mark.parametrize(("line", "said"), MESSAGES, ids=[line for line, _ in MESSAGES])
def test_what_cannot_be_done_is_said(
    line: str, said: str, desk: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = sorted(desk.rglob("*"))
    first, _, rest = line.partition(" ")
    begin, end = LINES[first]
    done = run(*shlex.split(f"{begin} {rest} {end}"))
    assert done.exit_code == 2, done.output
    assert said in " ".join(done.output.replace("│", " ").split()), done.output
    assert [path for path in sorted(desk.rglob("*")) if path.suffix != ".pyc" and path.name != "__pycache__"] == before
