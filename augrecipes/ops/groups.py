"""Groups of steps, and the other words of the language that rules call by name: nothing else spells them out."""

# The groups of steps: albumentations' names, with defaults of our own.
ONE_OF, SOME_OF, SEQUENTIAL, RANDOM_ORDER = GROUPS = ("OneOf", "SomeOf", "Sequential", "RandomOrder")
# Those that look at their own p once more where OneOf of albumentations has picked them by it.
GATED = (SOME_OF, RANDOM_ORDER)

# Steps of pair recipes that no transform stands behind: the compiler carries them out on several targets at once.
DEGRADE = "Degrade"
PAIR_STEPS: tuple[str, ...] = (DEGRADE,)

# The pipeline itself, which albumentations nests, too; one that notes its draws is one.
COMPOSE, REPLAY_COMPOSE = "Compose", "ReplayCompose"

# What stands for a step that is left out.
NO_OP = "NoOp"

# Policies: groups that are written as one step. They are groups before anything but the parser sees them.
RAND_AUGMENT, TRIVIAL_AUGMENT, AUTO_AUGMENT = POLICIES = ("RandAugment", "TrivialAugment", "AutoAugment")
