"""`--plugin FILE`: classes that a file of the user's registers are steps for the commands; it runs only when named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FILE = """
import albumentations as A
import augrecipes as ar


@ar.register
class PaintItBlack(A.ImageOnlyTransform):
    def apply(self, img, **params):
        return img * 0


print("it ran")
"""
RECIPE = "version: 1\nrecipe: dark\nsteps:\n  - PaintItBlack: {p: 1.0}\neval: []\n"


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "augrecipes", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_a_file_is_run_where_it_is_named_and_only_there(tmp_path: Path) -> None:
    (tmp_path / "own_steps.py").write_text(FILE)
    (tmp_path / "dark.yaml").write_text(RECIPE)
    unasked = run(tmp_path, "check", "dark.yaml")
    assert (unasked.returncode, "it ran" in unasked.stdout, "PaintItBlack" in unasked.stdout) == (2, False, True)
    asked = run(tmp_path, "--plugin", "own_steps.py", "check", "dark.yaml")
    assert (asked.returncode, "it ran" in asked.stdout) == (0, True), asked.stdout + asked.stderr
    absent = run(tmp_path, "--plugin", "absent.py", "check", "dark.yaml")
    assert (absent.returncode, "absent.py" in absent.stderr) == (2, True)
