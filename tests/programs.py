"""Run programs in tests, each in its own process, without starting Python and its heavy imports each time.

A server imports the third-party packages that most programs need, and forks for each program. The fork runs it as
`__main__` up to the exit of the interpreter, so that shutdown is as after any start. Tests of the start itself, or of
interrupts from outside, start Python instead. A program that runs programs itself forks its own server:
`Programs(forked=True)`.
"""

import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

ROOT = Path(__file__).parents[1]
HEAVY = ("cv2", "torch", "torch.utils.data", "yaml", "augrecipes.compat.albumentations")
PATIENCE = 300  # seconds, after which a program counts as hanging


class Programs:
    """A runner of programs; the first one starts the server, `close` ends it."""

    def __init__(self, *, forked: bool = False) -> None:
        self._server: subprocess.Popen[str] | None = None
        self._pipes: tuple[TextIO, TextIO] | None = _forked() if forked else None

    def __call__(self, text: str, *arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
        """Run Python text with these arguments, as `python -c` does."""
        command = [sys.executable, "-c", text, *arguments]
        if not hasattr(os, "fork"):
            return subprocess.run(
                command, cwd=cwd, capture_output=True, text=True, timeout=PATIENCE, check=False, env=_environment()
            )
        with tempfile.TemporaryDirectory() as folder:
            status = self._ask({"text": text, "arguments": arguments, "cwd": str(cwd.absolute()), "into": folder})
            out, err = ((Path(folder) / name).read_text(encoding="utf-8") for name in ("out", "err"))
        return subprocess.CompletedProcess(command, status, out, err)

    def _ask(self, program: dict[str, Any]) -> int:
        if self._pipes is None:
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            self._server = subprocess.Popen([sys.executable, __file__], cwd=ROOT, env=_environment(), **pipes)
            assert self._server.stdin is not None
            assert self._server.stdout is not None
            self._pipes = self._server.stdin, self._server.stdout
        asked, answered = self._pipes
        asked.write(json.dumps(program) + "\n")
        asked.flush()
        return int(answered.readline())

    def close(self) -> None:
        for pipe in self._pipes or ():
            pipe.close()
        if self._server is not None:
            self._server.wait()


def _forked() -> tuple[TextIO, TextIO]:
    """Fork this process as a server, and return the pipes to and from it."""
    (its_in, asked), (answered, its_out) = os.pipe(), os.pipe()
    if os.fork():
        os.close(its_in)
        os.close(its_out)
        return os.fdopen(asked, "w"), os.fdopen(answered)
    os.close(asked)
    os.close(answered)
    os.dup2(its_in, 0)
    os.dup2(its_out, 1)
    if program := _serve():
        exec(compile(_become(program), "<string>", "exec"), {"__name__": "__main__"})
    sys.exit()


def _environment() -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path}


def _serve() -> dict[str, Any] | None:
    """Serve requests: the server prints the status of each program; a fork returns the program to run."""
    for name in HEAVY:
        import_module(name)
    gc.freeze()  # the last collection of each fork would walk, and copy, all that is imported here
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            return json.loads(line)  # type: ignore[no-any-return]
        print(_status(pid), flush=True)
    return None


def _status(pid: int) -> int:
    """Wait for a program, kill it if it hangs, and return its exit code in the form of `subprocess`."""
    end = time.monotonic() + PATIENCE
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


def _become(program: dict[str, Any]) -> str:
    """Set the arguments, folder and streams of a program in this process, and return its text to run."""
    for number, (name, mode) in enumerate(((os.devnull, "r"), ("out", "w"), ("err", "w"))):
        with Path(program["into"], name).open(mode) as file:
            os.dup2(file.fileno(), number)
    os.chdir(program["cwd"])
    sys.argv[:] = ["-c", *program["arguments"]]
    sys.path[0] = ""
    return str(program["text"])


if __name__ == "__main__" and (_told := _serve()):
    del __file__  # as under `python -c`; spawned workers would run this file again
    exec(compile(_become(_told), "<string>", "exec"))
