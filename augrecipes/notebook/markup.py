"""HTML that is safe by construction: text is escaped where it is put in, pictures travel inside the page."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape

import cv2
import numpy as np

from augrecipes.errors import harmless
from augrecipes.preview.display import Picture, within

_QUALITY, _LARGEST = 84, 1100

# Of the notebook's own ink, so that it is calm by day and by night; `!important` against the styles of notebooks.
STYLE = """
.augrecipes { font-size: 13px; line-height: 1.5; max-width: 1100px; }
.augrecipes header { margin: 2px 0 6px; }
.augrecipes header b { font-size: 15px; }
.augrecipes .quiet, .augrecipes small { opacity: .66; }
.augrecipes .facts { margin: 0 0 8px; }
.augrecipes img { display: block; max-width: 100%; height: auto; border-radius: 3px; margin: 4px 0 8px; }
.augrecipes table { border-collapse: collapse !important; margin: 4px 0 10px !important; font-size: 12px !important; }
.augrecipes td, .augrecipes th { text-align: left !important; vertical-align: top; padding: 3px 14px 3px 0 !important;
  border: 0 !important; border-bottom: 1px solid rgba(128,128,128,.22) !important; background: none !important;
  white-space: normal; max-width: 560px; overflow-wrap: anywhere; }
.augrecipes tr { background: none !important; }
.augrecipes th { font-weight: 600; opacity: .66; }
.augrecipes td.number { text-align: right !important; font-variant-numeric: tabular-nums; }
.augrecipes h4 { font-size: 13px !important; font-weight: 600 !important; margin: 8px 0 2px !important; }
.augrecipes details { margin: 4px 0; }
.augrecipes summary { cursor: pointer; opacity: .8; }
.augrecipes pre { font-size: 12px !important; margin: 4px 0 !important; white-space: pre-wrap; overflow-wrap: anywhere;
  background: rgba(128,128,128,.08) !important; padding: 6px 10px !important; border-radius: 3px; }
.augrecipes .swatch { display: inline-block; width: 9px; height: 9px; border-radius: 2px; margin: 0 5px 0 0; }
.augrecipes .key { display: inline-block; margin-right: 14px; font-size: 12px; white-space: nowrap; }
.augrecipes .bar { display: flex; height: 16px; min-width: 320px; }
.augrecipes .bar i { display: block; height: 100%; }
"""


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def text_of(value: object) -> Html:
    """Any text, escaped; what is no character is spelt out.

    >>> text_of("<b>&\\udcff")
    '&lt;b&gt;&amp;?'
    """
    if isinstance(value, Html):
        return value
    plain = harmless(str(value), keep="\n").encode("utf-8", "replace").decode()
    return Html(escape(plain))


def tag(name: str, *inside: object, **attributes: str) -> Html:
    """An element; its class is the attribute `kind`.

    >>> tag("p", "1 < 2", tag("br/"), kind="quiet")
    '<p class="quiet">1 &lt; 2<br/></p>'
    """
    given = "".join(
        f' {"class" if key == "kind" else key}="{text_of(value)}"'
        for key, value in attributes.items()
        if value or key == "alt"
    )
    if name.endswith("/"):
        return Html(f"<{name[:-1]}{given}/>")
    return Html(f"<{name}{given}>{joined(inside)}</{name}>")


def joined(parts: Iterable[object]) -> Html:
    """One part after another."""
    return Html("".join(text_of(part) for part in parts))


def image(picture: Picture, alt: str) -> Html:
    """A picture as a JPEG inside the page, no larger than 1100 px."""
    picture = within(picture, _LARGEST)
    _, encoded = cv2.imencode(".jpg", cv2.cvtColor(picture, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
    uri = f"data:image/jpeg;base64,{base64.b64encode(np.asarray(encoded).tobytes()).decode()}"
    height, width = picture.shape[:2]
    return tag("img/", src=uri, alt=alt, width=str(width), height=str(height))


def table(headings: Sequence[str], rows: Iterable[Sequence[object]], numbers: Sequence[int] = ()) -> Html:
    """A table; empty headings are left out. `numbers`: columns that are aligned to the right."""
    head = tag("tr", *(tag("th", heading) for heading in headings)) if any(headings) else ""
    body = [
        tag("tr", *(tag("td", cell, kind="number" if k in numbers else "") for k, cell in enumerate(row)))
        for row in rows
    ]
    return tag("table", head, *body)


def legend(colours: Iterable[tuple[str, str]]) -> Html:
    """Colours of CSS, and what they stand for."""
    keys = [
        tag("span", tag("i", kind="swatch", style=f"background: {colour}"), text, kind="key")
        for colour, text in colours
    ]
    return tag("p", *keys) if keys else Html()


def page(name: object, facts: Sequence[object], *parts: object) -> Html:
    """An object's page: its name, what is known of it, and more."""
    known = [fact for fact in facts if fact]
    said = joined(part for k, fact in enumerate(known) for part in ((" · ", fact) if k else (fact,)))
    header = tag("header", tag("b", name))
    return tag(
        "div", Html(f"<style>{STYLE}</style>"), header, tag("p", said, kind="facts quiet"), *parts, kind="augrecipes"
    )
