"""Syntax trees of sources, parsed and walked once for all rules that read them."""

import ast
from functools import cache


@cache
def parsed(text: str) -> ast.Module:
    """The tree of a file."""
    return ast.parse(text)


@cache
def nodes(text: str) -> tuple[ast.AST, ...]:
    """All nodes of a file, in the order of `ast.walk`."""
    return tuple(ast.walk(parsed(text)))
