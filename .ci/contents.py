"""Check the contents of wheels: `python .ci/contents.py WHEEL...` prints every problem.

The command also validates the bills of material against CycloneDX's schema, which the extra `dev` installs.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

# bytes; the x86-64 wheel has 3.0 MB, 1.3 MB of them compressed kernels and libjpeg-turbo, so stray files show.
LARGEST = 3_500_000
# Patterns of the files that a wheel may have.
ALLOWED = (
    r"augrecipes/(?!native/)[\w/.-]+\.(json|yaml|j2|md|js|css|html|svg|txt)",
    r"augrecipes/(.*\.pyi?|py\.typed)",
    r"augrecipes/native/(codec/)?\w+\.def",
    r"augrecipes/native/built/(kernels(-jpeg)?\.(so|dylib|dll)|libjpeg-turbo-licence\.txt)",
    r"augrecipes-[\w.]+\.dist-info/(METADATA|WHEEL|RECORD|entry_points\.txt|sboms/augrecipes\.cdx\.json)",
    r"augrecipes-[\w.]+\.dist-info/licenses/.*(LICENSE|\.LICENSE\.txt)",
)
# Files that are needed but that `import augrecipes` does not read, so that their absence would go unnoticed.
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
    """Return a line for each problem of a wheel; `native`: it must have the kernels and libjpeg-turbo."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
    bills = bills_of(wheel)
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


def bills_of(wheel: Path) -> list[dict[str, Any]]:
    """Read the bills of material in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return [json.loads(archive.read(name)) for name in archive.namelist() if name.endswith(".cdx.json")]


def unlike_cyclonedx(bill: dict[str, Any]) -> list[str]:
    """Return a line for each violation of CycloneDX 1.6 in a bill of material; needs the extra `dev`."""
    from cyclonedx import schema as schemas
    from jsonschema import Draft7Validator

    folder = Path(schemas.__file__).parent / "_res"
    files = [folder / f"{name}.SNAPSHOT.schema.json" for name in ("bom-1.6", "spdx", "jsf-0.82")]
    # The schemas refer to each other by file name, which differs from their own `$id`.
    schema, *named = (
        json.loads(file.read_text(encoding="utf-8")) | {"$id": f"http://cyclonedx.org/schema/{file.name}"}
        for file in files
    )
    # Embedded definitions resolve the references without a network.
    schema["definitions"] |= {each["$id"]: each for each in named}
    return [f"{error.json_path}: {error.message}" for error in Draft7Validator(schema).iter_errors(bill)]


def main() -> None:
    """Print all problems; the exit status is 1 if there is one."""
    wheels = [Path(name) for name in sys.argv[1:]]
    told = [line for wheel in wheels for line in problems(wheel)]
    told += [f"{wheel.name}: {line}" for wheel in wheels for bill in bills_of(wheel) for line in unlike_cyclonedx(bill)]
    sys.exit("\n".join(told) or 0)


if __name__ == "__main__":
    main()
