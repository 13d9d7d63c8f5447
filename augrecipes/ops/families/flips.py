"""Steps that permute pixels: flips, quarter turns, transposition; and NoOp."""

from collections.abc import Iterable
from functools import partial

from augrecipes.native.op_numbers import DRAWS, EFFECTS
from augrecipes.ops import sizes
from augrecipes.ops.dihedral import D4, QUARTERS, Symmetry, drawn_symmetry
from augrecipes.ops.families.base import geometric
from augrecipes.ops.native_op import Encoder, encoder
from augrecipes.ops.record import OpRecord


def _bits(symmetry: Symmetry) -> float:
    return float(symmetry.transpose + 2 * symmetry.flip_y + 4 * symmetry.flip_x)


def _one_of(draw: int, symmetries: Iterable[Symmetry]) -> Encoder:
    return encoder(EFFECTS.FLIPS, draw, map(_bits, symmetries), lambda params: (_bits(drawn_symmetry(params)),))


def _flip(name: str, element: str, size: sizes.Bounds | None = None) -> OpRecord:
    bits = (_bits(D4[element]),)
    flip = encoder(EFFECTS.FLIPS, arguments=bits, draws=lambda _: bits)
    return _dihedral(name, random=False, symmetry=element, size=size, native=flip, draw_period=2)


_dihedral = partial(geometric, action="dihedral")
_turn = partial(_dihedral, size=sizes.turned)

RECORDS = (
    geometric("NoOp", "identity", random=False, native=encoder(EFFECTS.KEEPS)),
    _flip("HorizontalFlip", "h"),
    _flip("VerticalFlip", "v"),
    _flip("TimeReverse", "h"),
    _flip("Transpose", "t", sizes.transposed),
    _turn(
        "RandomRotate90",
        is_rotation=True,
        draw_period=4,
        instead="no step at all",
        native=_one_of(DRAWS.ONE_OF_FOUR, QUARTERS),
    ),
    _turn("D4", draw_period=8, instead="no step at all", native=_one_of(DRAWS.ONE_OF_EIGHT, D4.values())),
    _turn("SquareSymmetry", draw_period=8, native=_one_of(DRAWS.ONE_OF_EIGHT, D4.values())),
    geometric("RandomGridShuffle", limits={"grid": (1, 100)}),
)
