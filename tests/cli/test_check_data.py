"""`augrecipes check-data`: the report of PairedImages from the command line, and what pairs show."""

from __future__ import annotations

import json
import subprocess
import sys

import cv2
import numpy as np
import pytest

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
def folder(tmp_path, write):
    """Six scenes of 160 × 120 px, and their reductions."""
    write("x.yaml", RECIPE)
    for i in range(6):
        noise = np.random.default_rng(i).normal(size=(120, 160, 3)).astype(np.float32)
        broad, fine = (cv2.GaussianBlur(noise, (0, 0), sigma) for sigma in (12, 3))
        image = np.clip(120 + 30 * broad / broad.std() + 30 * fine / fine.std(), 0, 255).astype(np.uint8)
        for path, picture in ((f"HR/{i}.png", image), (f"X4/{i}x4.png", cv2.resize(image, (40, 30), interpolation=3))):
            write(path, cv2.imencode(".png", picture)[1].tobytes())
    return tmp_path


def test_clean_data_is_status_0(run, folder):
    result = run("check-data", "x.yaml", "hr=HR", "lr=X4", "--content")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "hr        6 files",
        "lr        6 files",
        "6 scenes, all fine",
    ]


def test_defects_are_status_1_and_all_told(run, folder):
    (folder / "X4/1x4.png").unlink()
    (folder / "HR/2.png").write_bytes(b"no picture")
    result = run("check-data", "x.yaml", "hr=HR", "lr=X4")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[2:] == [
        "2 defects in the files of hr and lr; 4 scenes are fine",
        "no partner: 1",
        "  HR/1.png: no lr",
        "files that cannot be read: 1",
        "  HR/2.png: not an image in a known format (JPEG, PNG, TIFF, BMP, WebP, GIF, PNM, JPEG 2000, AVIF, "
        "NumPy's .npy) (hr of X4/2x4.png)",
    ]


def test_content_finds_what_headers_do_not(run, folder):
    (folder / "X4/0x4.png").rename(folder / "X4/t.png")
    (folder / "X4/1x4.png").rename(folder / "X4/0x4.png")
    (folder / "X4/t.png").rename(folder / "X4/1x4.png")
    small = cv2.imread(str(folder / "X4/3x4.png"))
    cv2.imwrite(str(folder / "X4/3x4.png"), np.roll(small, 1, axis=0))
    assert run("check-data", "x.yaml", "hr=HR", "lr=X4").exit_code == 0
    result = run("check-data", "x.yaml", "hr=HR", "lr=X4", "--content")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[2:] == [
        "3 defects in the files of hr and lr; 3 scenes are fine",
        "images that do not show the same: 3",
        "  HR/0.png and X4/0x4.png: they do not look like one scene (correlation 0.03)",
        "  HR/1.png and X4/1x4.png: they do not look like one scene (correlation 0.03)",
        "  HR/3.png and X4/3x4.png: shifted by 1 px down",
    ]


def test_json(run, folder):
    (folder / "X4/1x4.png").unlink()
    told = json.loads(run("check-data", "x.yaml", "hr=HR", "lr=X4", "--json").stdout)
    assert told == {
        "targets": {"hr": 6, "lr": 5},
        "fine": 5,
        "kind": "pair",
        "content": False,
        "notes": [],
        "defects": [{"kind": "missing", "files": ["HR/1.png"], "message": "HR/1.png: no lr"}],
        "cropped": [],
    }


def test_templates_lists_of_folders_and_csv_files(run, folder, write):
    (folder / "X4").rename(folder / "low")
    assert run("check-data", "x.yaml", "hr=HR", "lr=low", "--names", "lr={}x4").exit_code == 0
    assert run("check-data", "x.yaml", "hr=HR", "lr=low", "--names", "lr={}x2").exit_code == 1
    write("pairs.csv", "hr,lr,split\nHR/1.png,low/1x4.png,a\nHR/2.png,low/none.png,b\n")
    assert run("check-data", "x.yaml", "pairs.csv", "--split", "a").exit_code == 0
    result = run("check-data", "x.yaml", "pairs.csv")
    assert result.exit_code == 1
    assert "low/none.png: no such file" in result.stdout


def test_torch_is_not_needed(folder):
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
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
