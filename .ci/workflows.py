"""Run a job of .github/workflows here: `python .ci/workflows.py JOB [--set NAME=VALUE]... [--env NAME=VALUE]...`.

Its commands run in a new clone of the last commit, each with its status and time, up to the first that fails. Without
JOB the jobs are listed. Actions are left out: for setup-python there is a new environment of the Python that runs this.
So is what installs into the system, unless `--system` asks for it, and what runs under a condition on anything but the
matrix, of which the first of each list is taken, unless --set says which. Needs PyYAML.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent
SYSTEM = re.compile(r"\b(apt-get|brew|choco)\b")


def jobs() -> dict[str, dict[str, Any]]:
    """Every job of every workflow by its name, with the variables of its workflow."""
    found: dict[str, dict[str, Any]] = {}
    for file in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        workflow = yaml.safe_load(file.read_text(encoding="utf-8"))
        for name, job in workflow["jobs"].items():
            if name in found:
                raise ValueError(f"{file.name}: another workflow has a job {name}, too: give it another name")
            found[name] = job | {"env": workflow.get("env", {}) | job.get("env", {})}
    return found


def matrix(job: dict[str, Any], chosen: dict[str, str]) -> dict[str, str]:
    """The values of a job's matrix: what was chosen, and else the first of each list."""
    listed = job.get("strategy", {}).get("matrix", {})
    values = {name: str(each[0]) for name, each in listed.items() if name != "include"} | chosen
    for more in listed.get("include", []):
        if all(values.get(name, value) == value for name, value in more.items()):
            values |= more
    return values


def filled(text: str, values: dict[str, str]) -> str:
    """A text with what it takes from the matrix."""
    return re.sub(r"\$\{\{ matrix\.(\w+) \}\}", lambda found: values.get(found[1], ""), text)


def why_not(step: dict[str, Any], values: dict[str, str], system: bool = False) -> str:
    """Why a step does not run here; empty: it does."""
    if "run" not in step:
        return "an action"
    if SYSTEM.search(step["run"]) and not system:
        return "--system runs it"
    if condition := step.get("if", ""):
        found = re.fullmatch(r"matrix\.(\w+)(?: == '(.*)')?", condition)
        holds = found and (values.get(found[1]) == found[2] if found[2] else found[1] in values)
        return "" if holds else f"if {condition}"
    return ""


def commands(job: dict[str, Any], values: dict[str, str], system: bool = False) -> list[tuple[str, dict[str, str]]]:
    """What a job runs here: scripts, each with the variables that it asks for."""
    steps = [(step["run"], step.get("env", {})) for step in job["steps"] if not why_not(step, values, system)]
    given = [(script, (job["env"] | own).items()) for script, own in steps]
    return [(filled(script, values), {n: filled(str(v), values) for n, v in asked}) for script, asked in given]


def go_through(listed: list[tuple[str, dict[str, str]]], over: dict[str, str], place: Path) -> bool:
    """Run scripts in a new clone below `place`, and tell of each; whether all of them passed."""
    clone, python, named = place / "clone", place / "python", place / "env"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    subprocess.run([sys.executable, "-m", "venv", str(python)], check=True)
    path = f"{python / ('Scripts' if sys.platform == 'win32' else 'bin')}{os.pathsep}{os.environ['PATH']}"
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    for script, asked in listed:
        # What a step writes to this file are variables of those that follow.
        later = dict(line.split("=", 1) for line in named.read_text().splitlines()) if named.exists() else {}
        environment = kept | asked | later | over | {"PATH": path, "GITHUB_ENV": str(named)}
        began = time.monotonic()
        bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        done = subprocess.run(bash, cwd=clone, env=environment, capture_output=True, text=True, check=False)
        took = f"{'failed' if done.returncode else 'ok':<8}{time.monotonic() - began:6.0f} s"
        sys.stdout.write(f"{took}  {'; '.join(script.splitlines())}\n")
        sys.stdout.flush()
        if done.returncode:
            sys.stdout.write(f"\n{(done.stdout + done.stderr)[-8000:].strip()}\n")
            return False
    return True


def main() -> None:
    """List jobs, or run one."""
    listed, parser = jobs(), argparse.ArgumentParser(description=__doc__)
    parser.add_argument("job", nargs="?", choices=sorted(listed), metavar="JOB")
    parser.add_argument("--set", action="append", default=[], help="a value of the matrix: python=3.12")
    parser.add_argument("--env", action="append", default=[], help="a variable, in place of what the workflow says")
    parser.add_argument("--system", action="store_true", help="run what installs into the system, too")
    asked = parser.parse_args()
    for name, job in () if asked.job else listed.items():
        sys.stdout.write(f"{name:<12} {len(commands(job, matrix(job, {})))} of {len(job['steps'])} steps run here\n")
    if not asked.job:
        return
    job, over = listed[asked.job], dict(each.split("=", 1) for each in asked.env)
    values = matrix(job, dict(each.split("=", 1) for each in asked.set))
    for step in job["steps"]:
        if reason := why_not(step, values, asked.system):
            sys.stdout.write(f"left out          {step.get('uses') or step['run'].strip()}: {reason}\n")
    with tempfile.TemporaryDirectory() as name:
        if not go_through(commands(job, values, asked.system), over, Path(name)):
            sys.exit(1)


if __name__ == "__main__":
    main()
