"""Read files, code and commands from a page of the docs. Needs nothing but Python, since `.ci/newcomer.py` uses it."""

import re
import shlex
from collections.abc import Iterator


def file_name(text: str) -> str | None:
    """Return the file name in the first line of a code block, if it has one."""
    name = re.match(r"# (\S+\.(?:yaml|py|toml))\n", text)
    return str(name[1]) if name else None


def in_order(page: str) -> Iterator[tuple[str, list[str]]]:
    """Yield ("file", [name, text]), ("python", [code]) and ("command", words) from top to bottom."""
    for language, block in re.findall(r"^```(\w+)\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL):
        if name := file_name(block):
            yield "file", [name, block]
        elif language == "python":
            yield "python", [block]
        elif language == "console":
            for typed in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                yield "command", shlex.split(typed.partition("\n")[0].partition("#")[0])
