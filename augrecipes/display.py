"""What notebooks ask of the objects of this package: the door to the room that shows them."""

from __future__ import annotations


class Displayed:
    """An object that a notebook shows as HTML; terminals have its `repr`."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """The object as HTML that needs nothing else: no file, no script, no network. Never raises."""
        from augrecipes.notebook.pages import html_of

        return html_of(self)
