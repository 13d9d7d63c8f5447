"""Requests of the page as models, and the errors that they are answered with."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from augrecipes.errors import AugrecipesError, LintError, RecipeError
from augrecipes.recipe.limits import MAX_BYTES
from augrecipes.recipe.model import Mode, Optimize

MOST_DRAWS = 2_000  # samples × epochs of one request

Text = Annotated[str, Field(max_length=MAX_BYTES)]
Number = Annotated[int, Field(ge=0, le=1 << 62)]
Numbers = Annotated[list[Number], Field(min_length=1, max_length=MOST_DRAWS)]


class Refused(Exception):  # noqa: N818 - an answer, not a fault
    """A request that is not served, and the error that the page shows."""

    def __init__(self, status: int, code: str, message: str, fix: str = "", **more: Any) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.fix, self.more = status, code, message, fix, more

    @classmethod
    def of(cls, error: AugrecipesError) -> Refused:
        """An error of a recipe or of the data."""
        if not isinstance(error, RecipeError):
            return cls(422, "data", str(error))
        lines = [f"{one.line}:{one.col} {one.code} {one.name}: {one.message}" for one in error.problems]
        code = "lint" if isinstance(error, LintError) else error.problems[0].code if error.problems else "E100"
        return cls(422, code, "\n".join(lines) or str(error), "fix what the editor underlines")

    def to_json(self) -> dict[str, Any]:
        """The body of the answer."""
        return {"error": {"code": self.code, "message": self.message, "fix": self.fix}, **self.more}


class RecipeRequest(BaseModel):
    """A recipe's text."""

    model_config = ConfigDict(strict=True, frozen=True)
    text: Text


class VariantRequest(RecipeRequest):
    """A recipe as it is run: steps by their path that are switched off, or get a p of 0 or 1."""

    mode: Mode = "train"
    optimize: Optimize | None = None
    off: Annotated[list[str], Field(max_length=MOST_DRAWS)] = []
    force: dict[str, Annotated[int, Field(ge=0, le=1)]] = {}


class ViewRequest(VariantRequest):
    """What a view shows of a recipe.

    Attributes:
        size: the longer side of shown images, px; 0: as large as they are; None: what suits the view.
        tiles: of a bag, how many are shown.
        chosen: tiles by their numbers in the bag, instead of some that are evenly spaced.
        source: whether images as they were read are shown, too.
        path: of a step.
    """

    seed: Number = 0
    indices: Numbers = [0]
    epochs: Numbers = [0]
    index: Number = 0
    epoch: Number = 0
    tile: Number = 0
    size: Annotated[int, Field(ge=0, le=4096)] | None = None
    tiles: Annotated[int, Field(ge=1, le=64)] = 6
    chosen: Annotated[list[Number], Field(max_length=64)] = []
    source: bool = False
    path: str = ""


class CompareRequest(BaseModel):
    """Two recipes on one sample."""

    model_config = ConfigDict(strict=True, frozen=True)
    a: VariantRequest
    b: VariantRequest
    index: Number = 0
    epoch: Number = 0
    seed: Number = 0
    size: Annotated[int, Field(ge=0, le=4096)] = 900
    chosen: Annotated[list[Number], Field(max_length=64)] = []


class SaveRequest(RecipeRequest):
    """A text for the recipe's file, and the hash of the file that the page has read."""

    base_sha: Any = None
    force: bool = False


class SlideRequest(RecipeRequest):
    """An argument of a step, and its new value; null removes it."""

    path: str
    argument: str
    value: Any = None


class ImportRequest(RecipeRequest):
    """A file that was dropped on the page."""

    name: str


class ExportRequest(RecipeRequest):
    """The form that a recipe is exported to."""

    form: Literal["python", "json"] = Field(alias="as")


R = TypeVar("R", bound=BaseModel)


def parsed(model: type[R], body: bytes) -> R:
    """A request's body as a model; Refused where it does not fit."""
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "request"
        raise Refused(413 if first["type"] == "string_too_long" else 400, where, f"{where}: {first['msg']}") from None
