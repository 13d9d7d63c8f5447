"""MixUp: each sample and another one of its batch, blended, and their labels in the same shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from augrecipes.mixtures.record import ALPHA, ANNOTATIONS, CLASSES, PARTNERS, Mixture

if TYPE_CHECKING:
    import numpy as np

    from augrecipes.mixtures.batch import BatchArrays


def mix_up(batch: BatchArrays, rng: np.random.Generator, alpha: float, partners: str) -> None:
    """Blend each sample with its partner: share · sample + (1 - share) · partner, one share a batch.

    Drawn: the share from Beta(alpha, alpha), then the partners. Zhang et al., "mixup: beyond empirical risk
    minimization", ICLR 2018.
    """
    share = float(rng.beta(alpha, alpha))
    batch.blend(batch.order(rng, partners), share)


MIXTURES = {
    "MixUp": Mixture(
        "Each sample blended with another one of the batch, and their labels in the same shares.",
        mix_up,
        {"alpha": ALPHA, "partners": PARTNERS, "classes": CLASSES},
        labels=True,
        needs=("label",),
        bars=ANNOTATIONS,
    )
}
