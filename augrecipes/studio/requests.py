"""Models of the page's requests, and the errors that answer bad ones."""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from augrecipes.errors import AugrecipesError, DataError, LintError, RecipeError, harmless
from augrecipes.recipe.limits import MAX_BYTES
from augrecipes.recipe.model import Optimize

MOST_DRAWS = 2_000  # samples × epochs of one request

Text = Annotated[str, Field(max_length=MAX_BYTES)]
Number = Annotated[int, Field(ge=0, le=1 << 62)]
Numbers = Annotated[list[Number], Field(min_length=1, max_length=MOST_DRAWS)]
Size = Annotated[int, Field(ge=0, le=4096)]


class Refused(Exception):  # noqa: N818 - an answer, not a fault
    """A request that the studio refuses, with the HTTP status and the error that the page shows."""

    def __init__(self, status: int, code: str, message: str, fix: str = "", **more: Any) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.fix, self.more = status, code, message, fix, more

    @classmethod
    def of(cls, error: "AugrecipesError | Refused") -> "Refused":
        """Convert an error of a recipe or of the data."""
        if isinstance(error, Refused):
            return error
        if not isinstance(error, RecipeError):
            if not isinstance(error, DataError):
                return cls(422, "data", str(error))
            # `cause` names no file, so that the page can show a failure of many samples once.
            fix = "" if error.step is None else f"the step {error.step} fails on it"
            return cls(422, "data", str(error), fix, cause=error.reason_in_step)
        lines = [f"{each.line}:{each.col} {each.code} {each.name}: {each.message}" for each in error.problems]
        code = "lint" if isinstance(error, LintError) else error.problems[0].code if error.problems else "E100"
        return cls(422, code, "\n".join(lines) or str(error), "fix what the editor underlines")

    def to_json(self) -> dict[str, Any]:
        """The body of the answer."""
        error = {"code": self.code, "message": harmless(self.message, "\n"), "fix": self.fix}
        return {"error": error, **self.more}


def no_step(path: str) -> Refused:
    """Refuse a path that no step has."""
    return Refused(404, "path", f"there is no step {path!r:.80}")


class _Request(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class RecipeRequest(_Request):
    """A recipe's text."""

    text: Text


class VariantRequest(RecipeRequest):
    """A recipe as it is run: `off` are paths of steps switched off, `force` gives steps a p of 0 or 1."""

    optimize: Optimize | None = None
    off: Annotated[list[str], Field(max_length=MOST_DRAWS)] = []
    force: dict[str, Annotated[int, Field(ge=0, le=1)]] = {}


class SampleRequest(_Request):
    """Which sample is shown.

    Attributes:
        size: the longer side of shown images, px; 0: as large as they are; None: what suits the view.
        chosen: tiles by their numbers in the bag, instead of some that are evenly spaced.
    """

    seed: Number = 0
    index: Number = 0
    epoch: Number = 0
    size: Size | None = None
    chosen: Annotated[list[Number], Field(max_length=64)] = []


class ViewRequest(VariantRequest, SampleRequest):
    """What a view shows of a recipe.

    Attributes:
        tiles: number of tiles shown of a bag.
        source: whether the source images are shown, too.
        path: the step's, for views of a step.
    """

    indices: Numbers = [0]
    epochs: Numbers = [0]
    tiles: Annotated[int, Field(ge=1, le=64)] = 6
    source: bool = False
    path: str = ""


class CompareRequest(SampleRequest):
    """Two recipes on one sample."""

    a: VariantRequest
    b: VariantRequest
    size: Size | None = 900


class SaveRequest(RecipeRequest):
    """A text for the recipe's file, and the hash of the file when the page read it."""

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
    """Parse a request's body; Refused where it does not fit the model."""
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "request"
        raise Refused(413 if first["type"] == "string_too_long" else 400, where, f"{where}: {first['msg']}") from None
