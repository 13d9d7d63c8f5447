"""Make the studio's editor again from npm: `python .ci/codemirror/remake.py`, which needs npm.

package-lock.json pins every package and the sum of its contents; esbuild makes one module of what entry.mjs names.
The licences of all that went in are written beside it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
VENDOR = HERE.parent.parent / "augrecipes" / "studio" / "page" / "vendor"
BUNDLE = ["--bundle", "--minify", "--format=esm", "--target=es2022", "--legal-comments=none", "--metafile=meta.json"]


def main() -> None:
    """Write codemirror.js and codemirror.LICENSE.txt into the page's folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in ("package.json", "package-lock.json", "entry.mjs"):
            shutil.copy(HERE / file, folder)
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, check=True)
        binary = folder / "node_modules" / ".bin" / "esbuild"
        subprocess.run([binary, "entry.mjs", *BUNDLE, "--outfile=codemirror.js"], cwd=folder, check=True)
        VENDOR.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / "codemirror.js", VENDOR)
        (VENDOR / "codemirror.LICENSE.txt").write_text(licences(folder), encoding="utf-8")


def licences(folder: Path) -> str:
    """Name, version and licence of each package that esbuild took something from."""
    inputs = json.loads((folder / "meta.json").read_text(encoding="utf-8"))["inputs"]
    roots = set()
    for path in inputs:
        parts = Path(path).parts
        if parts[0] == "node_modules":
            roots.add(Path(*parts[: 3 if parts[1].startswith("@") else 2]))
    texts: dict[str, list[str]] = {}
    for root in sorted(roots):
        package = json.loads((folder / root / "package.json").read_text(encoding="utf-8"))
        text = (folder / root / "LICENSE").read_text(encoding="utf-8").strip()
        texts.setdefault(text, []).append(f"{package['name']} {package['version']}")
    return "\n\n".join("\n".join((*names, "", text)) for text, names in texts.items()) + "\n"


if __name__ == "__main__":
    main()
