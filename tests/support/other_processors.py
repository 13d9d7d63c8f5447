"""Tests that hold kernels to the bits that OpenCV has on x86: where it has others, plans leave that work to Python.

They rightly do, so on other processors these tests have nothing to look at, and are skipped where the kernels' own
probes say so.
"""

import platform
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import pytest

_X86 = frozenset({"x86_64", "amd64"})
RESIZES, WARPS = "resizes", "warps"
# Of each file of laws: how the names of such tests begin, and whose bits each needs: a class's, of resizes, of warps.
NEEDS: Mapping[str, Mapping[str, str]] = {
    "test_batches.py": dict.fromkeys(
        ("test_a_fork_after_batches", "test_every_backend", "test_planted_faults_in_bags"), RESIZES
    ),
    "test_native_boxes.py": {"test_planted_faults_are_found": RESIZES},
    "test_quick_apply.py": {"test_the_probe_sees": "CLAHE"},
    "test_native_merges.py": {"test_a_planted_fault": RESIZES, "test_plans_make_them": RESIZES},
    "test_native_plan.py": {"test_other_draws": RESIZES},
    "test_native_points.py": {
        f"{test}[{name}]": name
        for test in ("test_plans_make_them", "test_planted_faults_are_found", "test_a_class_with_other_bits")
        for name in ("CLAHE", "ColorJitter", "Emboss", "HueSaturationValue", "Sharpen")
    },
    "test_hard_images.py": {"test_the_probe_sees": WARPS},
}


def skip_what_python_does(items: Iterable[pytest.Item], machine: str = "") -> None:
    """Mark the tests that are to be skipped; on x86 none is, and nothing is probed.

    Args:
        items: the tests that were found.
        machine: the processor; empty: this one.
    """
    if (machine or platform.machine()).lower() in _X86:
        return
    for item in items:
        for begins, what in NEEDS.get(item.path.name, {}).items():
            if item.name.startswith(begins) and not has_bits(what):
                item.add_marker(
                    pytest.mark.skip(reason=f"OpenCV has other bits here ({what}), and Python does the work")
                )


@cache
def has_bits(what: str) -> bool:
    """Whether kernels have the bits of the installed OpenCV, and do such work here."""
    # Here, for what is asked of no x86: tests begin by setting up what these read when they are imported.
    from augrecipes.compiler.kernels import resize_native, warp_native
    from augrecipes.native.kernels import library
    from augrecipes.ops.constants import LINEAR
    from augrecipes.recipe.parse import parse_text

    kernels, warps = library(), warp_native.here()
    if what == RESIZES:
        return kernels is not None and resize_native.same_bits(kernels, "resize")
    if what == WARPS:
        return warps is not None and warps.body("affine", LINEAR) > 0
    text = f"version: 1\nrecipe: test\nsteps: [{what}: {{p: 1}}]\neval: []\n"
    native: Any = parse_text(text).compile(optimize="exact").native
    return not isinstance(native, str) and not native.opaque
