"""What a dialect is: a way of writing pipelines down that can be told from others, and made a draft of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from augrecipes.bring.draft import RecipeDraft
from augrecipes.bring.reading import Document


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way of writing pipelines down.

    Attributes:
        name: what users call it, such as `a pipeline that A.save wrote`.
        owns: whether a document is written so. Looks at names of keys only, and never fails.
        draft: the draft of a document that it owns. Steps that no recipe can hold are in it as left out; RecipeError
            is for what cannot be read at all.
        keyed: whether a document may hold several pipelines, of which `Document.key` names one.
    """

    name: str
    owns: Callable[[Document], bool]
    draft: Callable[[Document], RecipeDraft]
    keyed: bool = False
