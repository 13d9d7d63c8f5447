"""Build the site: `make site`, or `python .ci/website/build.py FOLDER`.

The Markdown sources go to FOLDER/docs, and the site to FOLDER/site. It is static: any file server can serve it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import check
import commands
import gallery
import pages
import reference


def build(out: Path, shrink: int = 1) -> Path:
    """Write the site.

    Args:
        out: a folder; its `docs` and `site` are replaced.
        shrink: divisor of the sides of the gallery's images, for tests.

    Returns:
        The folder of the site.

    Raises:
        RuntimeError: zensical fails, or finds a broken link.
    """
    docs = pages.clear(out / "docs")
    pages.stage(docs, reference.names(), gallery.cards_of)
    for page, text in (gallery.texts() | reference.texts() | commands.texts()).items():
        pages.write(docs / page, text)
    with tempfile.TemporaryDirectory() as folder:
        gallery.draw_pictures(docs / "gallery", gallery.draw_data(Path(folder), shrink))
    shutil.copyfile(Path(__file__).with_name("site.css"), docs / "site.css")
    shutil.copyfile(pages.ROOT / "mkdocs.yml", out / "mkdocs.yml")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    done = subprocess.run(command, cwd=out, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    site = out / "site"
    pages.llms(docs, site)
    return site


def main(out: Path) -> int:
    """Build the site, print its size and its problems; 1 if there are any."""
    began = perf_counter()
    site = build(out)
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    problems = [*check.dead_links(site), *check.outside_requests(site)]
    count = len([*site.rglob("*.html")])
    sys.stdout.write("".join(f"{problem}\n" for problem in problems))
    sys.stdout.write(f"{site}: {count} pages, {size / 1e6:.0f} MB, {perf_counter() - began:.0f} s\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve()))
