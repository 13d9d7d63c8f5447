"""Two views of each image, as a torch Dataset."""

from augrecipes.kinds import Kind
from augrecipes.kinds.image.dataset import ImageFolder


class TwoViews(ImageFolder):
    """Samples `{"a": tensor, "b": tensor, ...}`; arguments as of ImageFolder."""

    kind: Kind = "views"  # type: ignore[assignment]


DATASET = TwoViews
