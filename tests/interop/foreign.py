"""What importers must read back: steps as other frameworks' configs have them, and random programs."""

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from augrecipes.recipe.model import Step

Node = dict[str, Any]


def arguments(step: Step) -> Node:
    """All that a class of albumentations is given: what recipes leave out, where its own default is another."""
    found = step.args.plain()
    if step.p is not None:
        found["p"] = step.p
    if step.name in ("OneOf", "Sequential"):
        found.setdefault("p", 1.0)
    if step.name == "RandomOrder":
        found.setdefault("n", len(step.steps))
    return found


def written(step: Step, key: str, package: str = "", inside: str = "") -> Node:
    """A step in a mapping: the class at a key, its arguments at another, or beside it."""
    args = arguments(step)
    if step.steps:
        args["transforms"] = [written(child, key, package, inside) for child in step.steps]
    return {key: package + step.name, **({inside: args} if inside and args else args)}


def _python(value: Any) -> str:
    """As MM frameworks write it: `dict(...)`, tuples and lists."""
    if isinstance(value, dict):
        if all(key.isidentifier() for key in value):
            return f"dict({', '.join(f'{key}={_python(each)}' for key, each in value.items())})"
        return f"{{{', '.join(f'{key!r}: {_python(each)}' for key, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_python, value))}]"
    return repr(value)


def _config(*form: str) -> Callable[[Sequence[Step]], str]:
    def dump(steps: Sequence[Step]) -> str:
        return json.dumps({"seed": 1, "data": {"train_transform": [written(step, *form) for step in steps]}}, indent=1)

    return dump


def _mm(steps: Sequence[Step]) -> str:
    listed = _python([written(step, "type") for step in steps])
    load = "[dict(type='LoadImageFromFile'), dict(type='LoadAnnotations', with_bbox=True)]"
    albu = "dict(type='Albu', transforms=albu_transforms, keymap={'img': 'image'})"
    norm = "dict(mean=[123.675, 116.28, 103.53], std=[58.395, 57.12, 57.375], to_rgb=True)"
    return (
        f"_base_ = './missing.py'\nalbu_transforms = {listed}\nimg_norm_cfg = {norm}\nbegin = {load}\n"
        f"train_pipeline = [*begin, {albu}, dict(type='Normalize', **img_norm_cfg), dict(type='Collect')]\n"
        "data = dict(samples_per_gpu=2, train=dict(type='CocoDataset', pipeline=train_pipeline))\n"
    )


# Name of a file in each dialect, and what writes it.
DIALECTS: dict[str, Callable[[Sequence[Step]], str]] = {
    "hydra.yaml": _config("_target_", "albumentations."),
    "lightning.yaml": _config("class_path", "albumentations.", "init_args"),
    "named.json": _config("name", "", "params"),
    "typed.yml": _config("type"),
    "mm.py": _mm,
}


_NAMES = ["A", "x", "cfg", "size", "train", "tfms", "self", "args", "parser", "np", "T", "f", "g", "C", "_base_", "p"]
_ATTRIBUTES = ["size", "Compose", "Blur", "append", "get", "transforms", "add_argument", "parse_args", "pi", "items"]
_FUNCTIONS = ["int", "len", "list", "tuple", "dict", "range", "round", "str", "zip", "sorted", "bool", "max"]
_METHODS = ["append", "extend", "insert", "update", "get", "pop"]
_SIGNS = ["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "|", "&", "==", "<", "in", "not in", "is", "and", "or"]
_LITERALS = ["0", "1", "-1", "0.5", "10**9", "9**9**9", "'a'*10**9", "'train'", "None", "True", "[]", "{}", "()", "1e9",
             "b'x'", "...", "1j", "'%999999999d'", "f'{x:>999999999}'", "f'{size}'", "range(10**12)"]  # fmt: skip


class _Writer:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.left = 120

    def pick(self, *options: str) -> str:
        return self.random.choice(options)

    def value(self, depth: int = 0) -> str:
        self.left -= 1
        if depth > 5 or self.left < 0 or self.random.random() < 0.2:
            return self.pick(*_NAMES, *(f"({literal})" for literal in _LITERALS))
        inner = lambda: self.value(depth + 1)  # noqa: E731
        return self.random.choice([
            lambda: f"{inner()}.{self.pick(*_ATTRIBUTES)}",
            lambda: f"{inner()}[{inner()}]",
            lambda: f"{inner()}[{inner()}:{inner()}]",
            lambda: f"({inner()} {self.pick(*_SIGNS)} {inner()})",
            lambda: f"(not {inner()})", lambda: f"-{inner()}",
            lambda: f"[{inner()}, *{inner()}, {inner()}]",
            lambda: f"({inner()}, {inner()})",
            lambda: f"{{'train': {inner()}, **{inner()}, {inner()}: {inner()}}}",
            lambda: f"({inner()} if {inner()} else {inner()})",
            lambda: f"[{inner()} for x in {inner()} if {inner()}]",
            lambda: f"{{{inner()}: {inner()} for x, p in {inner()}}}",
            lambda: f"(lambda x, p={inner()}: {inner()})",
            lambda: f"{inner()}({inner()}, *{inner()}, p={inner()}, **{inner()})",
            lambda: f"A.Compose([{inner()}, A.Blur(p={inner()}), *{inner()}], p={inner()})",
            lambda: f"A.{self.pick('OneOf', 'SomeOf', 'Sequential')}({inner()}, {inner()})",
            lambda: f"dict(type='Resize', scale={inner()}, **{inner()})",
            lambda: f"{self.pick(*_FUNCTIONS)}({inner()})",
            lambda: f"(x := {inner()})", lambda: f"functools.partial({inner()}, {inner()})",
            lambda: f"{inner()}.{self.pick(*_METHODS)}({inner()}, {inner()})",
        ])()  # fmt: skip

    def target(self) -> str:
        return self.pick("x", "tfms", "self.x", "train, size", "cfg['x']", "A", "(x, *p)", "cfg.size", "_base_", "size")

    def block(self, depth: int, indent: str) -> str:
        return "".join(self.statement(depth + 1, indent + "    ") for _ in range(self.random.randint(1, 3)))

    def statement(self, depth: int = 0, indent: str = "") -> str:
        simple = depth > 3 or self.left < 0 or self.random.random() < 0.5
        if simple:
            line = self.random.choice([
                lambda: f"{self.target()} = {self.value()}", lambda: f"x += {self.value()}", self.value,
                lambda: f"return {self.value()}", lambda: "pass", lambda: "break", lambda: "continue",
                lambda: f"raise {self.value()}", lambda: "import albumentations as A", lambda: "from x import *",
                lambda: f"x: {self.value()} = {self.value()}", lambda: "global x", lambda: f"del {self.target()}",
                lambda: f"assert {self.value()}",
            ])()  # fmt: skip
            return f"{indent}{line}\n"
        inner = self.block(depth, indent)
        head = self.random.choice([
            lambda: f"if {self.value()}:", lambda: f"for {self.pick('x', 'p, x')} in {self.value()}:",
            lambda: f"while {self.value()}:",
            lambda: f"def {self.pick('f', 'g', '__init__')}(self, x={self.value()}, *a, **k):",
            lambda: f"class C({self.value()}):", lambda: f"with {self.value()} as x:",
        ])()  # fmt: skip
        tail = f"{indent}else:\n{self.block(depth, indent)}" if head.startswith(("if", "for")) else ""
        return f"{indent}{head}\n{inner}{tail}"


def source(seed: int) -> str:
    """A program; every fourth one with a piece of it cut out or doubled."""
    writer = _Writer(seed)
    text = "import albumentations as A\n" + "".join(writer.statement() for _ in range(writer.random.randint(1, 12)))
    if seed % 4 == 0:
        first, last = sorted(writer.random.sample(range(len(text)), 2))
        text = text[:first] + text[first:last] * writer.random.choice([0, 2]) + text[last:]
    return text
