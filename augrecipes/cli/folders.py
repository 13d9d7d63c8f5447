"""Folders on the command line: one, or one for each target of a pair, `hr=FOLDER lr=FOLDER`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

Folders = dict[str, str | list[str]]


def data_of(given: Sequence[str]) -> str | Folders:
    """What the DATA arguments name: a path as it is, or folders by target.

    Args:
        given: a single path, or `NAME=FOLDER` for each target; a target that is named again has several folders.

    Raises:
        typer.BadParameter: several paths without targets, or an empty folder.

    >>> data_of(["photos"]), data_of(["hr=HR", "lr=LR/X4"])
    ('photos', {'hr': 'HR', 'lr': 'LR/X4'})
    >>> data_of(["hr=DIV2K", "hr=Flickr2K"])
    {'hr': ['DIV2K', 'Flickr2K']}
    """
    named = [_named(text) for text in given]
    if len(given) == 1 and (named[0] is None or Path(given[0]).exists()):
        return given[0]
    folders: dict[str, list[str]] = {}
    for text, pair in zip(given, named, strict=True):
        if pair is None:
            raise typer.BadParameter(f"{text!r}: each folder needs its target: hr={text}", param_hint="DATA")
        if not pair[1]:
            raise typer.BadParameter(f"{text!r} names no folder", param_hint="DATA")
        folders.setdefault(pair[0], []).append(pair[1])
    return {name: paths[0] if len(paths) == 1 else paths for name, paths in folders.items()}


def _named(text: str) -> tuple[str, str] | None:
    """Target and folder, or None where the text is a mere path."""
    name, equals, folder = text.partition("=")
    return (name, folder) if equals and name.isidentifier() else None
