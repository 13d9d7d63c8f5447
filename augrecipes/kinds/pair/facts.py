"""What is known of pairs."""

from augrecipes.kinds.record import Facts

FACTS = Facts(
    dataset="PairedImages",
    unit="scene",
    keys=frozenset({"scales", "allow_resampling", "target", "at"}),
    scales=True,
)
