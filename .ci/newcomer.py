"""Follow the README to the letter on a clean Debian, as a newcomer to the project, and print the times.

    sudo python .ci/newcomer.py FOLDER [--suite bookworm|trixie] [--compiler] [--carry PATH]... [--test]

debootstrap makes the system in FOLDER: Python, venv, make, git, and nothing else; with --compiler also gcc and
libjpeg's headers, as the README advises. A user in it clones the last commit, makes an environment, and follows the
README from top to bottom: commands, files, and Python in one session. `make test` runs last, and only with --test.

Debian 12, bookworm, has Python 3.11, and 13, trixie, 3.13. The system inherits what pip needs behind a firewall:
variables PIP_*, *_PROXY and those of certificates, and the files and folders of --carry, at the same paths.

The exit status is 1 if a step fails, if its output has lines that a newcomer would stumble over, or if the demo takes
more than a minute.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from support.pages import in_order  # noqa: E402

SUITES = {"bookworm": "Debian 12", "trixie": "Debian 13"}
PACKAGES = ("ca-certificates", "git", "make", "python3", "python3-venv")
COMPILER = ("gcc", "libc6-dev", "libjpeg-dev")
DEMO_SECONDS = 60.0
# Lines that a newcomer would stumble over. The README checks a recipe with mistakes on purpose, which ends with 2.
WONDER = re.compile(
    r"warn|deprecat|traceback|\berror\b|\bfail(s|ed|ure)?\b|not (found|built|used)|no native", re.IGNORECASE
)
EXPECTED = {"augrecipes check first-try.yaml": 2}
CARRIED = re.compile(r"PIP_|\w*_proxy$|SSL_CERT|REQUESTS_CA|CURL_CA|GIT_SSL", re.IGNORECASE)
# Runs in the clean system, Python in one session; records name, seconds, status and timed lines of each step.
SESSION = r"""
import contextlib, importlib, json, os, subprocess, sys, tempfile, time, traceback
clone, page = sys.argv[1:]
space, told = {"__name__": "__main__"}, []

def command(words, folder):
    began, lines = time.monotonic(), []
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout:
            lines.append((time.monotonic() - began, line.rstrip("\n")))
    return process.returncode, lines

def python(code):
    status = 0
    with tempfile.TemporaryFile("w+") as file:
        kept = [os.dup(1), os.dup(2)]
        os.dup2(file.fileno(), 1), os.dup2(file.fileno(), 2)
        try:
            importlib.invalidate_caches()
            exec(compile(code, "README.md", "exec"), space)
        except BaseException:
            status = 1
            traceback.print_exc()
        finally:
            sys.stdout.flush(), sys.stderr.flush()
            os.dup2(kept[0], 1), os.dup2(kept[1], 2)
        file.seek(0)
        return status, [(0.0, line) for line in file.read().splitlines()]

for kind, what in json.load(open(page)):
    began = time.monotonic()
    if kind == "file":
        open(what[0], "w").write(what[1])
        continue
    name = " ".join(what) if kind == "command" else "Python: " + what[0].strip().splitlines()[-1]
    print(name, flush=True)
    folder = clone if what[0] in ("pip", "make") else "."
    status, lines = python(what[0]) if kind == "python" else command(what, folder)
    told.append([name, time.monotonic() - began, status, lines])
    json.dump(told, open("told.json", "w"))
"""


class System:
    """A clean Debian in a folder."""

    def __init__(self, folder: Path, carried: list[Path]) -> None:
        self.root, self.carried, self.mounted = folder.absolute(), carried, list[Path]()

    def make(self, suite: str) -> None:
        """Create the system with debootstrap, unless it exists."""
        if not (self.root / "usr/bin/git").exists():
            options = ["--variant=minbase", f"--include={','.join(PACKAGES)}"]
            subprocess.run(["debootstrap", *options, suite, str(self.root)], check=True, stdout=subprocess.DEVNULL)
        if not (self.root / "home/newcomer").exists():
            self.run("useradd --create-home newcomer")

    def __enter__(self) -> System:
        for place in ("/proc", "/dev", "/dev/shm"):
            self._mount(place)
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
        for path in self.carried:
            if path.is_dir():
                self._mount(str(path))
            else:
                self._inside(path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, self._inside(path))
        return self

    def __exit__(self, *_: object) -> None:
        for place in reversed(self.mounted):
            subprocess.run(["umount", "--lazy", str(place)], check=True)  # lazy: interrupted programs may still run

    def _inside(self, path: Path) -> Path:
        return self.root / path.absolute().relative_to("/")

    def _mount(self, place: str) -> None:
        there = self._inside(Path(place))
        there.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "--bind", place, str(there)], check=True)
        self.mounted.append(there)

    def run(self, line: str, user: str = "root") -> str:
        """Run a shell command as a user of the system, and return its output."""
        home = "/root" if user == "root" else f"/home/{user}"
        carried = {name: value for name, value in os.environ.items() if CARRIED.match(name)}
        basic = {"HOME": home, "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
        command = ["chroot", f"--userspec={user}:{user}", str(self.root), "/bin/sh", "-c", f"cd {home} && {line}"]
        done = subprocess.run(command, env={**carried, **basic}, text=True, check=False, stdout=subprocess.PIPE)
        if done.returncode:
            sys.exit(f"{line}: status {done.returncode}\n{done.stdout}")
        return done.stdout


def follow(system: System, test: bool) -> list[list]:
    """Follow the README; return name, seconds, status and timed lines of each step."""
    home = system.root / "home/newcomer"
    for old in home.iterdir():
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    subprocess.run(["git", "clone", "--quiet", "--bare", str(ROOT), str(home / "origin.git")], check=True)
    system.run("chown -R newcomer:newcomer /home/newcomer")
    system.run("git clone --quiet origin.git augrecipes && python3 -m venv env && mkdir desk", "newcomer")
    steps = [*in_order((home / "augrecipes/README.md").read_text(encoding="utf-8"))]
    tests = [step for step in steps if step == ("command", ["make", "test"])]
    (home / "session.py").write_text(SESSION, encoding="utf-8")
    page = [step for step in steps if step not in tests] + (tests if test else [])
    (home / "page.json").write_text(json.dumps(page), encoding="utf-8")
    activated = "cd desk && . ../env/bin/activate"
    sys.stdout.write(system.run(f"{activated} && python ../session.py ../augrecipes ../page.json", "newcomer"))
    told: list[list] = json.loads((home / "desk/told.json").read_text(encoding="utf-8"))
    return told


def faults(told: list[list]) -> list[str]:
    """Return the failed steps, the lines that a newcomer would stumble over, and a slow demo."""
    found = []
    for name, _, status, lines in told:
        if status != EXPECTED.get(name, 0):
            found += [f"{name}: status {status}", *(f"    {line}" for _, line in lines[-40:])]
        elif name not in EXPECTED and name != "make test":
            found += [f"{name}: {line}" for _, line in lines if WONDER.search(line)]
        if name == "make demo" and (took := demo_seconds(lines)) > DEMO_SECONDS:
            found.append(f"{name}: {took:.0f} s behind the install")
    return found


def demo_seconds(lines: list) -> float:
    """Return the seconds of the demo itself, from the line that announces its start."""
    times = [seconds for seconds, _ in lines]
    return times[-1] - next((seconds for seconds, line in lines if line == "Starting the demo"), 0.0)


def rows(told: list[list]) -> list[tuple[str, str]]:
    """Return the table rows of the steps and their times."""
    found = []
    for name, seconds, _, lines in told:
        short = name.removeprefix("Python: ").partition("#")[0].strip()
        found.append((f"`{short}`", f"{seconds:.{0 if seconds >= 10 else 1}f} s"))
        if name == "make demo":
            found.append(("of it the demo, behind the install", f"{demo_seconds(lines):.0f} s"))
    return found


def main() -> int:
    """Make the system, follow the README, and print the results; 1 if a newcomer would stumble."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--suite", choices=SUITES, default="bookworm")
    parser.add_argument("--compiler", action="store_true")
    parser.add_argument("--carry", action="append", type=Path, default=[])
    parser.add_argument("--test", action="store_true")
    args = parser.parse_args()
    system = System(args.folder, args.carry)
    system.make(args.suite)
    with system:
        if args.compiler:
            install = f"apt-get install -qq -y --no-install-recommends {' '.join(COMPILER)}"
            system.run(f"apt-get update -qq && DEBIAN_FRONTEND=noninteractive {install}")
        load, told = os.getloadavg()[0], follow(system, args.test)
        python = system.run("env/bin/python --version; env/bin/pip list 2>/dev/null | grep '^torch '", "newcomer")
    with_compiler = ", ".join(COMPILER) if args.compiler else "no compiler"
    here = f"{os.cpu_count()} cores, load {load:.1f}"
    sys.stdout.write(
        f"\n{datetime.now(UTC):%Y-%m-%d}, {SUITES[args.suite]}, {' '.join(python.split())}, {with_compiler}, {here}\n"
    )
    sys.stdout.writelines(f"| {what} | {took} |\n" for what, took in rows(told))
    found = faults(told)
    sys.stdout.writelines(f"{line}\n" for line in found)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
