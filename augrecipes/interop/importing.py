"""Import: chooses the reader of a source, which makes the draft of a recipe."""

import inspect
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from augrecipes.compat.guard import albumentations, collected
from augrecipes.errors import RecipeError
from augrecipes.interop import basicsr, budget, configs, objects, torchvision
from augrecipes.interop.draft import RecipeDraft, wrong
from augrecipes.interop.reading import Document, is_python, of_text, read, read_stream
from augrecipes.ops.readable import is_advice
from augrecipes.recipe import model, nodes
from augrecipes.user_code import is_object_path, open_module

# Forms of pipelines: the title for users, whether a document has this form, and the function that drafts a recipe.
# The first match reads a document; only the last form may have several pipelines, of which `--key` names one.
_MANY = "a config that names transforms (Hydra, LightningCLI, MMDetection, `name:` and `params:`)"
READERS: tuple[tuple[str, Callable[[Document], bool], Callable[[Document], RecipeDraft]], ...] = (
    ("an A.Compose, given as MODULE:NAME or FILE.py:NAME", objects.is_object, objects.draft_of_object),
    ("a pipeline that albumentations saved (A.save, A.to_dict)", objects.is_saved, objects.draft_of_saved),
    ("a pipeline of torchvision, given as MODULE:NAME or FILE.py:NAME", torchvision.is_object,
     torchvision.draft_of_object),
    ("an option file of BasicSR, Real-ESRGAN, traiNNer-redux or neosr", basicsr.is_options, basicsr.draft_of_options),
    (_MANY, configs.is_config, configs.draft_of_config),
)  # fmt: skip
_STREAM = "stdin"
_LOADER = "DataLoader"
_DRAWS = (
    "In a DataLoader, albumentations 2.0.8 draws alike in every worker and again in every epoch: of 192 samples in 3 "
    "epochs of 4 workers, 16 had draws of their own. Here each sample of each epoch has."
)


def draft_of(
    source: str, key: str = "", given: Mapping[str, Any] | None = None, base_root: Path | None = None
) -> RecipeDraft:
    """The draft of a recipe from a source in another form.

    Args:
        source: a file or `-` (standard input), which is read; or `FILE.py:NAME` or `package.module:NAME`, which is run:
            the name of a pipeline, or of a function without arguments that returns one.
        key: the pipeline of a config, as keys joined by dots; empty: the training pipeline.
        given: values for unknown expressions in Python source, by their text: `{"cfg.size": 512}`.
        base_root: the folder of an MM config's `_base_` files; None: the config's own.

    Raises:
        RecipeError: the file cannot be read, no reader recognises it, or running it failed.
    """
    if source == "-":  # Python if it has a pipeline, else YAML or JSON
        text = read_stream(sys.stdin.buffer, _STREAM)
        python = Document(f"{_STREAM}.py", text=text)
        with budget.bounded(_STREAM):
            document = python if configs.holds(python) else of_text(text, _STREAM)
            return of_document(replace(document, key=key, given=given or {}))
    if is_object_path(source) and not Path(source).exists():
        return _draft_of_object(source, given or {})
    document = read(source)
    return of_document(replace(document, key=key, given=given or {}, root=base_root or document.root))


def _draft_of_object(source: str, given: Mapping[str, Any]) -> RecipeDraft:
    """The draft of an object in a Python file, which is run; if that fails, the file is read."""
    try:
        document = replace(_object_document(source), given=given)
    except RecipeError as error:
        draft = _draft_by_reading(source, given)
        if draft is None:
            raise
        draft.note(f"It was read, not run: {' '.join(str(error).split())}")
        return draft
    draft = _draft_by_reading(source, given) if any(objects.ignored(document.value)) else None
    if draft is None or draft.left_out():
        draft = of_document(document)
    else:
        draft.note("It was read, not run: albumentations 2.0.8 leaves arguments of earlier releases out.")
    for message in document.warned:
        draft.note(f"albumentations warned: {message}")
    return draft


def _draft_by_reading(source: str, given: Mapping[str, Any]) -> RecipeDraft | None:
    """The draft from reading the file at the object's name; None if that fails."""
    file, _, name = source.rpartition(":")
    try:
        return of_document(replace(read(file), key=name, given=given))
    except RecipeError:
        return None


def _object_document(source: str) -> Document:
    """The object that the user named in a Python file or module, as a document."""
    albumentations()  # imported first, so that only warnings of the pipeline are collected
    with collected() as warned:
        module = open_module(source, "transform", "config:", RecipeError)
        value = module.value()
        if inspect.isroutine(value) or (inspect.isclass(value) and not issubclass(value, Mapping)):
            value = module.call(value)
    more = (message for message in warned if "are not valid for transform" not in message)
    return replace(of_value(value, source), warned=tuple(m for m in dict.fromkeys(more) if not is_advice(m)))


def of_value(value: Any, name: str) -> Document:
    """An object as a document; a mapping, such as `A.to_dict` returns, as if it had been read from a file."""
    if isinstance(value, Mapping):
        place = nodes.Place(name, 1, 1)
        try:  # enum members become their values, as in `A.save`
            plain = json.loads(json.dumps(value, default=lambda member: getattr(member, "value", str(member))))
            return Document(name, top=nodes.from_value(plain, place))
        except (TypeError, ValueError) as error:
            raise wrong(str(error), place) from None
    return Document(name, value=value)


def from_albumentations(compose: Any, name: str = "imported") -> model.Recipe:
    """Convert an albumentations pipeline to an equivalent Recipe.

    Args:
        compose: an `A.Compose`, a single transform, a list of them, or the result of `A.to_dict`.
        name: the recipe's name, `[a-z0-9-]`.

    Returns:
        A Recipe of kind image.

    Raises:
        RecipeError: a recipe cannot hold some parts; `problems` names each with the cure.
        TypeError: `compose` is not an albumentations pipeline.

    >>> import albumentations as A
    >>> compose = A.Compose([A.RandomCrop(64, 64), A.HorizontalFlip(p=0.3), A.Normalize(), A.ToTensorV2()])
    >>> print(from_albumentations(compose, "mine").to_yaml(), end="")
    version: 1
    recipe: mine
    steps:
      - RandomCrop: {height: 64, width: 64}
      - HorizontalFlip: {p: 0.3}
    output: {normalize: imagenet}
    """
    document = of_value(compose, name)
    draft = next((drafts(document) for _, owns, drafts in READERS[:2] if owns(document)), None)
    if draft is None:
        raise TypeError(f"from_albumentations takes an A.Compose, a transform or a list of them, got {compose!r:.200}")
    return draft.whole_recipe()


def of_document(document: Document) -> RecipeDraft:
    """The draft of a document, or of the pipeline that its key names, by the first reader that recognises it.

    Raises:
        RecipeError: no reader recognises the document, or it has several pipelines and no key.
    """
    place = replace(document.place, file=document.file)
    if document.given and not is_python(document.file):
        raise wrong("--set goes with Python source, and this is not Python: leave it out", place)
    with budget.bounded(document.file):
        for name, owns, drafts in READERS:
            if owns(document):
                if document.key and name != _MANY:
                    raise wrong(f"--key names one of several pipelines, and this is {name}", place)
                draft = drafts(document)
                if _LOADER in document.text:
                    draft.note(_DRAWS)
                return draft
    if isinstance(document.top, nodes.MappingNode) and {"recipe", "steps"} <= document.top.entries.keys():
        raise wrong("this is a recipe already: there is nothing to import", place)
    known = "; ".join(name for name, _, _ in READERS)
    raise wrong(f"nothing here that can be imported; known are: {known}", place)
