"""`augrecipes doctor`: what is installed, what is missing, and what each missing part costs."""

import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from augrecipes.cli.terminal import answer, good, paint, say

if TYPE_CHECKING:
    from augrecipes.doctor import Fact


def doctor(args: Namespace) -> None:
    """Say what augrecipes finds on this machine, what each missing part costs, and the command that mends it.

    \b
    Examples:
      augrecipes doctor
      augrecipes doctor --json

    Put this text into a bug report: it names no folder, no host and no user.

    Exit status: 0 nothing that matters is missing, 1 something is broken: a library, the kernels, or OpenCV installed
    twice.
    """
    from augrecipes.doctor import facts as examine

    facts = examine()
    answer(args, facts, lambda: _tell(facts), status=int(any(fact.level == "broken" for fact in facts)))


def _tell(facts: "Sequence[Fact]") -> None:
    for fact in facts:
        say(f"{fact.name}: {fact.state}")
    for level, style in (("missing", "warning"), ("broken", "error")):
        for fact in (fact for fact in facts if fact.level == level):
            say(f"\n{paint(level, style, sys.stdout)}: {fact.name}: {fact.cost}")
            say("\n".join(f"    {line}" for line in fact.cure.splitlines()), wrap=False)  # for copying
    if all(fact.level == "ok" for fact in facts):
        good("nothing is missing")
