"""The build hook: compiles the native kernels for the machine at hand, into the wheel or beside the sources."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelsHook(BuildHookInterface):  # type: ignore[type-arg]
    """Builds the kernels; where that fails the package is built without them, and everything runs in Python."""

    def dependencies(self) -> list[str]:
        """A compiler from PyPI, where the machine has none."""
        native = _native()
        try:
            native.compiler()
        except native.NoCompilerError:
            return ["ziglang"]
        return []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and say of the wheel that it is one of this system.

        A wheel has every instruction set; an editable install (`version`) those that this machine needs, once.
        """
        native = _native()
        if self.target_name != "wheel" or os.environ.get("AUGRECIPES_NATIVE") == "0":
            return
        try:
            made = native.update(whole=version != "editable")
        except Exception as error:
            self.app.display_warning(f"the native kernels are not built: {error}\n{getattr(error, 'stderr', '')}")
            return
        build_data["artifacts"] += [f"augrecipes/native/built/{library.name}" for library in made]
        build_data["pure_python"] = False
        build_data["tag"] = native.platform_tag()


def _native() -> ModuleType:
    """The module that builds: read from its file, because the package cannot be imported yet."""
    file = Path(__file__).parent / "augrecipes" / "native" / "build.py"
    spec = importlib.util.spec_from_file_location("augrecipes_native_build", file)
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module
