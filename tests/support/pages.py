"""What a page of the docs asks its reader to do. Needs nothing but Python: `.ci/newcomer.py` reads README with it."""

import re
import shlex
from collections.abc import Iterator


def file_name(text: str) -> str | None:
    """The name that a file shown on a page opens with."""
    name = re.match(r"# (\S+\.(?:yaml|py|toml))\n", text)
    return str(name[1]) if name else None


def in_order(page: str) -> Iterator[tuple[str, list[str]]]:
    """From top to bottom: ("file", [name, text]), ("python", [code]) and ("command", words)."""
    for language, block in re.findall(r"^```(\w+)\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL):
        if name := file_name(block):
            yield "file", [name, block]
        elif language == "python":
            yield "python", [block]
        elif language == "console":
            for typed in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                yield "command", shlex.split(typed.partition("\n")[0].partition("#")[0])
