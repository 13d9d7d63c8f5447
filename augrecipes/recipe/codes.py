"""Codes of what makes a file no valid recipe. Stable: a code never changes its meaning. Lints have their own table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """What one code stands for.

    Attributes:
        code: such as `E304`.
        title: what is wrong, in a few words.
        why: why it is an error.
        fix: how to mend it.
    """

    code: str
    title: str
    why: str
    fix: str


_ALL = (
    Code("E100", "not a valid recipe", "A problem without a code of its own.", "See the message."),
    Code(
        "E101",
        "the file cannot be read",
        "It is missing, a directory, or not readable.",
        "Check the path; `augrecipes list` prints the gallery's names.",
    ),
    Code("E102", "the file is too large", "A recipe is at most 1 MB.", "Give a recipe file, not a data file."),
    Code(
        "E103",
        "the file is not UTF-8",
        "Recipes are UTF-8 text; other encodings would be read differently on other machines.",
        "Save the file as UTF-8.",
    ),
    Code(
        "E104",
        "control characters",
        "The file is binary, or holds characters that YAML does not allow.",
        "Give a recipe file; remove the character.",
    ),
    Code(
        "E105",
        "YAML syntax",
        "The file is not YAML.",
        "Check indentation, brackets and quotes at the place that is named.",
    ),
    Code("E106", "nested too deep", "A recipe nests at most 32 levels.", "Use fewer nested groups."),
    Code("E107", "too many values", "A recipe holds at most 50,000 values.", "Give a recipe file, not a data file."),
    Code(
        "E108",
        "anchor or alias",
        "`&name` and `*name` hide what a step does and allow files that grow without bound.",
        "Write the value out, or make a variant with `extends:`.",
    ),
    Code(
        "E109",
        "tag",
        "`!tag` and `!!type` stand for code or types; a recipe holds plain values only.",
        "Remove the tag; quote a value to make it text.",
    ),
    Code("E110", "several documents", "A file holds one recipe.", "Split the file at `---`."),
    Code("E111", "duplicate key", "Only one of the values could count.", "Remove or rename one of them."),
    Code("E112", "merge key", "`<<` hides what a step does.", "Write the keys out, or make a variant with `extends:`."),
    Code("E113", "key is not a name", "Keys of a recipe are plain names.", "Write `name: value`."),
    Code("E114", "nothing in the file", "An empty file is no recipe.", "Start with `version: 1` and `recipe: NAME`."),
    Code(
        "E115",
        "number that cannot be used",
        "Infinity, NaN and integers over 64 bits mean nothing to a step.",
        "Give a finite number.",
    ),
    Code("E116", "too many problems", "Only the first 100 are shown.", "Mend those first."),
    Code(
        "E117",
        "a pipeline that albumentations saved",
        "`A.save` writes objects and their arguments; a recipe names steps.",
        "`augrecipes import FILE -o recipe.yaml` writes the recipe.",
    ),
    Code("E118", "too many steps", "A recipe holds at most 5,000 steps.", "Leave steps out."),
    Code("E201", "not a mapping", "A recipe is a mapping of keys.", "Start with `version: 1` and `recipe: NAME`."),
    Code(
        "E202",
        "unknown key",
        "A key that nobody reads would be silently ignored.",
        "See the nearest valid name in the message.",
    ),
    Code("E203", "missing key", "`version`, `recipe` and `steps` are needed.", "Add the key."),
    Code("E204", "wrong value of a key", "The key takes other values.", "See the message."),
    Code("E205", "version", "Only version 1 of the language exists.", "Write `version: 1`."),
    Code("E206", "reserved name", "The name is kept for a later version of the language.", "Leave it out."),
    Code(
        "E207",
        "key of another kind",
        "The key means something only in recipes of another kind.",
        "Leave it out, or change `kind:`.",
    ),
    Code(
        "E208",
        "eval cannot be derived",
        "Nothing is known of a class that the program registered, of a crop about a box that each sample names, or of "
        "a Degrade that only draws; a guess would be a silent difference between training and evaluation.",
        "Write the steps of `eval:` out. A class of yours may say `in_eval = 'keep'` or `in_eval = 'drop'`.",
    ),
    Code(
        "E209",
        "no such plugin",
        "A plugin is what an installed package announces, never a file or a module; one that is not there cannot "
        "register the classes of the steps.",
        "Install the package that announces it as an entry point of `augrecipes.plugins`. A file of your own: "
        "`augrecipes --plugin FILE.py`.",
    ),
    Code(
        "E210",
        "broken plugin",
        "It was run because the recipe names it, and it failed; or it registers a class whose name is taken.",
        "See the message; mend or reinstall the package.",
    ),
    Code(
        "E211",
        "plugin that nobody asked for",
        "The text of a page, or of a record, runs no plugin that this process has not run already.",
        "Load the recipe from its file, or with `augrecipes.load`; open the studio with a recipe that names the "
        "plugin.",
    ),
    Code(
        "E301",
        "not a step",
        "A step is a bare name or a mapping with one key.",
        "Write `- Name` or `- Name: {argument: value}`.",
    ),
    Code(
        "E302",
        "unknown step",
        "No transform has this name.",
        "See the nearest valid name; `augrecipes.register(cls)` makes a class of yours known.",
    ),
    Code(
        "E303",
        "step that recipes cannot use",
        "The class needs Python objects, other samples or volumes, or belongs in `output`.",
        "See the message.",
    ),
    Code(
        "E304",
        "unknown argument",
        "The class has no such argument and would ignore it.",
        "See the nearest valid name in the message.",
    ),
    Code("E305", "missing argument", "The class has no default for it.", "Add the argument."),
    Code("E306", "wrong type of value", "The argument takes other kinds of values.", "See the message."),
    Code("E307", "value out of range", "The class does not accept this value.", "See the message."),
    Code(
        "E308",
        "refused by the class",
        "The class's constructor does not accept these arguments, or would alter them.",
        "See the message.",
    ),
    Code(
        "E309",
        "wrong reserved key",
        "`p`, `id`, `target`, `at` and `share` have a fixed meaning. A group's `target` is its children's too; `at` "
        "stands on steps that count pixels.",
        "See the message.",
    ),
    Code("E310", "group that cannot run", "A group needs steps, and some chance to run one.", "See the message."),
    Code("E311", "id that cannot be used", "An id names one step and is no class name.", "Choose another id."),
    Code(
        "E312",
        "wrong Degrade",
        "Degrade makes one target out of another one, for every sample, at the size of the target's own grid; its "
        "source must be there before it, and no step can use its target earlier.",
        "Give source, target and steps, among them ResizeToTarget; put Degrades in order, outside groups, without p.",
    ),
    Code(
        "E313",
        "crop off the common grid",
        "Sizes of shared windows must be a whole number of pixels on every target.",
        "Use a multiple, or count in the coarsest target with `at:`.",
    ),
    Code("E314", "unknown target", "`scales:` names no such target.", "See the nearest valid name in the message."),
    Code("E401", "wrong output", "`output:` says what leaves the last step.", "See the message."),
    Code("E402", "wrong inputs", "`inputs:` says what arrives at the first step.", "See the message."),
    Code(
        "E403",
        "wrong scales",
        "`scales:` gives each target of a pair its relative grid.",
        "Such as scales: {lr: 1, hr: 4}.",
    ),
    Code("E404", "wrong bag", "`bag:` says how tiles are picked.", "Such as bag: {max_tiles: 1000}."),
    Code("E501", "variant of nothing", "The recipe that `extends:` names cannot be read.", "Check the name or path."),
    Code(
        "E502",
        "variant of a file outside",
        "`extends:` stays inside the folder of the recipe.",
        "Move the file, or use a gallery name.",
    ),
    Code("E503", "circle of variants", "A recipe cannot be a variant of itself.", "Break the circle."),
    Code(
        "E504", "too many variants of variants", "At most 16 recipes may extend one another.", "Extend an earlier one."
    ),
    Code(
        "E505",
        "no such address",
        "`set:` or `without:` names no step or argument.",
        "See the addresses in the message.",
    ),
    Code("E506", "ambiguous address", "Several steps have this class.", "Use `Class#2`, or give the step an id."),
    Code(
        "E507",
        "wrong set or without",
        "`set:` maps addresses to values, `without:` lists addresses.",
        "See the message.",
    ),
    Code(
        "E601",
        "nothing that can be imported",
        "`import` knows albumentations' saved pipelines and the configs of some frameworks, and this is none of them.",
        "See the message; `augrecipes import --help` lists what it knows.",
    ),
    Code(
        "E602",
        "no place in a recipe",
        "A part of what is imported needs Python code, other samples, or a thing that recipes do not have.",
        "See the message for the way out.",
    ),
)

CODES: dict[str, Code] = {code.code: code for code in _ALL}
