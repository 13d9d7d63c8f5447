"""Run commands in this process."""

import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from augrecipes.cli import main


@dataclass
class Result:
    """The exit code, exception and output of a command."""

    exit_code: int
    stdout_bytes: bytes
    stderr: str
    exception: BaseException | None

    @property
    def stdout(self) -> str:
        return self.stdout_bytes.decode()

    @property
    def output(self) -> str:
        return self.stdout + self.stderr


def invoke(words: Sequence[str], stdin: str | bytes | None = None) -> Result:
    """Run `augrecipes WORDS`; the result also holds its exception."""
    data = stdin.encode() if isinstance(stdin, str) else stdin or b""
    streams = {"stdin": io.TextIOWrapper(io.BytesIO(data), "utf-8")}
    streams |= {name: io.TextIOWrapper(io.BytesIO(), "utf-8") for name in ("stdout", "stderr")}
    with pytest.MonkeyPatch.context() as patch:
        for name, stream in streams.items():
            patch.setattr(sys, name, stream)
        try:
            main([str(word) for word in words])
        except (SystemExit, Exception) as error:
            left: BaseException = error
    for stream in streams.values():
        stream.flush()
    printed = [streams[name].buffer.getvalue() for name in ("stdout", "stderr")]  # type: ignore[attr-defined]
    code = left.code if isinstance(left, SystemExit) else 1
    return Result(code if isinstance(code, int) else int(code is not None), printed[0], printed[1].decode(), left)
