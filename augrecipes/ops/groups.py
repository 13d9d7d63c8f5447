"""The names of groups and other special steps; all other modules take them from here."""

# The groups of steps: albumentations' names with our defaults.
ONE_OF, SOME_OF, SEQUENTIAL, RANDOM_ORDER = GROUPS = ("OneOf", "SomeOf", "Sequential", "RandomOrder")
# Groups that gate by their p again after albumentations' OneOf has picked them by it.
GATED = (SOME_OF, RANDOM_ORDER)

# Steps of pair recipes without a transform: the compiler runs them on several targets at once.
DEGRADE = "Degrade"
PAIR_STEPS: tuple[str, ...] = (DEGRADE,)

# Pipelines, which albumentations can nest; ReplayCompose records its draws.
COMPOSE, REPLAY_COMPOSE = "Compose", "ReplayCompose"

# The step that does nothing.
NO_OP = "NoOp"

# Policies: groups written as one step, which the parser expands.
RAND_AUGMENT, TRIVIAL_AUGMENT, AUTO_AUGMENT = POLICIES = ("RandAugment", "TrivialAugment", "AutoAugment")
