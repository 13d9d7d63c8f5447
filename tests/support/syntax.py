"""Syntax trees of source files, parsed and walked once for all rules."""

import ast
from functools import cache


@cache
def parsed(text: str) -> ast.Module:
    """Parse the text of a file."""
    return ast.parse(text)


@cache
def nodes(text: str) -> tuple[ast.AST, ...]:
    """Return all nodes of a file in the order of `ast.walk`."""
    return tuple(ast.walk(parsed(text)))
