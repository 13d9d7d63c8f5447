"""`augrecipes check-data`: the report of PairedImages from the command line, and what pairs show."""

from __future__ import annotations

import json

import cv2
import numpy as np
import pytest
from support.folders import reduced, save, scene

RECIPE = """
version: 1
recipe: pairs
kind: pair
scales: {lr: 1, hr: 4}
steps:
  - RandomCrop: {height: 8, width: 8, at: lr}
eval: []
"""


@pytest.fixture
def check(run, write, tmp_path):
    """Run `augrecipes check-data x.yaml WORDS` over six scenes and their reductions: its result."""
    write("x.yaml", RECIPE)
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
    assert json.loads(check("hr=HR lr=X4 --json").stdout) == {
        "targets": {"hr": 6, "lr": 5},
        "fine": 5,
        "kind": "pair",
        "content": False,
        "notes": [],
        "defects": [{"kind": "missing", "files": ["HR/1.png"], "message": "HR/1.png: no lr"}],
        "cropped": [],
    }
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


def test_templates_and_csv_files(check, tmp_path, write):
    (tmp_path / "X4").rename(tmp_path / "low")
    assert check("hr=HR lr=low --names lr={}x4").exit_code == 0
    assert check("hr=HR lr=low --names lr={}x2").exit_code == 1
    write("pairs.csv", "hr,lr,split\nHR/1.png,low/1x4.png,a\nHR/2.png,low/none.png,b\n")
    assert check("pairs.csv --split a").exit_code == 0
    result = check("pairs.csv")
    assert (result.exit_code, "low/none.png: no such file" in result.stdout) == (1, True)


def test_torch_is_not_needed(check, process):
    script = (
        "import sys\n"
        "import augrecipes.progress as progress\n"
        "progress.QUIET = float('inf')\n"
        "from augrecipes.cli import main\n"
        "try:\n"
        "    main(['check-data', 'x.yaml', 'hr=HR', 'lr=X4', '--content'])\n"
        "except SystemExit as end:\n"
        "    assert end.code == 0\n"
        "assert not {'torch', 'rich.progress'} & set(sys.modules)\n"
    )
    done = process("-c", script)
    assert (done.returncode, done.stderr) == (0, "")
