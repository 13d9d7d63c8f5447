"""Conversion of option files of BasicSR and its forks: crops and flips of pairs, real ones or made by degradation."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from augrecipes.interop.draft import FOREIGN, Item, Line, RecipeDraft, name_of, wrong
from augrecipes.interop.options import MODES, Degradation, OptionFile
from augrecipes.interop.reading import Document
from augrecipes.ops.groups import DEGRADE, ONE_OF
from augrecipes.recipe.nodes import MappingNode, Node

_DATA, _DEGRADATIONS = "datasets", "degradations"
_BESIDE = ("network_g", "scale", "model_type")  # an option file has one of these beside `datasets`
_PAIRS, _MADE = ("pairedimagedataset", "paired"), ("realesrgandataset", "otf")
_PLAIN, _FACES, _MIXED = "singlegtdataset", "ffhqdataset", "realesrganpaireddataset"
_KNOWN = "PairedImageDataset, RealESRGANDataset, RealESRGANPairedDataset, SingleGtDataset, FFHQDataset, paired, otf"
_MOVING = ("video", "recurrent", "reds", "vimeo")
# Keys that only traiNNer-redux has.
_REDUX = ("lq_size", "lq_usm", "resize_mode_list", "resize_mode_list2", "resize_mode_list3")
_HR, _LR = "hr", "lr"
# Batch mixing by its name there: the step, its arguments, and why it has none, at all or for different scales.
_MIXING: dict[str, tuple[str, dict[str, Any], str]] = FOREIGN["basicsr"]["mixing"]
_IDLE: list[str] = FOREIGN["basicsr"]["idle"]  # keys of a data set that say nothing of a sample
# Top-level keys that look like a degradation's.
_DEGRADING = re.compile("noise|blur|jpeg|resize|kernel|sinc|beta[gp]|lines")
_LOST: dict[str, str] = FOREIGN["basicsr"]["lost"]  # keys that are not imported and what to do instead; "": others
_COLORS = {"rgb": "rgb", "y": "y", "yuv444": "ycbcr"}  # of the network's input


def is_options(document: Document) -> bool:
    """Whether the document has `datasets` beside a network or a scale."""
    keys = document.top.entries.keys() if isinstance(document.top, MappingNode) else ()
    return isinstance(_at(document.top, _DATA), MappingNode) and any(key in keys for key in _BESIDE)


def _at(node: Node | None, key: str) -> MappingNode | None:
    """The mapping at a key of a mapping, or None."""
    result = node.entries.get(key) if isinstance(node, MappingNode) else None
    return result if isinstance(result, MappingNode) else None


def draft_of_options(document: Document) -> RecipeDraft:
    """The draft of a recipe for the training data.

    Raises:
        RecipeError: video, data sets of other kinds, or invalid values; the error names key and line.
    """
    top, data = document.top, _at(document.top, _DATA)
    train = _at(data, "train")
    if not isinstance(top, MappingNode) or data is None or train is None:
        place = document.place if data is None else data.place
        message = "no `datasets: train:`: an option file for testing has nothing that a recipe is made of"
        raise wrong(message, replace(place, file=document.file), _DATA, "E603")
    degradations = _at(top, _DEGRADATIONS)
    sections = [train] if degradations is None else [degradations, train]
    options = OptionFile(train.place, top, *sections)
    kind = options.get("type", "")
    name = str(kind).lower()
    if any(word in name for word in _MOVING) or options.get("num_frame"):
        options.refuse("type", f"{kind} is of video, and a recipe works on images: there is no import for it")
    if name not in (*_PAIRS, *_MADE, _PLAIN, _FACES, _MIXED):
        options.refuse("type", f"{kind!r} is not a data set that can be imported; known are {_KNOWN}")
    if options.node(_DEGRADATIONS) and degradations is None:
        options.refuse(_DEGRADATIONS, "must be a table of options, beside `datasets` and not in it")
    if name == _MIXED:
        real = options.chance("dataroot_lq_prob") if options.flag("high_order_degradation") else 1.0
        name = _PAIRS[0] if real == 1 else _MIXED if real else _MADE[0]
    redux = any(key in section.entries for section in (top, *sections) for key in _REDUX)
    form = "neosr" if name in (_PAIRS[1], _MADE[1]) else "traiNNer-redux" if redux else "BasicSR's form"
    draft = RecipeDraft(name_of(document.file), f"an option file of {form}", train.place)
    if name == _FACES:
        draft.steps, draft.eval = _turns(options, rotated=False), []
        draft.keys["output"] = _output(options)
    else:
        _fill_pair(draft, options, name, redux=redux)
        _fill_batch(draft, options, "augmentation", "aug_prob", {"none": 1.0})
        if (training := _at(top, "train")) and (moa := OptionFile(training.place, training)).flag("use_moa"):
            _fill_batch(draft, moa, "moa_augs", "moa_probs", FOREIGN["basicsr"]["moa"])
            options.node("train")
    _data(draft, options, data, name)
    _name_unread(draft, options, [*sections, top], degraded=name in (*_MADE, _MIXED))
    return draft


def _fill_pair(draft: RecipeDraft, options: OptionFile, name: str, *, redux: bool) -> None:
    """Fill in crops at two scales, and the degradation that makes the low resolution."""
    scale = options.whole("scale")
    usual = "patch_size" if name in (_PAIRS[1], _MADE[1]) else "gt_size"
    key = next((key for key in (usual, "lq_size", "patch_size", "gt_size") if options.node(key)), usual)
    side, rest = divmod(options.whole(key), scale if key == "gt_size" else 1)
    if rest:
        options.refuse(key, f"no whole number of pixels at scale {scale}: write a multiple of {scale}")
    output = _output(options)
    if (color := options.choice("input_pixel_format", _COLORS, "rgb")) != "rgb":
        output = {_LR: {**output, "color": _COLORS[color]}, _HR: output}
    draft.keys |= {"kind": "pair", "scales": {_LR: 1, _HR: scale}, "output": output}
    window = Line("RandomCrop", {"height": side, "width": side, "at": _LR}, options.at(key))
    draft.steps = [window, *_turns(options)]
    if name in _PAIRS:
        draft.eval = []
        return
    degradation = Degradation(options, redux, draft)
    if name == _PLAIN:
        resize = degradation.resize(options.choice("lq_resize_mode", MODES, "bicubic"))
        del resize.args["id"]
        draft.steps.append(Line(DEGRADE, {"source": _HR, "target": _LR}, options.place, [resize]))
    else:
        if options.flag("gt_usm"):  # RealESRNet's network is to make the sharpened image
            args = {"blur_limit": [51, 51], "sigma_limit": 0.0, "alpha": [0.5, 0.5], "threshold": 10, "p": 1.0}
            draft.steps.append(Line("UnsharpMask", {**args, "target": _HR}, options.at("gt_usm")))
        draft.steps.append(degradation.line())
        draft.note("Windows are cut before the degradation, which sees no pixels around them; no pool mixes pairs.")
    shrink = Line("ResizeToTarget", {"method": "matlab_bicubic", "round_between": True}, options.place)
    draft.eval = [Line(DEGRADE, {"source": _HR, "target": _LR}, options.place, [shrink])]
    if name == _MIXED:
        draft.keys["inputs"], draft.eval = {_LR: {"real": options.chance("dataroot_lq_prob")}}, []


def _fill_batch(draft: RecipeDraft, options: OptionFile, key: str, chances: str, usual: Mapping[str, float]) -> None:
    """Fill in the steps that mix the pairs of a batch, of which one is drawn by weight."""
    on_one_grid, at = draft.keys["scales"][_HR] == 1, options.at(key)
    lines: list[Item] = []
    acting = 0.0
    for name, share in options.weighted(key, chances, _MIXING, usual):
        step, args, why = _MIXING[name]
        if step and (on_one_grid or not why):
            lines.append(Line(step, {**args, "p": round(share, 4)}, at))
            acting += share
        elif why:
            draft.refuse(f"{key}: {name}", f"{why}; that share of the batches stays unmixed", at)
    if lines:
        draft.batch = lines if len(lines) == 1 else [Line(ONE_OF, {"p": round(acting, 4)}, at, lines)]
        draft.note("`batch:` is run by ar.loader, or ar.collate(ds) in a DataLoader: take it out of the training loop.")
    if lines and key == "augmentation":
        draft.note("neosr mixes 3 of 10 batches by two or more of these, without weights; here each by one.")


def _turns(train: OptionFile, *, rotated: bool = True) -> list[Item]:
    """The flips: `use_hflip` mirrors, `use_rot` flips vertically and transposes; both together are a uniform D4."""
    mirrors, rotates = train.flag("use_hflip", otherwise=rotated), rotated and train.flag("use_rot", otherwise=True)
    names = ("D4",) if mirrors and rotates else ("HorizontalFlip",) * mirrors + ("VerticalFlip", "Transpose") * rotates
    where = train.at("use_rot" if rotates else "use_hflip")
    return [Line(name, {"p": 1.0 if name == "D4" else 0.5}, where) for name in names]


def _output(train: OptionFile) -> dict[str, Any]:
    color = train.choice("color", ("rgb", "y"), "rgb")
    result = {"dtype": "float32", "layout": "chw"} | ({"color": color} if color == "y" else {})
    if train.get("mean") is None:
        return {**result, "range": [0, 1]}
    return {**result, "normalize": {key: train.numbers(key) for key in ("mean", "std")}}


def _data(draft: RecipeDraft, train: OptionFile, data: MappingNode, name: str) -> None:
    """Fill in the calls that read the same files."""
    recipe, has_low = f"{draft.name}.yaml", name in (*_PAIRS, _MIXED)
    draft.dataset = _call(train, recipe, has_low=has_low)
    if key := next((key for key in ("batch_size_per_gpu", "batch_size") if train.get(key)), ""):
        draft.note(f"The loader: ar.loader(ds, batch_size={train.whole(key)}, shuffle=True)")
    train.node(_DATA)
    for key, at, node in data.pairs():
        if key != "train" and not key.startswith(("val", "test")):
            draft.refuse(f"{_DATA}: {key}", _LOST[_DATA], at)
        if not key.startswith("val") or not isinstance(node, MappingNode):
            continue
        if (validation := OptionFile(node.place, node)).node("dataroot_gt"):
            low = "; its low resolution is made here, too" if not has_low and validation.node("dataroot_lq") else ""
            draft.note(f"Validation: {_call(validation, recipe, has_low=has_low, mode='eval')}{low}")
    if listed := next((key for key in ("meta_info_file", "meta_info") if train.get(key)), None):
        draft.note(f'{listed} lists the files; here a CSV file does: files="pairs.csv", a column for each target.')
    if "lmdb" in f"{train.get('io_backend')} {draft.dataset}":
        draft.note("LMDB is not read: point at the folders of images, and `augrecipes pack` them for speed.")
    if train.get("dataset_enlarge_ratio") != "auto" and (times := train.whole("dataset_enlarge_ratio", 1)) > 1:
        draft.note(f"dataset_enlarge_ratio: samples_per_epoch={times} * len(ds), in the call.")


def _call(options: OptionFile, recipe: str, *, has_low: bool, mode: str = "") -> str:
    """The call that reads the data."""
    more = f', mode="{mode}")' if mode else ")"
    keys = {_LR: "dataroot_lq"} if has_low and (options.node("dataroot_lq") or not mode) else {}
    listed = {key: options.texts(at) for key, at in {**keys, _HR: "dataroot_gt"}.items()}
    folders = {key: result if len(result) > 1 else result[0] for key, result in listed.items()}
    if str(options.get("type", "")).lower() == _FACES:
        return f"ar.ImageFolder({_text(folders[_HR])}, {_text(recipe)}{more}"
    (template,) = options.texts("filename_tmpl", ["{}"])[:1]
    names = f", names={_text({_LR: template})}" if has_low and template != "{}" else ""
    return f"ar.PairedImages({_text(folders)}, {_text(recipe)}{names}{more}"


def _name_unread(draft: RecipeDraft, options: OptionFile, sections: Sequence[MappingNode], *, degraded: bool) -> None:
    """Refuse or note every unread key; most keys of the last section, the file's top, do not concern samples."""
    idle: dict[str, None] = {}
    for section in sections:
        for key, at in options.unread(section):
            if key in _IDLE or (section is sections[-1] and not (degraded and _DEGRADING.search(key))):
                idle[key] = None
            else:
                draft.refuse(key, _LOST.get(key, _LOST[""]), at)
    if idle:
        draft.note(f"No recipe says what is of no sample: {', '.join(idle)}.")


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
