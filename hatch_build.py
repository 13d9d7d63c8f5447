"""The build hook: compiles the native kernels for this machine, into the wheel or beside the sources.

It adds a bill of the third-party material in the wheel (CycloneDX, placed by PEP 770), and libjpeg-turbo's licence.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
EDITOR = ROOT / "augrecipes" / "studio" / "page" / "vendor" / "codemirror.LICENSE.txt"
LICENCE = "libjpeg-turbo-licence.txt"


class KernelsHook(BuildHookInterface):  # type: ignore[type-arg]
    """Build the kernels; if that fails, the package is built without them, and everything runs in Python."""

    def dependencies(self) -> list[str]:
        """Return a compiler from PyPI if the machine has none."""
        native = _native()
        try:
            native.compiler()
        except native.NoCompilerError:
            return ["ziglang"] if os.environ.get("AUGRECIPES_NATIVE") != "0" else []
        return []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the kernels, and set the wheel's platform tag, libraries and bill of material.

        A wheel has every instruction set; an editable install (`version`) only those of this machine.
        """
        if self.target_name != "wheel":
            return
        made = [] if os.environ.get("AUGRECIPES_NATIVE") == "0" else self.compiled(version, build_data)
        prefix = os.environ.get("AUGRECIPES_LIBJPEG", "")
        libjpeg = Path(prefix) if prefix and any("jpeg" in library.name for library in made) else None
        if libjpeg:
            build_data["force_include"][str(libjpeg / LICENCE)] = f"augrecipes/native/built/{LICENCE}"
        if version != "editable":
            file = Path(tempfile.mkdtemp(), "augrecipes.cdx.json")
            file.write_text(json.dumps(bill(self.metadata.version, libjpeg), indent=1) + "\n", encoding="utf-8")
            build_data["sbom_files"].append(str(file))

    def compiled(self, version: str, build_data: dict[str, Any]) -> list[Path]:
        """Build the libraries and add them to the wheel; return none, after a warning, if that fails."""
        native = _native()
        try:
            made: list[Path] = native.update(whole=version != "editable")
        except Exception as error:
            self.app.display_warning(f"the native kernels are not built: {error}\n{getattr(error, 'stderr', '')}")
            return []
        build_data["artifacts"] += [f"augrecipes/native/built/{library.name}" for library in made]
        build_data["pure_python"] = False
        build_data["tag"] = native.platform_tag()
        return made


def bill(version: str, libjpeg: Path | None) -> dict[str, Any]:
    """Return the third-party material of a wheel as CycloneDX 1.6: the studio's editor, and libjpeg-turbo if linked in.

    Args:
        version: version of augrecipes.
        libjpeg: the folder that `.ci/libjpeg.py` built into; None if the wheel has no libjpeg-turbo.
    """
    # Each licence of the editor begins with its packages, a line each.
    parts = re.findall(r"^(@?[\w./-]+) (\d+\.\d+\.\d+)$", EDITOR.read_text(encoding="utf-8"), re.MULTILINE)
    found = [component(name, number, f"pkg:npm/{name.replace('@', '%40')}", "MIT") for name, number in parts]
    if libjpeg:
        (number,) = (file.name.rpartition("-")[2] for file in libjpeg.glob("libjpeg-turbo-[0-9]*"))
        where = "pkg:github/libjpeg-turbo/libjpeg-turbo"
        found.append(component("libjpeg-turbo", number, where, "BSD-3-Clause AND IJG AND Zlib"))
    own = component("augrecipes", version, "pkg:pypi/augrecipes", "MIT")
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own},
        "components": found,
        "dependencies": [{"ref": own["bom-ref"], "dependsOn": [part["bom-ref"] for part in found]}],
    }


def component(name: str, version: str, where: str, licence: str) -> dict[str, Any]:
    """Return an entry of the bill; `where` is the package URL without version, `licence` an SPDX expression."""
    url = f"{where}@{version}"
    return {
        "type": "library",
        "bom-ref": url,
        "name": name,
        "version": version,
        "purl": url,
        "licenses": [{"expression": licence}],
    }


def _native() -> ModuleType:
    """Load the build module from its file, since the package cannot be imported yet."""
    file = ROOT / "augrecipes" / "native" / "build.py"
    spec = importlib.util.spec_from_file_location("augrecipes_native_build", file)
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module
