"""`pip install` with progress, for make: a line for each large download, and a status line after some silent seconds.

A terminal overwrites the status line; elsewhere it comes every 15 s. It counts the compiled kernel files.

Usage: `python .ci/install.py ARGUMENTS...`, with the arguments of `pip install`; or, for another long command,
`python .ci/install.py --doing WHAT PROGRAM ARGUMENTS...`. Needs nothing but Python.
"""

from __future__ import annotations

import os
import queue
import re
import subprocess
import sys
import threading
import time

_QUIET = {True: 1.0, False: 15.0}  # seconds of silence before a status line, on a terminal and elsewhere
_DOWNLOAD = re.compile(r"\s*Downloading (?:\S*/)?(\S+?)(?:-(?:cp|py|none)\S*)? \(([\d.]+) (MB|GB)\)")
_BUILD = re.compile(r"\s*(?:Running command )?Building editable .*\(pyproject.toml\)(?:: started)?$")
_COMPILE = re.compile(r"\s*(compiling kernels: file \d+ of \d+)")
_CLEAR = "\r\x1b[K"  # clears the line of a terminal
_INSTALL = re.compile(r"Installing collected packages: (.*)")


def report(line: str) -> str | None:
    """Return the news in a line of pip's output, for a person who waits; None for most lines."""
    if found := _DOWNLOAD.match(line):
        return f"downloading {found[1]}, {found[2]} {found[3]}"
    if _BUILD.match(line):
        return "building augrecipes"
    if found := _INSTALL.match(line):
        names = found[1].split(", ")
        return f"installing {len(names)} package{'' if len(names) == 1 else 's'}"
    return None


def main(
    arguments: list[str],
    command: tuple[str, ...] = (sys.executable, "-m", "pip", "install"),
    doing: str = "looking for packages",
) -> int:
    """Run a command with progress lines, and return its exit status; a failure prints all of its output."""
    began, heard, terminal = time.monotonic(), [], sys.stdout.isatty()
    environment = os.environ | {"AUGRECIPES_TELL_EVERY": "0"}
    with subprocess.Popen(
        [*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as pip:
        lines: queue.Queue[str | None] = queue.Queue()
        reader = threading.Thread(target=lambda: [*map(lines.put, pip.stdout or ()), lines.put(None)])
        reader.start()
        last = began
        while True:
            try:
                line = lines.get(timeout=max(0.0, last + _QUIET[terminal] - time.monotonic()))
                news, end = report(line or ""), "\n"
                news = None if news == doing else news  # pip says it twice
                if compiled := _COMPILE.match(line or ""):
                    doing = compiled[1]
            except queue.Empty:
                line, news, end = "", doing if _COMPILE.match(doing) else f"still {doing}", "\r" if terminal else "\n"
            else:
                doing = news or doing
            if line is None:
                break
            heard.append(line)
            if news:
                last = time.monotonic()
                sys.stdout.write(f"{_CLEAR if terminal else ''}  {last - began:4.0f} s  {news}{end}")
                sys.stdout.flush()
        reader.join()
        status = pip.wait()
    if terminal:
        sys.stdout.write(_CLEAR)
    if status:
        sys.stderr.write("".join(heard))
    return status


if __name__ == "__main__":
    if sys.argv[1] == "--doing":
        sys.exit(main(sys.argv[3:], (), sys.argv[2]))
    # With -v pip passes on the output of the build.
    sys.exit(main(["-v", "-c", "constraints.txt", "--progress-bar", "off", *sys.argv[1:]]))
