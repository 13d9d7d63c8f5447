"""Values of an option file by key, checked, with places; which of its keys nobody asked for; and its degradation.

The degradation of Real-ESRGAN becomes one `Degrade` step. As in the gallery's real-esrgan-x4, windows come first; each
sample is degraded by itself, so that no pool of pairs mixes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import pi
from typing import Any, NoReturn

from augrecipes.interop.draft import FOREIGN, Item, Line, RecipeDraft, wrong
from augrecipes.ops.groups import DEGRADE, NO_OP, ONE_OF, RANDOM_ORDER, SEQUENTIAL
from augrecipes.recipe import arguments, grammar, nodes

Weighted = list[tuple[str, float]]  # names, each with its share
_NUMBER, _TEXT = {"type": "number"}, {"type": "string"}
_TEXTS = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]}


class OptionFile:
    """What one or several mappings of an option file say; the first that has a key counts."""

    def __init__(self, place: nodes.Place, *sources: nodes.MappingNode) -> None:
        self.place = place
        self._entries = {key: (node, at) for each in reversed(sources) for key, at, node in each.pairs()}
        self._read: set[str] = set()

    def at(self, key: str) -> nodes.Place:
        """Where a key stands; where all of it starts, if it does not."""
        return self._entries[key][1] if key in self._entries else self.place

    def node(self, key: str) -> nodes.Node | None:
        """What stands at a key."""
        self._read.add(key)
        return self._entries[key][0] if key in self._entries else None

    def unread(self, source: nodes.MappingNode) -> list[tuple[str, nodes.Place]]:
        """Keys of one of the mappings that nobody asked for, or that stand in one before it, and where."""
        return [
            (key, at) for key, at, node in source.pairs() if key not in self._read or self._entries[key][0] is not node
        ]

    def get(self, key: str, otherwise: Any = None) -> Any:
        """The value of a key; what it is otherwise, where the key is missing or empty."""
        node = self.node(key)
        value = None if node is None else nodes.plain(node)
        return otherwise if value is None else value

    def refuse(self, key: str, message: str) -> NoReturn:
        """End the import for what a key says."""
        raise wrong(message, self.at(key), key, "E603")

    def checked(self, key: str, schema: arguments.Schema, otherwise: Any = None) -> Any:
        """The value of a key, or what it is otherwise; one that the schema does not accept ends the import."""
        value = self.get(key, otherwise)
        for finding in arguments.check_value(schema, nodes.from_value(value, self.at(key))):
            self.refuse(key, finding.message)
        return value

    def whole(self, key: str, otherwise: int | None = None) -> int:
        """The whole number of at least one at a key."""
        return int(self.checked(key, {"type": "integer", "minimum": 1}, otherwise))

    def chance(self, key: str, otherwise: float = 0.0) -> float:
        """The probability at a key."""
        return float(self.checked(key, grammar.P, otherwise))

    def numbers(self, key: str, count: int | None = None, otherwise: list[float] | None = None) -> list[float]:
        """The list of so many numbers at a key; of any count, where it is None."""
        size = {} if count is None else {"prefixItems": [_NUMBER] * count, "minItems": count, "maxItems": count}
        return list(self.checked(key, {"type": "array", "items": _NUMBER, **size}, otherwise))

    def range(self, key: str, otherwise: list[float] | None = None) -> list[float]:
        """The lower and the upper end at a key."""
        low, high = self.numbers(key, 2, otherwise)
        if low > high:
            self.refuse(key, f"must be a range, the smaller end first, got {[low, high]}")
        return [low, high]

    def texts(self, key: str, otherwise: list[str] | None = None) -> list[str]:
        """The list of texts at a key; one is a list of one."""
        value = self.checked(key, _TEXTS, otherwise)
        return [value] if isinstance(value, str) else list(value)

    def flag(self, key: str, *, otherwise: bool = False) -> bool:
        """Whether a key says so."""
        return bool(self.checked(key, {"type": "boolean"}, otherwise))

    def choice(self, key: str, known: Iterable[str], otherwise: str) -> str:
        """The one of several names at a key."""
        return str(self.checked(key, {"enum": [*known]}, otherwise))

    def shares(self, key: str, otherwise: list[float]) -> list[float]:
        """The weights at a key, as many as they are otherwise, as parts of 1."""
        weights = self.numbers(key, len(otherwise), otherwise)
        if sum(weights) <= 0 or min(weights) < 0:
            self.refuse(key, f"must be weights, of which one is above 0, got {weights}")
        return [weight / sum(weights) for weight in weights]

    def weighted(self, key: str, weights: str, known: Iterable[str], usual: Mapping[str, float]) -> Weighted:
        """The texts at one key, each with its share by the weights at another, or by the usual ones, or alike."""
        names = self.texts(key, list(usual))
        if unknown := [name for name in names if name not in known]:
            self.refuse(key, f"{unknown[0]!r} is none of {', '.join(known)}")
        alike = list(usual.values()) if len(usual) == len(names) else [1.0] * len(names)
        result = dict.fromkeys(names, 0.0)  # a name may be there twice
        for name, share in zip(names, self.shares(weights, alike), strict=True):
            result[name] += share
        return [each for each in result.items() if each[1]]


_KERNELS: dict[str, float] = FOREIGN["basicsr"]["kernels"]  # shapes, and how often each where the file does not say
MODES: dict[str, str] = FOREIGN["basicsr"]["modes"]
# How resizes are made where the file does not say, each as often.
_USUAL_MODES = {False: ("area", "bilinear", "bicubic"), True: ("bilinear", "bicubic", "nearest-exact", "lanczos")}
_SMOOTH = {"bilinear": "area", "bicubic": "matlab_bicubic"}  # what smooths before it makes smaller
# A model that degrades the sharpened image, whatever its network is to make.
_SHARPENING = "RealESRGAN"
# Ranges of the Gaussians' deviations where the file does not say, of both blurs.
_SIGMA = {(False, ""): [0.2, 3.0], (False, "2"): [0.2, 1.5], (True, ""): [0.2, 2.0], (True, "2"): [0.2, 1.0]}
_NYQUIST = 3.1415  # the highest cutoff of a sinc filter


@dataclass(frozen=True, slots=True)
class Degradation:
    """One option file's degradation."""

    options: OptionFile  # the file's top and its data set
    redux: bool  # of traiNNer-redux: a second resize may keep the size, and resizes smooth before they make smaller
    draft: RecipeDraft  # that remarks go to

    def line(self) -> Line:
        """The Degrade step."""
        options, usual = self.options, 0.0 if self.redux else 1.0
        steps = [*self.sharpened(), *self.blurred("", options.chance("blur_prob", usual))]
        steps += [*self.resized("", [0.4, 1.5]), *self.noisy(""), *self.compressed("")]
        again = options.chance("second_blur_prob" if options.node("second_blur_prob") else "blur_prob2", usual)
        steps += [*self.blurred("2", again), *self.resized("2", [0.6, 1.2]), *self.noisy("2"), *self.last()]
        return Line(DEGRADE, {"source": "hr", "target": "lr"}, options.place, steps)

    def sharpened(self) -> list[Item]:
        """The high resolution, sharpened before it is degraded."""
        options, thick = self.options, "thicklines_prob"
        if options.chance(thick):
            self.draft.refuse(thick, "no step draws thick lines: make them beforehand, in files", options.at(thick))
        sides = options.range("lq_usm_radius_range", [1, 25])
        if not options.flag("lq_usm"):
            if not str(options.get("model_type", "")).startswith(_SHARPENING):
                return []
            sides = [50.0, 50.0]
        limit = [max(3, int(side) // 2 * 2 + 1) for side in sides]
        return [self.step("UnsharpMask", blur_limit=limit, sigma_limit=0.0, alpha=[0.5, 0.5], threshold=10, p=1.0)]

    def last(self) -> list[Item]:
        """The final size and a sinc filter, before or behind the last compression."""
        p, sides = self.options.chance("final_sinc_prob"), self.sides("final_kernel_range")
        compressed = self.compressed("2")
        size = self.one_of("final", [(self.resize(mode), weight) for mode, weight in self.modes("3")])
        if p:
            args = {"shapes": {"sinc": 1.0}, **sides, "cutoff": [round(pi / 3, 4), _NYQUIST], "id": "final-sinc"}
            size.append(self.step("KernelBlur", "final_kernel_range", **args, p=p))
        if not compressed:
            return size
        whole = size[0] if len(size) == 1 else Line(SEQUENTIAL, {}, self.options.place, size)
        return [Line(RANDOM_ORDER, {}, self.options.place, [*compressed, whole])]

    def sides(self, key: str) -> dict[str, list[int]]:
        """The sides of a kernel, as steps have them."""
        low, high = self.options.range(key, [5, 17] if self.redux else [7, 21])
        if low % 2 != 1 or high % 2 != 1:
            self.options.refuse(key, f"sides of kernels are odd, got {[low, high]}")
        return {"blur_limit": [int(low), int(high)]}

    def ways(self, number: str) -> list[float]:
        """How often a resize makes larger, makes smaller, and keeps the size."""
        return self.options.shares(f"resize_prob{number}", [0.3, 0.4, 0.3] if number else [0.2, 0.7, 0.1])

    def modes(self, number: str) -> Weighted:
        """How a resize may be made, and how often each."""
        keys = f"resize_mode_list{number}", f"resize_mode_prob{number}"
        return self.options.weighted(*keys, MODES, dict.fromkeys(_USUAL_MODES[self.redux], 1.0))

    def resized(self, number: str, usual: list[float]) -> list[Item]:
        """A resize by a factor, of the image or, the second one, of the final size; or none."""
        up, down, keep = self.ways(number)
        low, high = self.options.range(f"resize_range{number}", usual)
        has_keep = bool(number) and not self.redux  # to the final size, where it is neither larger nor smaller
        ways = {"up": (up, sorted([1.0, high])), "down": (down, sorted([low, 1.0]))}
        ways |= {"keep": (keep, [])} if has_keep else {}
        choices = [
            (self.resize(mode, number, ends, f"{way}-{mode}"), share * weight)
            for way, (share, ends) in ways.items()
            for mode, weight in self.modes(number)
        ]
        return self.one_of(f"resize{number or 1}", [*choices, (self.step(NO_OP), 0.0 if has_keep else keep)])

    def resize(self, mode: str, number: str = "3", ends: Sequence[float] = (), name: str = "") -> Line:
        """One resize, by a factor between the ends or to the final size."""
        key, ways = f"resize_range{number}", {"id": name or mode}
        if not number:
            smooth = {"area_for_downscale": "image"} if self.redux and mode == "bilinear" else {}
            limit = [round(end - 1, 6) for end in ends]
            return self.step("RandomScale", key, scale_limit=limit, interpolation=MODES[mode], **smooth, **ways)
        method = (_SMOOTH if self.redux else {}).get(mode, MODES[mode])
        return self.step("ResizeToTarget", key, method=method, **({"scale": [*ends]} if ends else {}), **ways)

    def blurred(self, number: str, p: float) -> list[Item]:
        """A kernel of one of several shapes, with the probability `p`."""
        options, sinc = self.options, self.options.chance(f"sinc_prob{number}")
        kernels = options.weighted(f"kernel_list{number}", f"kernel_prob{number}", _KERNELS, _KERNELS)
        shapes = {"sinc": sinc} | {name: round(share * (1 - sinc), 4) for name, share in kernels}
        args = {
            "shapes": {name: share for name, share in shapes.items() if share},
            **self.sides(f"kernel_range{number}"),
            "sigma_limit": options.range(f"blur_sigma{number}", _SIGMA[self.redux, number]),
            "betag_range": options.range(f"betag_range{number}", [0.5, 4.0]),
            "betap_range": options.range(f"betap_range{number}", [1.0, 2.0]),
            "id": f"blur{number or 1}",
        }
        return [self.step("KernelBlur", f"blur_sigma{number}", **args, p=p)] if p else []

    def noisy(self, number: str) -> list[Item]:
        """Gaussian or Poisson noise, each in colour or in grey."""
        gauss, gray = (self.options.chance(f"{key}_noise_prob{number}") for key in ("gaussian", "gray"))
        std = [round(each / 255, 4) for each in self.options.range(f"noise_range{number}", [0, 0])]
        scale = self.options.range(f"poisson_scale_range{number}", [0, 0])
        choices = [(self.step(NO_OP), (0.0 if std[1] else gauss) + (0.0 if scale[1] else 1 - gauss))]
        for name, key, args, share in (
            ("GaussNoise", "noise_range", {"std_range": std}, gauss if std[1] else 0.0),
            ("PoissonNoise", "poisson_scale_range", {"scale_range": scale}, 1 - gauss if scale[1] else 0.0),
        ):
            in_colour = self.step(name, key + number, **args, id=f"{name}-colour")
            in_grey = self.step(name, key + number, **args, per_channel=False, id=f"{name}-grey")
            choices += [(in_colour, share * (1 - gray)), (in_grey, share * gray)]
        return self.one_of(f"noise{number or 1}", choices)

    def compressed(self, number: str) -> list[Item]:
        """JPEG, at a quality of a range."""
        p = self.options.chance(f"jpeg_prob{number}", 1.0)
        low, high = self.options.range(f"jpeg_range{number}", [75, 95])
        args = {"quality_range": [int(low), int(high)], "id": f"jpeg{number or 1}"}
        return [self.step("ImageCompression", f"jpeg_range{number}", **args, p=p)] if p else []

    def one_of(self, name: str, choices: Sequence[tuple[Line, float]]) -> list[Item]:
        """One of several steps by weight, as simply as it can be said; those that do nothing count as one.

        Their ids, which tell equal steps apart, begin with the name.
        """
        idle = sum(weight for line, weight in choices if line.name == NO_OP)
        acting = [(line, weight) for line, weight in choices if line.name != NO_OP and round(weight, 4) > 0]
        for line, weight in acting:
            line.args |= {"id": f"{name}-{line.args['id']}", "p": round(weight, 4)}
        if len(acting) == 1:
            line, weight = acting[0]
            line.args |= {"id": name, "p": round(weight / (weight + idle), 4)}
        if len(acting) < 2:
            return [line for line, _ in acting]
        still = [self.step(NO_OP, p=round(idle, 4))] if idle else []
        return [Line(ONE_OF, {"id": name}, self.options.place, [*(line for line, _ in acting), *still])]

    def step(self, name: str, key: str = "", **args: Any) -> Line:
        """One step, where a key stands."""
        return Line(name, args, self.options.at(key))
