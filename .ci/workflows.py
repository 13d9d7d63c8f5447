"""Run a job of .github/workflows here: `python .ci/workflows.py JOB [--set NAME=VALUE]... [--env NAME=VALUE]...`.

Its commands run in a new clone of the last commit, each printed with status and time, up to the first failure. Without
JOB the jobs are listed. Actions are skipped; a new environment of this Python replaces setup-python. Also skipped are
steps that install into the system, unless `--system` is given, and steps with conditions on anything but the matrix.
The matrix takes the first value of each list, unless `--set` gives another. Needs PyYAML.
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
    """Return every job of every workflow by name, with the variables of its workflow."""
    found: dict[str, dict[str, Any]] = {}
    for file in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        workflow = yaml.safe_load(file.read_text(encoding="utf-8"))
        for name, job in workflow["jobs"].items():
            if name in found:
                raise ValueError(f"{file.name}: another workflow has a job {name}, too: give it another name")
            found[name] = job | {"env": workflow.get("env", {}) | job.get("env", {})}
    return found


def matrix(job: dict[str, Any], chosen: dict[str, str]) -> dict[str, str]:
    """Return the values of a job's matrix: the chosen ones, else the first of each list."""
    listed = job.get("strategy", {}).get("matrix", {})
    values = {name: str(each[0]) for name, each in listed.items() if name != "include"} | chosen
    for more in listed.get("include", []):
        if all(values.get(name, value) == value for name, value in more.items()):
            values |= more
    return values


def filled(text: str, values: dict[str, str]) -> str:
    """Replace the expressions `${{ matrix.NAME }}` in a text."""
    return re.sub(r"\$\{\{ matrix\.(\w+) \}\}", lambda found: values.get(found[1], ""), text)


def why_not(step: dict[str, Any], values: dict[str, str], system: bool = False) -> str:
    """Return the reason why a step does not run here; empty if it does."""
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
    """Return the scripts that a job runs here, each with its environment variables."""
    steps = [(step["run"], step.get("env", {})) for step in job["steps"] if not why_not(step, values, system)]
    given = [(script, (job["env"] | own).items()) for script, own in steps]
    return [(filled(script, values), {n: filled(str(v), values) for n, v in asked}) for script, asked in given]


def go_through(listed: list[tuple[str, dict[str, str]]], over: dict[str, str], place: Path) -> bool:
    """Run scripts in a new clone below `place`, print a line for each, and return whether all passed."""
    clone, python, named = place / "clone", place / "python", place / "env"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    subprocess.run([sys.executable, "-m", "venv", str(python)], check=True)
    path = f"{python / ('Scripts' if sys.platform == 'win32' else 'bin')}{os.pathsep}{os.environ['PATH']}"
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    for script, asked in listed:
        # Steps write variables for the steps that follow to this file.
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
    """List the jobs, or run one."""
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
