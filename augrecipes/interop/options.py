"""OptionFile: checked values of an option file by key, with their places; and the conversion of its degradation.

The degradation of Real-ESRGAN becomes one `Degrade` step. As in the gallery's real-esrgan-x4, crops come first. Each
sample is degraded by itself; Real-ESRGAN's pool of pairs has no counterpart.
"""

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
    """The values of one or several mappings of an option file; the first mapping that has a key counts."""

    def __init__(self, place: nodes.Place, *sources: nodes.MappingNode) -> None:
        self.place = place
        self._entries = {key: (node, at) for each in reversed(sources) for key, at, node in each.pairs()}
        self._read: set[str] = set()

    def at(self, key: str) -> nodes.Place:
        """The place of a key; without it the start of the options."""
        return self._entries[key][1] if key in self._entries else self.place

    def node(self, key: str) -> nodes.Node | None:
        """The node at a key, or None; the key counts as read."""
        self._read.add(key)
        return self._entries[key][0] if key in self._entries else None

    def unread(self, source: nodes.MappingNode) -> list[tuple[str, nodes.Place]]:
        """Keys of a mapping, with their places, that were not read or are overridden by an earlier mapping."""
        return [
            (key, at) for key, at, node in source.pairs() if key not in self._read or self._entries[key][0] is not node
        ]

    def get(self, key: str, otherwise: Any = None) -> Any:
        """The value of a key, or `otherwise` if the key is missing or empty."""
        node = self.node(key)
        value = None if node is None else nodes.plain(node)
        return otherwise if value is None else value

    def refuse(self, key: str, message: str) -> NoReturn:
        """End the import with an error at a key."""
        raise wrong(message, self.at(key), key, "E603")

    def checked(self, key: str, schema: arguments.Schema, otherwise: Any = None) -> Any:
        """The value of a key, or `otherwise`; a value that the schema refuses ends the import."""
        value = self.get(key, otherwise)
        for finding in arguments.check_value(schema, nodes.from_value(value, self.at(key))):
            self.refuse(key, finding.message)
        return value

    def whole(self, key: str, otherwise: int | None = None) -> int:
        """The integer at a key, at least 1."""
        return int(self.checked(key, {"type": "integer", "minimum": 1}, otherwise))

    def chance(self, key: str, otherwise: float = 0.0) -> float:
        """The probability at a key."""
        return float(self.checked(key, grammar.P, otherwise))

    def numbers(self, key: str, count: int | None = None, otherwise: list[float] | None = None) -> list[float]:
        """The list of `count` numbers at a key; None: of any length."""
        size = {} if count is None else {"prefixItems": [_NUMBER] * count, "minItems": count, "maxItems": count}
        return list(self.checked(key, {"type": "array", "items": _NUMBER, **size}, otherwise))

    def range(self, key: str, otherwise: list[float] | None = None) -> list[float]:
        """The lower and the upper end at a key."""
        low, high = self.numbers(key, 2, otherwise)
        if low > high:
            self.refuse(key, f"must be a range, the smaller end first, got {[low, high]}")
        return [low, high]

    def texts(self, key: str, otherwise: list[str] | None = None) -> list[str]:
        """The list of texts at a key; a single text counts as a list."""
        value = self.checked(key, _TEXTS, otherwise)
        return [value] if isinstance(value, str) else list(value)

    def flag(self, key: str, *, otherwise: bool = False) -> bool:
        """The boolean at a key."""
        return bool(self.checked(key, {"type": "boolean"}, otherwise))

    def choice(self, key: str, known: Iterable[str], otherwise: str) -> str:
        """The name at a key, one of `known`."""
        return str(self.checked(key, {"enum": [*known]}, otherwise))

    def shares(self, key: str, otherwise: list[float]) -> list[float]:
        """The weights at a key, as many as in `otherwise`, normalised to a sum of 1."""
        weights = self.numbers(key, len(otherwise), otherwise)
        if sum(weights) <= 0 or min(weights) < 0:
            self.refuse(key, f"must be weights, of which one is above 0, got {weights}")
        return [weight / sum(weights) for weight in weights]

    def weighted(self, key: str, weights: str, known: Iterable[str], usual: Mapping[str, float]) -> Weighted:
        """The names at one key with their shares: by the weights at another key, the usual weights, or equal ones."""
        names = self.texts(key, list(usual))
        if unknown := [name for name in names if name not in known]:
            self.refuse(key, f"{unknown[0]!r} is none of {', '.join(known)}")
        alike = list(usual.values()) if len(usual) == len(names) else [1.0] * len(names)
        result = dict.fromkeys(names, 0.0)  # a name may occur twice
        for name, share in zip(names, self.shares(weights, alike), strict=True):
            result[name] += share
        return [each for each in result.items() if each[1]]


_KERNELS: dict[str, float] = FOREIGN["basicsr"]["kernels"]  # default weights of kernel shapes
MODES: dict[str, str] = FOREIGN["basicsr"]["modes"]
# Default modes of resizes, equally likely.
_USUAL_MODES = {False: ("area", "bilinear", "bicubic"), True: ("bilinear", "bicubic", "nearest-exact", "lanczos")}
_SMOOTH = {"bilinear": "area", "bicubic": "matlab_bicubic"}  # antialiased counterparts
# A prefix of models that degrade the sharpened image.
_SHARPENING = "RealESRGAN"
# Default ranges of the Gaussians' sigma, by (redux, number of the blur).
_SIGMA = {(False, ""): [0.2, 3.0], (False, "2"): [0.2, 1.5], (True, ""): [0.2, 2.0], (True, "2"): [0.2, 1.0]}
_NYQUIST = 3.1415  # the highest cutoff of a sinc filter


@dataclass(frozen=True, slots=True)
class Degradation:
    """One option file's degradation."""

    options: OptionFile  # the file's top and its data set
    redux: bool  # traiNNer-redux: the second resize may keep the size, and downscaling is antialiased
    draft: RecipeDraft  # receives remarks

    def line(self) -> Line:
        """The Degrade step."""
        options, usual = self.options, 0.0 if self.redux else 1.0
        steps = [*self.sharpened(), *self.blurred("", options.chance("blur_prob", usual))]
        steps += [*self.resized("", [0.4, 1.5]), *self.noisy(""), *self.compressed("")]
        again = options.chance("second_blur_prob" if options.node("second_blur_prob") else "blur_prob2", usual)
        steps += [*self.blurred("2", again), *self.resized("2", [0.6, 1.2]), *self.noisy("2"), *self.last()]
        return Line(DEGRADE, {"source": "hr", "target": "lr"}, options.place, steps)

    def sharpened(self) -> list[Item]:
        """The steps that sharpen the high resolution before it is degraded."""
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
        """The steps of the final resize and sinc filter, before or after the last compression."""
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
        """The range of kernel sizes as a step's argument."""
        low, high = self.options.range(key, [5, 17] if self.redux else [7, 21])
        if low % 2 != 1 or high % 2 != 1:
            self.options.refuse(key, f"sides of kernels are odd, got {[low, high]}")
        return {"blur_limit": [int(low), int(high)]}

    def ways(self, number: str) -> list[float]:
        """The probabilities that a resize enlarges, shrinks, or keeps the size."""
        return self.options.shares(f"resize_prob{number}", [0.3, 0.4, 0.3] if number else [0.2, 0.7, 0.1])

    def modes(self, number: str) -> Weighted:
        """The modes of a resize with their shares."""
        keys = f"resize_mode_list{number}", f"resize_mode_prob{number}"
        return self.options.weighted(*keys, MODES, dict.fromkeys(_USUAL_MODES[self.redux], 1.0))

    def resized(self, number: str, usual: list[float]) -> list[Item]:
        """The steps of a resize by a factor: of the image, or for the second one of the final size."""
        up, down, keep = self.ways(number)
        low, high = self.options.range(f"resize_range{number}", usual)
        has_keep = bool(number) and not self.redux  # keeping means resizing to the final size
        ways = {"up": (up, sorted([1.0, high])), "down": (down, sorted([low, 1.0]))}
        ways |= {"keep": (keep, [])} if has_keep else {}
        choices = [
            (self.resize(mode, number, ends, f"{way}-{mode}"), share * weight)
            for way, (share, ends) in ways.items()
            for mode, weight in self.modes(number)
        ]
        return self.one_of(f"resize{number or 1}", [*choices, (self.step(NO_OP), 0.0 if has_keep else keep)])

    def resize(self, mode: str, number: str = "3", ends: Sequence[float] = (), name: str = "") -> Line:
        """A resize step, by a factor between the ends or to the final size."""
        key, ways = f"resize_range{number}", {"id": name or mode}
        if not number:
            smooth = {"area_for_downscale": "image"} if self.redux and mode == "bilinear" else {}
            limit = [round(end - 1, 6) for end in ends]
            return self.step("RandomScale", key, scale_limit=limit, interpolation=MODES[mode], **smooth, **ways)
        method = (_SMOOTH if self.redux else {}).get(mode, MODES[mode])
        return self.step("ResizeToTarget", key, method=method, **({"scale": [*ends]} if ends else {}), **ways)

    def blurred(self, number: str, p: float) -> list[Item]:
        """The step of a blur with one of several kernel shapes, with probability `p`."""
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
        """The steps of Gaussian or Poisson noise, each in colour or grey."""
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
        """The step of JPEG compression."""
        p = self.options.chance(f"jpeg_prob{number}", 1.0)
        low, high = self.options.range(f"jpeg_range{number}", [75, 95])
        args = {"quality_range": [int(low), int(high)], "id": f"jpeg{number or 1}"}
        return [self.step("ImageCompression", f"jpeg_range{number}", **args, p=p)] if p else []

    def one_of(self, name: str, choices: Sequence[tuple[Line, float]]) -> list[Item]:
        """One of several steps by weight, in the simplest form; idle choices are merged.

        The steps' ids begin with `name`, so that equal steps draw differently.
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
        """A step at the place of a key."""
        return Line(name, args, self.options.at(key))
