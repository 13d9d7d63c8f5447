"""Show what a recipe does: `preview` draws it, `studio` shows it in the browser, `demo` runs on synthetic images."""

from argparse import Namespace
from contextlib import suppress
from typing import TYPE_CHECKING

from augrecipes.cli.arguments import data_of, is_data, load_recipe, pick, sources
from augrecipes.cli.parsing import refusal
from augrecipes.cli.terminal import STDOUT, answer, note, parts, progress, report_once, say, say_line, show

if TYPE_CHECKING:
    from augrecipes.report import Report


def preview(args: Namespace) -> None:
    """Draw what a recipe does to some images, pairs or bags: sources on the left, samples on the right.

    \b
    Examples:
      augrecipes preview stained-tissue tiles/ -o grid.png
      augrecipes preview my.yaml photo.jpg -o steps.png --stages
      augrecipes preview sr-x4 hr=DIV2K/HR lr=DIV2K/LR_bicubic/X4 -o pairs.png
      augrecipes preview real-esrgan-x4 hr=DIV2K/HR -o degraded.png --pairs 8
      augrecipes preview stained-tissue-bag slides/ -o bags.png
      augrecipes preview my.yaml photos/ -o batch.png --batch 8

    Exit status: 0 written, 1 a lint error of the recipe, 2 a recipe or data that cannot be used.
    """
    data = sources(args)
    from augrecipes.preview import preview as render

    recipe = load_recipe(args)
    with progress("rendering") as advance:
        channels = [int(name) if name.isdecimal() else name for name in args.channels.split(",") if name]
        how = pick(args, "rows columns seed epoch stages batch pairs mode optimize masks")
        written = render(recipe, data, args.out, **how, channels=channels, progress=advance)
    report = {"recipe": recipe.name, "digest": recipe.digest, **pick(args, "mode seed"), "picture": written}
    answer(args, report, lambda: say_line(written))


def studio(args: Namespace) -> None:
    """Open a page that shows a recipe's draws, stages, lints, plan and cost while you write it.

    \b
    Examples:
      augrecipes studio
      augrecipes studio my.yaml --data photos/
      augrecipes studio sr-x4 --data hr=DIV2K/HR --data lr=DIV2K/LR_bicubic/X4
      augrecipes studio my.yaml --data photos/ --read-only
      augrecipes studio folder-128 --data tissue-128

    The server listens on this machine only, and answers only requests that carry the token in the address. Without
    --data, it shows the drawn images of the demo. Ctrl-C ends it.

    Exit status: 0 stopped, 2 a recipe or data that cannot be used, or the extra `studio` is not installed.
    """
    if args.recipe is not None and is_data(args.recipe):
        raise refusal(f"{args.recipe!r} is not a recipe; give data as --data {args.recipe}", "RECIPE")
    from augrecipes.studio.server import StudioServer
    from augrecipes.studio.studio import open_studio

    data = data_of(args.data) if args.data else None
    server = StudioServer(open_studio(args.recipe, data, **pick(args, "masks read_only")), args.port)
    note("the studio is for this machine alone; Ctrl-C ends it")
    say(server.address, wrap=False, secrets=True)
    if not args.no_open:
        import webbrowser

        webbrowser.open(server.address)
    with suppress(KeyboardInterrupt):
        server.serve()


def demo(args: Namespace) -> None:
    """Draw a small dataset, run recipes over it, and show that every sample can be reproduced.

    \b
    Example:
      augrecipes demo -o demo-out

    Takes about a minute and no network. Exit status: 0 all is well, 1 a promise was not kept, 2 the folder cannot be
    written.
    """
    from augrecipes.demo.run import run_demo

    def tell(report: "Report") -> None:
        if args.json != STDOUT:
            show(report)
            say()

    with report_once():
        tour = run_demo(args.out, tell=tell, seed=args.seed, progress=parts)
    answer(args, tour, lambda: None, status=int(not tour["ok"]))
