"""The picture of the README: how many times as fast each published pipeline is with one line around it, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

PICTURE = Path(__file__).parents[1] / "docs" / "speed.svg"
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 760, 340, 52, 66, 40
_MOST = 10.0  # what is quicker is cut there, and says how quick it is
_COLOURS = {"fast": "#7fb2e5", "exact": "#1f4e8c"}
_INK, _FAINT = "#333", "#ccc"


def write_chart(ratios: Sequence[tuple[float, float]], means: tuple[float, float]) -> None:
    """Write the picture.

    Args:
        ratios: of each pipeline how many times as fast `exact` and `fast` are.
        means: their geometric means.
    """
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" rx="8" fill="white"/>',
        _text(
            _LEFT, 26, f"Times as fast as albumentations: {len(ratios)} published pipelines, one line around each", 18
        ),
    ]
    names = ("same pixels (exact)", "merged steps (fast)")
    for place, (key, name, mean) in enumerate(zip(("exact", "fast"), names, means, strict=True)):
        x = _LEFT + 320 * place
        parts.append(f'<rect x="{x}" y="38" width="14" height="14" fill="{_COLOURS[key]}"/>')
        parts.append(_text(x + 20, 51, f"{name}: ×{mean:.1f} in the mean", 16))
    for level in (1, 2, 4, 6, 8, 10):
        dash = "" if level == 1 else ' stroke-dasharray="2 4"'
        colour = _INK if level == 1 else _FAINT
        parts.append(f'<path d="M{_LEFT} {_y(level)}H{_WIDTH - 12}" stroke="{colour}"{dash}/>')
        parts.append(_text(_LEFT - 8, _y(level) + 5, f"×{level}", 15, "end"))
    pitch = (_WIDTH - 12 - _LEFT) / len(ratios)
    for place, (exact, fast) in enumerate(sorted(ratios, key=lambda pair: pair[1])):
        x = _LEFT + place * pitch + 2
        for key, ratio in (("fast", fast), ("exact", exact)):
            top, width = _y(min(ratio, _MOST)), pitch - 4
            parts.append(
                f'<rect x="{x:.1f}" y="{top}" width="{width:.1f}" height="{_y(0) - top:.1f}" fill="{_COLOURS[key]}"/>'
            )
        if fast > _MOST:
            parts.append(_text(x + pitch - 4, _y(_MOST) - 4, f"×{fast:.0f}", 15, "end"))
    parts.append(
        _text(_LEFT, _HEIGHT - 12, "one thread, CPU time; ×1 is albumentations 2.0.8 (benchmarks/wild.py)", 15)
    )
    PICTURE.write_text("\n".join([*parts, "</svg>", ""]), encoding="utf-8")


def _y(ratio: float) -> float:
    """Where a ratio is drawn."""
    return round(_HEIGHT - _BOTTOM - ratio / _MOST * (_HEIGHT - _BOTTOM - _TOP - 14), 1)


def _text(x: float, y: float, text: str, size: int, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{_INK}">{text}</text>'
