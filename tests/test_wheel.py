"""What is installed: the wheel brings everything that a checkout has, and works outside of one."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent


def _wheel(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "wheel", str(ROOT), "--no-deps", "--quiet", "--wheel-dir", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = folder.glob("augrecipes-*.whl")
    return wheel


@pytest.mark.soak
def test_the_wheel_is_whole_and_works_outside_a_checkout(tmp_path: Path) -> None:
    wheel = _wheel(tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    wanted = {f"augrecipes/{f.relative_to(ROOT / 'augrecipes')}" for f in (ROOT / "augrecipes").rglob("*.py")}
    shipped = ("py.typed", "schema/recipe.schema.json", "native/ops.def", "CODES.md")
    wanted |= {f"augrecipes/{name}" for name in shipped}
    templates = Path("augrecipes/bench/report/templates")
    wanted |= {str(templates / file.name) for file in (ROOT / templates).iterdir()}
    wanted |= {f"augrecipes/gallery/{f.name}" for f in (ROOT / "recipes").glob("*.yaml")}
    assert wanted <= held
    assert not [name for name in held if name.startswith(("tests/", "benchmarks/")) or "__pycache__" in name]

    # The packages of this environment, and augrecipes from the wheel alone.
    venv.create(tmp_path / "v", with_pip=False, symlinks=True)
    (site,) = (tmp_path / "v").glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    (site / "others.pth").write_text(f"{Path(yaml.__file__).parent.parent}\n", encoding="utf-8")
    (python,) = (tmp_path / "v").glob("bin/python")
    program = "import augrecipes, sys; from augrecipes.cli import main; print(augrecipes.__file__); main(sys.argv[1:])"
    for arguments in (["list"], ["check", "stained-tissue"], ["check", "--explain", "L101"], ["schema"]):
        done = subprocess.run(
            [python, "-c", program, *arguments], cwd=tmp_path, env={}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(str(site))
