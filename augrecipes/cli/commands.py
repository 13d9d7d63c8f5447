"""The commands: what each is called, what it takes, and the function that runs it."""

from __future__ import annotations

from pathlib import Path

from augrecipes.cli.parsing import JSON, argument, choice, command, destination, number, option, repeated

_RECIPE = "A recipe file, or a name of the gallery."
_DATA = (
    "A folder of images or of bags, an image, a CSV file, or annotations (COCO, YOLO, VOC, labelme); for pairs "
    "TARGET=PATH for each target; or FILE.py:NAME, a source in Python, which is run. With a CSV file or annotations "
    "also split=NAME columns=OURS=THEIRS box_classes=A,B crowds=keep images=FOLDER."
)
_SOURCE = (
    "Python source or a config (JSON, YAML): read, never run; `-` for standard input; or FILE.py:NAME or "
    "MODULE:NAME, which is run."
)
_BENCH = (
    "Recipe files, or names of the gallery; then the data: a folder of images or of bags, or a CSV file; for pairs "
    "TARGET=PATH for each target; or a packed store."
)
RECIPE = argument("recipe", "RECIPE", _RECIPE)
WORDS = argument("words", "DATA", _DATA, nargs="*")
DATA = repeated("--data", "DATA", "The same as DATA; for pairs --data TARGET=PATH for each target.")
SET = repeated("--set", "KEY=VALUE", "Change an argument, as `set:` in a variant: 'RandomCrop.height=64'. Repeatable.")
WITHOUT = repeated("--without", "NAME", "Leave a step out, as `without:` in a variant does. Repeatable.")
MODE = choice("--mode", "train|eval", "Which section of the recipe.", "train")
OPTIMIZE = choice("--optimize", "none|exact|fast", "Instead of the recipe's own choice.")
MASKS = option("--masks", "FOLDER", "Masks, matched by name.", type=Path)
SEED = number("--seed", "N", "Seed of the random parameters.", 0)
SPLIT = option("--split", "NAME", "Of a CSV file: the rows of this split.")
CHANGES = (JSON, SET, WITHOUT)

COMMANDS = (
    command("list", "List the recipes that come with augrecipes.", "recipes:list_gallery", JSON),
    command(
        "check", "Print every problem of recipes, and say what a code means.", "check:check",
        argument("files", "FILE", "Recipe files, folders of them, patterns, gallery names; - is stdin.", nargs="*"),
        option("--strict", None, "Exit 1 for warnings too."),
        choice("--format", "text|github", "github: annotations in GitHub Actions.", "text"),
        option("--explain", "CODE", "Say what a code means, and how to fix it."),
        *CHANGES,
    ),
    command(
        "import", "Make a recipe of another framework's pipeline.", "interop:import_",
        argument("source", "SOURCE", _SOURCE),
        destination("FILE", "Where to write the recipe."),
        option("--key", "PATH", "Which pipeline: keys or names of the source, joined by dots.", ""),
        repeated("--set", "NAME=VALUE", "What Python source does not say: --set cfg.size=512. Repeatable."),
        option("--base-root", "FOLDER", "Where files of `_base_` lie; else the config's folder.", type=Path),
        option("--time", None, "Measure what `fast` gains on a generated image.", True),
        JSON,
    ),
    command(
        "eject", "Write a recipe as plain albumentations.", "interop:eject", RECIPE,
        option("--python", None, "Python code, which is what is written without --json."),
        destination("FILE", "Where to write the code; else it is printed."),
        MODE, *CHANGES,
    ),
    command(
        "check-data", "Print every defect of the files that a recipe reads.", "data:check_data",
        argument("recipe", "RECIPE", "Says how files are read; with --recipe it may be left out.", nargs="?"),
        WORDS, DATA, MASKS,
        option("--recipe", "R", "Also measure whether this recipe keeps the labels true.", dest="judged"),
        destination("FILE", "With --recipe: where to draw what it loses and mirrors, a PNG or JPEG."),
        number("--samples", "N", "With --recipe: draw at most so many samples.", 512, 1),
        repeated("--names", "TARGET={}x4", "How names of pairs are made of the scene's. Repeatable."),
        SPLIT, option("--content", None, "Also decode every image; of pairs compare small and large."),
        MODE, *CHANGES,
    ),
    command(
        "step", "Say what a step does, and list its arguments.", "recipes:step",
        argument("name", "NAME", "A step; without it all are listed.", nargs="?"), JSON,
    ),
    command(
        "explain", "Show what a recipe does and how it will run.", "recipes:explain",
        RECIPE, WORDS, MODE, OPTIMIZE, DATA,
        number("--seconds", "S", "How long the plan is timed, and the recipe.", 2.0, 0.01, 600),
        MASKS, SEED, number("--epoch", "N", "With the numbers of this epoch.", None, 0), *CHANGES,
    ),
    command(
        "diff", "Say what differs between two recipes in effect.", "recipes:diff",
        argument("words", "A [B] [DATA]", "Recipes; without B it is A. Then the data of --data.", nargs="+"),
        choice("--mode", "train|eval|both", "Which sections.", "both"),
        DATA, destination("FILE", "The PNG or JPEG to write.", "diff.png"),
        number("--rows", "N", "Samples in the image.", 4, 1, 64),
        OPTIMIZE, SEED, number("--epoch", "N", "Epoch of the samples in the image.", 0, 0), MASKS, *CHANGES,
    ),
    command(
        "preview", "Draw what a recipe does to some images.", "show:preview",
        RECIPE, WORDS, DATA, destination("FILE", "The PNG or JPEG to write.", "preview.png"),
        option("--stages", None, "One sample, after every step, instead of many samples."),
        number("--rows", "N", "Images, scenes or bags.", 4, 1, 64),
        number("--columns", "N", "Samples of each image (6), or tiles of each bag (12).", None, 1, 32),
        number("--pairs", "N", "So many pairs, and the steps that degraded each.", None, 1, 64),
        number("--batch", "N", "One batch of so many samples, before and after `batch:`.", None, 1, 64),
        option("--channels", "A,B,C", "The channels to show as red, green and blue, or one as grey: nir,r,g.", ""),
        MODE, OPTIMIZE, SEED, number("--epoch", "N", "Epoch of the first sample.", 0, 0), MASKS, *CHANGES,
    ),
    command(
        "studio", "Write a recipe and see what it does, in the browser.", "show:studio",
        argument("recipe", "RECIPE", "A recipe file, which the page writes, or a name of the gallery.", nargs="?"),
        DATA, MASKS, number("--port", "N", "0 takes a free one.", 0, 0, 65535),
        option("--no-open", None, "Print the address, and open no browser."),
        option("--read-only", None, "Never write the recipe's file."),
    ),
    command(
        "pack", "Run a recipe's first steps once, into a packed dataset.", "pack:pack",
        argument("recipe", "RECIPE", _RECIPE, nargs="?"), WORDS, DATA,
        choice("--format", "raw|lossless|jpeg", "raw: mapped; lossless: as small as PNG; jpeg: small.", "raw"),
        number("--quality", "N", "Of --format jpeg; else JPEGs stay as they are where they can.", None, 1, 100),
        choice("--mode", "train|eval", "For one section alone; else the store serves both."),
        number("--epochs", "K", "Bake K epochs of the random steps, too.", None, 1),
        SEED, MASKS, SPLIT, number("--workers", "N", "Processes; by default one a core, 0: none.", None, 0),
        choice("--on-error", "skip|raise", "skip: list unreadable inputs and go on.", "skip"),
        option("--out -o", "STORE", "The store: a folder that is made, or s3://…."),
        option("--part", "I/N", "One of N parts, into a folder of its own in --out."),
        option("--merge", "DIR", "Make one store of the parts in DIR, where they are."),
        option("--shard-size", "SIZE", "The largest file of a store: 2G; else 512M."),
        choice("--engine", "ray", "All parts on a Ray cluster."),
        option("--address", "ADDRESS", "Of a Ray cluster, such as auto."),
        number("--parts", "N", "How many, with --engine.", None, 1),
        option("--dry-run", None, "Say what would be baked, and how large it is."),
        *CHANGES,
    ),
    command(
        "verify-store", "Compare a packed dataset with its checksums.", "stores:verify_store",
        argument("words", "STORE", "A folder that `pack` has made.", nargs="*"),
        repeated("--data", "STORE", "The same as STORE."), JSON,
    ),
    command(
        "verify", "Measure whether the optimiser's plan is the recipe.", "data:verify", RECIPE, WORDS, DATA,
        choice("--optimize", "exact|fast", "The plan, compared with none.", "fast", "none|exact|fast"),
        number("--samples", "N", "Samples of an epoch, spread over the data.", 64, 1),
        number("--epochs", "N", "How often, with new random parameters.", 1, 1),
        SEED, MODE, MASKS,
        destination("FILE", "Draw the worst three samples as PNG or JPEG."), *CHANGES,
    ),
    command(
        "bench", "Compare recipes: how fast, stage by stage, and what they do.", "bench:bench",
        argument("words", "RECIPE... [DATA]", _BENCH, nargs="+"), DATA,
        choice("--against", "stock", "Compare each recipe with albumentations' own Compose."),
        option("--optimize", "none,exact,fast", "Levels to compare; else none, and what each recipe chooses."),
        number("--samples", "N", "Samples of a pass, at most.", 64, 1),
        number("--seconds", "S", "For each side and number of workers, roughly.", 10.0, 0.01, 3600),
        option("--workers", "0,1,2,4", "Sweep: epochs read by so many threads, and by so many processes; 0: neither."),
        option("--sizes", "1000,10000", "With --workers: samples of an epoch; else from the data, as time allows."),
        number("--batch-size", "N", "Samples in a batch: 8; 1 of bags, and of pairs in evaluation.", None, 1),
        option("--train-step", "MS|FILE.py[:NAME]", "The share of a training step, of ms or your model, that waits."),
        option("--device", "cpu|cuda|cuda:N", "Of the model. Otherwise: a GPU where there is one."),
        option("--effects", None, "Also look at what the steps do to the samples.", True),
        option("--ablate", None, "Leave each step out in turn."),
        destination("FOLDER", "Write a report here: a page, and bench.json."),
        option("--baseline", "FILE", "A record of --json --against stock, to be held against.", type=Path),
        option("--fail-if-slower", "15%", "With --baseline: how much slower is too slow.", "15%"),
        MODE, SEED, MASKS, *CHANGES,
    ),
    command(
        "trial", "Compare recipes by what a small network learns under each.", "trial:trial",
        argument("words", "RECIPE... [DATA]", _BENCH, nargs="+"), DATA,
        repeated("--valid", "DATA", "To score; else a fifth of the data, by class, whole groups and slides."),
        choice("--task", "classify|segment|sr|bag", "What is learned; else by the recipes and the data."),
        number("--minutes", "M", "That all of it may take.", 10.0, 0.05, 100_000),
        number("--seeds", "N", "Trainings of each recipe, at most; else 8, or what it takes to decide.", None, 1, 1000),
        number("--epochs", "E", "Of each training; else as many as fit.", None, 0.001, 100_000),
        option("--model", "FILE.py[:make]", "A function of yours that makes the network; its file is run."),
        option("--device", "cpu|cuda|cuda:N", "Where it trains. Otherwise: a GPU where there is one."),
        option("--ablate", None, "One recipe: leave each of its steps out in turn."),
        option("--fresh", None, "Train again what earlier runs of this trial have trained."),
        destination("FOLDER", "Write a report here: a page with the trial and the speed."),
        MASKS, option("--valid-masks", "FOLDER", "Masks of --valid.", type=Path), *CHANGES,
    ),
    command(
        "cache", "Show what is cached from run to run, or clear it.", "stores:cache",
        argument("names", "NAME", "Which ones; all where none is named.", nargs="*"),
        option("--clear", None, "Empty them; they are rebuilt when needed."), JSON,
    ),
    command("doctor", "Say what is installed, and what each missing part costs.", "doctor:doctor", JSON),
    command("schema", "Print the JSON Schema of recipes, for editors.", "recipes:schema", JSON),
    command(
        "demo", "See it work on images that it draws itself.", "show:demo",
        destination("FOLDER", "Where to write.", "demo-out"),
        number("--seed", "N", "Seed of the data and of the draws.", 0), JSON,
    ),
)  # fmt: skip
BY_NAME = {each.name: each for each in COMMANDS}
