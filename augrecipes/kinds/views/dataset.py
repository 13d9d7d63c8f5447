"""A torch Dataset of several views of each image."""

from augrecipes.kinds.image.dataset import ImageFolder
from augrecipes.recipe.model import Kind


class Views(ImageFolder):
    """Views of image files, for self-supervised learning: each image is read once, and all its views are made from it.

    A sample is a dict: for each view NAME of the recipe a tensor (count, C, H, W), or (count, H, W, C), as its `output`
    says; `NAME_mask` int64 (count, H, W), `NAME_boxes` and `NAME_keypoints` lists with one entry a view, where the data
    has them; `NAME_matrix` float64 (count, 3, 3) with `correspondence: true`; `label`, `index`, `path` as of
    `ImageFolder`. `ar.loader` stacks them: (batch, count, C, H, W). In mode `eval` there is one `image`.

    Args:
        root: a folder of images or of class folders, or a list of such folders.
        recipe: a Recipe of kind views, the name of a gallery recipe, or the path of a recipe file.
        others: as in `ImageFolder`: `files=`, `masks=`, `mode=`, `seed=`, `optimize=`, `on_error=`, ...

    Raises:
        DataError: there is nothing to read, or the listed files have defects.
        RecipeError: the recipe is not valid, not of kind views, or has no section for `mode`.

    >>> import tempfile, pathlib, cv2, numpy as np
    >>> from augrecipes.recipe.parse import parse_text
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = cv2.imwrite(str(folder / "cat.png"), np.zeros((200, 300, 3), np.uint8))
    >>> recipe = parse_text('''
    ... {version: 1, recipe: two, kind: views, eval: [], views: {
    ...   global: {count: 2, steps: [RandomResizedCrop: {size: [64, 64]}]},
    ...   local: {count: 4, steps: [RandomResizedCrop: {size: [32, 32], scale: [0.05, 0.4]}, HorizontalFlip]}}}
    ... ''')
    >>> sample = Views(folder, recipe, seed=1)[0]
    >>> sample["global"].shape, sample["local"].shape
    (torch.Size([2, 3, 64, 64]), torch.Size([4, 3, 32, 32]))
    """

    kind: Kind = "views"


DATASET = Views
