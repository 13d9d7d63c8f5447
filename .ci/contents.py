"""What belongs into a wheel, and what does not: `python .ci/contents.py WHEEL...` tells all that is wrong with some."""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path

# Measured: 3.0 MB for x86-64, of which 1.3 MB are kernels and libjpeg-turbo, compressed. What slips in shows.
LARGEST = 3_500_000
# What there may be.
ALLOWED = (
    r"augrecipes/(?!native/)[\w/.-]+\.(json|yaml|j2|md|js|css|html|svg|txt)",
    r"augrecipes/(.*\.pyi?|py\.typed)",
    r"augrecipes/native/(codec/)?\w+\.def",
    r"augrecipes/native/built/(kernels(-jpeg)?\.(so|dylib|dll)|libjpeg-turbo-licence\.txt)",
    r"augrecipes-[\w.]+\.dist-info/(METADATA|WHEEL|RECORD|entry_points\.txt|sboms/augrecipes\.cdx\.json)",
    r"augrecipes-[\w.]+\.dist-info/licenses/.*(LICENSE|\.LICENSE\.txt)",
)
# Files that one cannot do without, and that no import would miss at once.
WANTED = (
    "augrecipes/py.typed",
    "augrecipes/CODES.md",
    "augrecipes/schema/recipe.schema.json",
    "augrecipes/native/ops.def",
    "augrecipes/native/layout.def",
    "augrecipes/native/codec/window.def",
    "augrecipes/gallery/stained-tissue.yaml",
    "augrecipes/studio/page/vendor/codemirror.js",
)
NATIVE = re.compile(r"augrecipes/native/built/(kernels(-jpeg)?)\.(so|dylib|dll)")


def problems(wheel: Path, native: bool = True) -> list[str]:
    """A line for each thing that is wrong; `native` as the kernels and libjpeg-turbo should be there."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        bills = [json.loads(archive.read(name)) for name in names if "/sboms/" in name]
    told = [f"{name}: does not belong there" for name in names if not any(re.fullmatch(e, name) for e in ALLOWED)]
    told += [f"{name}: is missing" for name in WANTED if name not in names]
    brought = {part["name"] for bill in bills for part in bill["components"]}
    libraries = {found[1] for name in names if (found := NATIVE.fullmatch(name))}
    if native:
        told += [f"{name}: was not built" for name in sorted({"kernels", "kernels-jpeg"} - libraries)]
        if not any(name.endswith("libjpeg-turbo-licence.txt") for name in names):
            told.append("the licence of libjpeg-turbo is missing, and has to go with it")
    expected = {"@codemirror/view"} | ({"libjpeg-turbo"} if native else set())
    told += [f"{name}: is not in the bill of material" for name in sorted(expected - brought)]
    if (size := wheel.stat().st_size) > LARGEST:
        told.append(f"{size:,} bytes, and {LARGEST:,} are the most")
    return [f"{wheel.name}: {line}" for line in told]


if __name__ == "__main__":
    sys.exit("\n".join(line for name in sys.argv[1:] for line in problems(Path(name))) or 0)
