"""Option files of BasicSR and its kin as recipes: windows and turns of pairs, or of what a degradation makes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from augrecipes.interop.degradation import Degradation, OptionFile
from augrecipes.interop.draft import Item, Line, RecipeDraft, name_of, wrong
from augrecipes.interop.reading import Document
from augrecipes.ops.groups import DEGRADE
from augrecipes.recipe.nodes import MappingNode, Node

_DATA = "datasets"
_BESIDE = ("network_g", "scale", "model_type")  # one of these beside the data sets tells an option file
_PAIRS = ("pairedimagedataset", "realesrganpaireddataset")
_PLAIN, _MADE, _FACES = "singlegtdataset", "realesrgandataset", "ffhqdataset"
_MOVING = ("video", "recurrent", "reds", "vimeo")
_HR, _LR = "hr", "lr"


def is_options(document: Document) -> bool:
    """Whether there are data sets beside a network or a scale."""
    keys = document.top.entries.keys() if isinstance(document.top, MappingNode) else ()
    return isinstance(_at(document.top, _DATA), MappingNode) and any(key in keys for key in _BESIDE)


def _at(node: Node | None, key: str) -> MappingNode | None:
    """The mapping at a key of another one."""
    result = node.entries.get(key) if isinstance(node, MappingNode) else None
    return result if isinstance(result, MappingNode) else None


def draft_of_options(document: Document) -> RecipeDraft:
    """What the training data goes through, as a recipe.

    Raises:
        RecipeError: video, data sets of other kinds, or values that cannot be; names key and line.
    """
    top, data = document.top, _at(document.top, _DATA)
    train, tested = _at(data, "train"), _at(data, "val")
    if not isinstance(top, MappingNode) or train is None:
        place = document.place if data is None else data.place
        message = "no `datasets: train:`: an option file for testing has nothing that a recipe is made of"
        raise wrong(message, replace(place, file=document.file), _DATA, "E603")
    draft = RecipeDraft(name_of(document.file), "an option file of BasicSR's form", train.place)
    options, whole = OptionFile(train.place, train), OptionFile(train.place, top, train)
    said = options.get("type", "")
    name = str(said).lower()
    if any(word in name for word in _MOVING) or whole.get("num_frame"):
        options.refuse("type", f"{said} is of video, and a recipe works on images: there is no import for it")
    if name not in (*_PAIRS, _MADE, _PLAIN, _FACES):
        known = "PairedImageDataset, RealESRGANDataset, RealESRGANPairedDataset, SingleGtDataset, FFHQDataset"
        options.refuse("type", f"{said!r} is no data set that can be imported; known are {known}")
    if name == _FACES:
        draft.steps, draft.eval = _turns(options, rotated=False), []
        draft.keys["output"] = _output(options)
    else:
        _scaled(draft, options, whole, name)
    validation = None if tested is None else OptionFile(tested.place, tested)
    _data(draft, options, validation, is_degraded=name not in _PAIRS)
    return draft


def _scaled(draft: RecipeDraft, train: OptionFile, whole: OptionFile, name: str) -> None:
    """Windows at two scales."""
    scale = whole.whole("scale", 1)
    if train.node("lq_size"):
        side = train.whole("lq_size")
    else:
        high = (train if train.node("gt_size") else whole).whole("gt_size")
        side = high // scale
        if high % scale:
            what = f"{high} px are no whole number of pixels at scale {scale}: write a multiple of {scale}"
            train.refuse("gt_size", what)
    draft.keys |= {"kind": "pair", "scales": {_LR: 1, _HR: scale}, "output": _output(train)}
    window = Line("RandomCrop", {"height": side, "width": side, "at": _LR}, train.at("gt_size"))
    draft.steps = [window, *_turns(train)]
    if name in _PAIRS:
        draft.eval = []
        return
    redux = whole.node("resize_mode_list") or train.node("lq_size") or whole.node("lq_usm")
    degradation = Degradation(whole, redux is not None, side, draft)
    if name == _PLAIN:
        resize = degradation.to_target(str(train.get("lq_resize_mode", "bicubic")))
        del resize.args["id"]
        area = Line("ResizeToTarget", {"method": "area"}, train.at("lq_resize_mode"))
        steps: list[Item] = [resize] if resize.name == area.name else [resize, area]
        draft.steps.append(Line(DEGRADE, {"source": _HR, "target": _LR}, area.place, steps))
    else:
        if whole.get("gt_usm"):  # RealESRNet's network is to make the sharpened image
            args = {"blur_limit": [51, 51], "sigma_limit": 0.0, "alpha": [0.5, 0.5], "threshold": 10, "p": 1.0}
            draft.steps.append(Line("UnsharpMask", {**args, "target": _HR}, whole.at("gt_usm")))
        draft.steps.append(degradation.line())
        draft.note(
            "Windows are cut before the degradation, which sees no pixels beyond their edges; no pool mixes pairs."
        )
    shrink = Line("ResizeToTarget", {"method": "matlab_bicubic", "round_between": True}, train.place)
    draft.eval = [Line(DEGRADE, {"source": _HR, "target": _LR}, train.place, [shrink])]


def _turns(train: OptionFile, *, rotated: bool = True) -> list[Item]:
    """`use_hflip` mirrors; `use_rot` turns over and transposes, so that with both all eight places are as likely."""
    mirrored, turned = bool(train.get("use_hflip", rotated)), rotated and bool(train.get("use_rot", True))
    names = ("D4",) if mirrored and turned else ("HorizontalFlip",) * mirrored + ("VerticalFlip", "Transpose") * turned
    where = train.at("use_rot" if turned else "use_hflip")
    return [Line(name, {"p": 1.0 if name == "D4" else 0.5}, where) for name in names]


def _output(train: OptionFile) -> dict[str, Any]:
    result = {"dtype": "float32", "layout": "chw"} | ({"color": "y"} if train.get("color") == "y" else {})
    if train.get("mean") is None:
        return {**result, "range": [0, 1]}
    return {**result, "normalize": {key: train.numbers(key) for key in ("mean", "std")}}


def _data(draft: RecipeDraft, train: OptionFile, validation: OptionFile | None, *, is_degraded: bool) -> None:
    """How the same files are read here."""
    recipe = f"{draft.name}.yaml"
    draft.dataset = _call(train, recipe, is_degraded=is_degraded)
    draft.note(f"The data: {draft.dataset}")
    if size := train.get("batch_size_per_gpu"):
        draft.note(f"The loader: ar.loader(ds, batch_size={size}, shuffle=True)")
    if validation is not None and validation.node("dataroot_gt"):
        low = "; its low resolution is made here, too" if is_degraded and validation.node("dataroot_lq") else ""
        draft.note(f"Validation: {_call(validation, recipe, is_degraded=is_degraded, mode='eval')}{low}")
    listed = next((key for key in ("meta_info_file", "meta_info") if train.get(key)), None)
    if listed:
        draft.note(f'{listed} lists the files; here a CSV file does: files="pairs.csv", a column for each target.')
    if (train.get("io_backend") or {}).get("type") == "lmdb":
        draft.note("LMDB is not read: point at the folders of images, and `augrecipes pack` them for speed.")


def _call(options: OptionFile, recipe: str, *, is_degraded: bool, mode: str = "") -> str:
    """The call that reads the data."""
    more = f', mode="{mode}")' if mode else ")"
    keys = {_LR: "dataroot_lq", _HR: "dataroot_gt"}
    listed = {
        key: options.texts(keys[key]) for key in keys if key == _HR or (not is_degraded and options.node(keys[key]))
    }
    folders = {key: result if len(result) > 1 else result[0] for key, result in listed.items()}
    if options.get("type", "").lower() == _FACES:
        return f"ar.ImageFolder({_text(folders[_HR])}, {_text(recipe)}{more}"
    template = options.get("filename_tmpl", "{}")
    names = "" if is_degraded or template == "{}" else f", names={_text({_LR: str(template)})}"
    return f"ar.PairedImages({_text(folders)}, {_text(recipe)}{names}{more}"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
