"""What the compiler hands to a Pipeline: a plan for each way in which images arrive, and all else that it needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from augrecipes.compiler.rewrite.nodes import Fused, Steps, action_of
from augrecipes.compiler.rewrite.rule import Firing, apply_rules
from augrecipes.compiler.rewrite.rules import rules_for
from augrecipes.flow import Arrival, Flow
from augrecipes.ops.records import op_record
from augrecipes.ops.schedule import in_epoch
from augrecipes.recipe.model import Mode, Optimize, Recipe, Step

ARRIVALS: tuple[Arrival, ...] = ("uint8", "float32", "encoded", "together")
UNOPTIMIZED_INPUTS: tuple[Arrival, ...] = ("float32", "together")  # these run as albumentations runs them
_PASSING = ("identity", "dihedral", "lookup")  # actions that commute with a cut, bit for bit


@dataclass(frozen=True, slots=True)
class Plan:
    """The compiler's plan for images that arrive in one way.

    Attributes:
        steps: the nodes that run, in order: steps as written, or what rules replaced them by.
        fired: the rules that fired.
        reads: the first steps keep only a part of an image, so that the rest of a file need not be decoded.
    """

    steps: Steps
    fired: tuple[Firing, ...] = ()
    reads: bool = False


@dataclass(frozen=True, slots=True)
class Compiled:
    """Everything that a Pipeline is built from, and all that travels when it is pickled.

    Attributes:
        recipe: the source.
        mode: `train` or `eval`.
        optimize: the level that was asked for.
        seed: the seed of every draw.
        save_applied_params: add `applied` to the samples.
        plans: a plan for each arrival: `uint8`, `float32`, `encoded`, `together`.
        threads: how many work on the tiles of a bag; None: one per core, and one inside a DataLoader worker.
        pauses: another part of the recipe follows; targets are returned as the steps left them.
        resumes: another part ran before; targets arrive as its steps left them.
        later: targets of a pair that the following part makes.
        added: further targets by name, and the albumentations target that each is like.
    """

    recipe: Recipe
    mode: Mode
    optimize: Optimize
    seed: int
    save_applied_params: bool
    plans: dict[Arrival, Plan] = field(compare=False)
    threads: int | None = None
    pauses: bool = False
    resumes: bool = False
    later: frozenset[str] = frozenset()
    added: Mapping[str, str] = field(default_factory=dict)

    @property
    def steps(self) -> Steps:
        """The outermost steps, as they were written."""
        return self.recipe.section(self.mode) or ()

    def unoptimised(self) -> "Compiled":
        """The same recipe with its steps as written."""
        return replace(self, optimize="none", plans=dict.fromkeys(ARRIVALS, Plan(self.steps)))

    def in_epoch(self, epoch: int) -> "Compiled":
        """The same plans with the numbers that scheduled steps have in an epoch."""
        nodes = {id(node): in_epoch(node, epoch) for plan in self.plans.values() for node in plan.steps}
        plans = {
            arrival: replace(plan, steps=tuple(nodes[id(node)] for node in plan.steps))
            for arrival, plan in self.plans.items()
        }
        return replace(self, recipe=self.recipe.in_epoch(epoch), plans=plans)


def plan(recipe: Recipe, steps: tuple[Step, ...], optimize: Optimize, arrival: Arrival) -> Plan:
    """Rewrite the steps for one arrival; deep images, and several that come together, keep the steps as written."""
    if arrival in UNOPTIMIZED_INPUTS or recipe.inputs.stack or recipe.targets:
        return Plan(steps)
    rules = () if recipe.inputs.is_deep else rules_for(recipe, optimize)
    nodes, fired = apply_rules(steps, flow_of(recipe, arrival), rules)
    reads = optimize != "none" and arrival == "encoded" and not recipe.inputs.takes_channels
    return Plan(nodes, fired, reads=reads and _leaves_a_part(nodes))


def _leaves_a_part(nodes: Steps) -> bool:
    """Whether the first steps, those that cut, turn, look levels up or resample, keep only a part of an image."""
    for node in nodes:
        if isinstance(node, Fused):
            return node.name == "JoinedWarps"
        action = action_of(node)
        if node.steps or node.target or action not in (*_PASSING, "window", "warp"):
            return False
        if action == "window" or op_record(node.name).resizes == "window":
            return True
        if action == "warp":
            return False
    return False


def flow_of(recipe: Recipe, arrival: Arrival) -> Flow:
    """What rules may rely on where the recipe's steps begin."""
    inputs = recipe.inputs
    return Flow(
        boxes=inputs.boxes is not None or inputs.keypoints is not None,
        encoded=arrival == "encoded",
    )
