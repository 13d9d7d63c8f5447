"""Preview sheets of views: an image, and beside it all views of each name."""

from dataclasses import replace

from augrecipes.kinds.image.sheet import sheet as sheet_of_images
from augrecipes.preview.rows import SheetRequest
from augrecipes.preview.sheet import Sheet
from augrecipes.recipe.model import Recipe


def sheet(recipe: Recipe, request: SheetRequest) -> Sheet:
    """Make the sheet of a recipe of kind views; DataError where nothing can be shown."""
    pipeline, files = request.opened(recipe)
    if request.stages and pipeline.parts:  # stages of the first view only
        pipeline = next(iter(pipeline.parts.values()))
        recipe = pipeline.recipe
    return sheet_of_images(recipe, replace(request, pipeline_and_data=(pipeline, files)))
