"""The table of commands: the name, arguments and function of each."""

from pathlib import Path

from augrecipes.cli.parsing import JSON, argument, choice, command, destination, number, option, repeated

_RECIPE = "A recipe file, or a name from the gallery."
_DATA = (
    "A folder of images or bags, an image, a CSV file, or annotations (COCO, YOLO, VOC, labelme); for pairs, "
    "TARGET=PATH for each target; or FILE.py:NAME, a source in Python, which is run. After a CSV file or annotations "
    "you may give split=NAME columns=OURS=THEIRS box_classes=A,B crowds=keep images=FOLDER."
)
_SOURCE = (
    "Python source or a config (JSON, YAML): read, never run; `-` for standard input; or FILE.py:NAME or "
    "MODULE:NAME, which is run."
)
_BENCH = (
    "Recipe files or gallery names; then the data: a folder of images or bags, or a CSV file; for pairs, "
    "TARGET=PATH for each target; or a packed store."
)
RECIPE = argument("recipe", "RECIPE", _RECIPE)
WORDS = argument("words", "DATA", _DATA, nargs="*")
DATA = repeated("--data", "DATA", "Another way to give DATA; for pairs, --data TARGET=PATH for each target.")
SET = repeated("--set", "KEY=VALUE", "Change an argument, as `set:` in a variant: RandomCrop.height=64. Repeatable.")
WITHOUT = repeated("--without", "NAME", "Leave a step out, as `without:` in a variant does. Repeatable.")
MODE = choice("--mode", "train|eval", "Which section of the recipe to run.", "train")
OPTIMIZE = choice("--optimize", "none|exact|fast", "Optimisation level; by default the recipe's own.")
MASKS = option("--masks", "FOLDER", "The folder of masks, which are matched to images by name.", type=Path)
SEED = number("--seed", "N", "Seed of the random parameters.", 0)
SPLIT = option("--split", "NAME", "Read only the rows of a CSV file that belong to this split.")
CHANGES = (JSON, SET, WITHOUT)

COMMANDS = (
    command("list", "List the recipes that come with augrecipes.", "recipes:list_gallery", JSON),
    command(
        "check", "Print every problem of recipes, or explain a code.", "check:check",
        argument("files", "FILE", "Recipe files, folders of them, or gallery names; - is stdin.", nargs="*"),
        option("--strict", None, "Exit 1 for warnings too."),
        choice("--format", "text|github", "Form of the output; github: annotations for GitHub Actions.", "text"),
        option("--explain", "CODE", "Say what a code means, and how to fix it."),
        *CHANGES,
    ),
    command(
        "import", "Make a recipe from another framework's pipeline.", "interop:import_",
        argument("source", "SOURCE", _SOURCE),
        destination("FILE", "Where to write the recipe."),
        option("--key", "PATH", "Which pipeline to import: keys or names in the source, joined by dots.", ""),
        repeated("--set", "NAME=VALUE", "Give a value that the Python source does not hold: cfg.size=512. Repeatable."),
        option("--base-root", "FOLDER", "Where files named by `_base_` lie; or the config's folder.", type=Path),
        option("--time", None, "Measure how much faster `fast` is on a generated image.", True),
        JSON,
    ),
    command(
        "eject", "Write a recipe as plain albumentations.", "interop:eject", RECIPE,
        option("--python", None, "Write Python code; the default without --json."),
        destination("FILE", "Where to write the code; by default it is printed."),
        MODE, *CHANGES,
    ),
    command(
        "check-data", "Print every defect of the files that a recipe reads.", "data:check_data",
        argument("recipe", "RECIPE", "Says how files are read; you may leave it out with --recipe.", nargs="?"),
        WORDS, DATA, MASKS,
        option("--recipe", "R", "Also measure whether this recipe keeps the labels true.", dest="judged"),
        destination("FILE", "With --recipe: the PNG or JPEG to draw lost and mirrored labels in."),
        number("--samples", "N", "With --recipe: how many samples to draw at most.", 512, 1),
        repeated("--names", "TARGET={}x4", "How a target's file names follow from the scene's name. Repeatable."),
        SPLIT, option("--content", None, "Also decode every image, and compare the small and large one of each pair."),
        MODE, *CHANGES,
    ),
    command(
        "step", "Say what a step does, and list its arguments.", "recipes:step",
        argument("name", "NAME", "A step; without it, all steps are listed.", nargs="?"), JSON,
    ),
    command(
        "explain", "Show what a recipe does and how it runs.", "recipes:explain",
        RECIPE, WORDS, MODE, OPTIMIZE, DATA,
        number("--seconds", "S", "How long to time the plan and the recipe as written.", 2.0, 0.01, 600),
        MASKS, SEED, number("--epoch", "N", "Show the values that schedules give in this epoch.", None, 0), *CHANGES,
    ),
    command(
        "diff", "Say how two recipes differ in effect.", "recipes:diff",
        argument("words", "A [B] [DATA]", "Recipes; B is A if left out. Then the data to draw.", nargs="+"),
        choice("--mode", "train|eval|both", "Which sections to compare.", "both"),
        DATA, destination("FILE", "The PNG or JPEG to write.", "diff.png"),
        number("--rows", "N", "How many samples the image shows.", 4, 1, 64),
        OPTIMIZE, SEED, number("--epoch", "N", "Epoch of the samples in the image.", 0, 0), MASKS, *CHANGES,
    ),
    command(
        "preview", "Draw what a recipe does to some images.", "show:preview",
        RECIPE, WORDS, DATA, destination("FILE", "The PNG or JPEG to write.", "preview.png"),
        option("--stages", None, "Draw one sample after every step, instead of many samples."),
        number("--rows", "N", "How many images, scenes or bags to draw.", 4, 1, 64),
        number("--columns", "N", "Samples of each image (default: 6), or tiles of each bag (12).", None, 1, 32),
        number("--pairs", "N", "Draw this many pairs, and name the steps that degraded each.", None, 1, 64),
        number("--batch", "N", "Draw one batch of this many samples, before and after `batch:`.", None, 1, 64),
        option("--channels", "A,B,C", "Channels to show as red, green and blue, or one as grey: nir,r,g.", ""),
        MODE, OPTIMIZE, SEED, number("--epoch", "N", "Epoch of the first sample.", 0, 0), MASKS, *CHANGES,
    ),
    command(
        "studio", "Write a recipe in the browser and see what it does.", "show:studio",
        argument("recipe", "RECIPE", "A recipe file, which the page writes, or a name from the gallery.", nargs="?"),
        DATA, MASKS, number("--port", "N", "The port to listen on; 0 takes a free one.", 0, 0, 65535),
        option("--no-open", None, "Print the address without opening a browser."),
        option("--read-only", None, "Never write the recipe's file."),
    ),
    command(
        "pack", "Run a recipe's first steps once, into a packed dataset.", "pack:pack",
        argument("recipe", "RECIPE", _RECIPE, nargs="?"), WORDS, DATA,
        choice("--format", "raw|lossless|jpeg", "raw: memory-mapped; lossless: like PNG; jpeg: smallest.", "raw"),
        number("--quality", "N", "JPEG quality; by default JPEG files are copied where possible.", None, 1, 100),
        choice("--mode", "train|eval", "Pack for one section; by default the store serves both."),
        number("--epochs", "K", "Also bake K epochs of the random steps.", None, 1),
        SEED, MASKS, SPLIT, number("--workers", "N", "Worker processes; by default one per core, 0: none.", None, 0),
        choice("--on-error", "skip|raise", "What to do with unreadable inputs; skip: list them and go on.", "skip"),
        option("--out -o", "STORE", "The store to make: a new folder, or an address such as s3://bucket/name."),
        option("--part", "I/N", "Pack one of N parts into its own folder in --out."),
        option("--merge", "DIR", "Make one store of the parts in DIR, without moving them."),
        option("--shard-size", "SIZE", "The largest size of a store's files, such as 2G; by default 512M."),
        choice("--engine", "ray", "Pack all parts on a Ray cluster."),
        option("--address", "ADDRESS", "The address of the Ray cluster, such as auto."),
        number("--parts", "N", "With --engine: how many parts to pack.", None, 1),
        option("--dry-run", None, "Say what would be baked and how large it is, and write nothing."),
        *CHANGES,
    ),
    command(
        "verify-store", "Compare a packed dataset with its checksums.", "pack:verify_store",
        argument("words", "STORE", "A folder made by `pack`.", nargs="*"),
        repeated("--data", "STORE", "Another way to give STORE."), JSON,
    ),
    command(
        "verify", "Measure how far the optimiser's plan is from the recipe.", "data:verify", RECIPE, WORDS, DATA,
        choice("--optimize", "exact|fast", "The level to compare with none.", "fast", "none|exact|fast"),
        number("--samples", "N", "How many samples of an epoch to compare, spread over the data.", 64, 1),
        number("--epochs", "N", "How many epochs to compare, each with new random parameters.", 1, 1),
        SEED, MODE, MASKS,
        destination("FILE", "Draw the three worst samples in this PNG or JPEG."), *CHANGES,
    ),
    command(
        "bench", "Compare recipes: how fast they are, stage by stage, and what they do.", "bench:bench",
        argument("words", "RECIPE... [DATA]", _BENCH, nargs="+"), DATA,
        choice("--against", "stock", "Compare each recipe with albumentations' own Compose."),
        option("--optimize", "none,exact,fast", "Levels to compare; by default none and each recipe's own."),
        number("--samples", "N", "How many samples a pass has at most.", 64, 1),
        number("--seconds", "S", "Time for each recipe, level and number of workers, roughly.", 10.0, 0.01, 3600),
        option("--workers", "0,1,2,4", "Numbers of workers to try, as threads and as processes; 0: neither."),
        option("--sizes", "1000,10000", "With --workers: samples per epoch; by default from the data, as time allows."),
        number("--batch-size", "N", "Batch size; by default 8, and 1 for bags and evaluated pairs.", None, 1),
        option("--train-step", "MS|FILE.py[:NAME]", "Measure how long a step (MS ms, or your model's) waits for data."),
        option("--device", "cpu|cuda|cuda:N", "Where the model of --train-step runs; by default a GPU if any."),
        option("--effects", None, "Also measure what the steps do to the samples.", True),
        option("--ablate", None, "Leave each step out in turn."),
        destination("FOLDER", "The folder for a report: a page and bench.json."),
        option("--baseline", "FILE", "Compare with this record, which `--against stock --json` wrote.", type=Path),
        option("--fail-if-slower", "15%", "With --baseline: the slowdown to allow.", "15%"),
        MODE, SEED, MASKS, *CHANGES,
    ),
    command(
        "trial", "Compare recipes by what a small network learns under each.", "bench:trial",
        argument("words", "RECIPE... [DATA]", _BENCH, nargs="+"), DATA,
        repeated("--valid", "DATA", "Data to score on; by default a fifth of DATA, whole groups and slides by class."),
        choice("--task", "classify|segment|sr|bag", "What the network learns; by default the recipes and data decide."),
        number("--minutes", "M", "How long the whole trial may take.", 10.0, 0.05, 100_000),
        number("--seeds", "N", "Trainings of each recipe; by default 8, or more for many recipes.", None, 1, 1000),
        number("--epochs", "E", "Epochs of each training; by default as many as fit.", None, 0.001, 100_000),
        option("--model", "FILE.py[:make]", "Your function that makes the network; its file is run."),
        option("--device", "cpu|cuda|cuda:N", "Where the network trains; by default a GPU if any."),
        option("--ablate", None, "Compare one recipe with itself without each of its steps."),
        option("--fresh", None, "Train again, and do not use results of earlier runs."),
        destination("FOLDER", "The folder for a report: a page with the trial and the speed."),
        MASKS, option("--valid-masks", "FOLDER", "The folder of masks for --valid.", type=Path), *CHANGES,
    ),
    command(
        "cache", "Show what is cached from run to run, or clear it.", "pack:cache",
        argument("names", "NAME", "Which caches; by default all.", nargs="*"),
        option("--clear", None, "Empty the caches; they are rebuilt when needed."), JSON,
    ),
    command("doctor", "Say what is installed, and what each missing part costs.", "doctor:doctor", JSON),
    command("schema", "Print the JSON Schema of recipes, for editors.", "recipes:schema", JSON),
    command(
        "demo", "See augrecipes work on images that it draws itself.", "show:demo",
        destination("FOLDER", "Where to write.", "demo-out"),
        number("--seed", "N", "Seed of the data and of the random parameters.", 0), JSON,
    ),
)  # fmt: skip
BY_NAME = {each.name: each for each in COMMANDS}
