"""What a job is, in numpy: the definition that the native kernel equals on every instruction set, bit for bit."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from augrecipes.native.op_numbers import OPERATIONS

BLOCK, GRID, FIT = 16, 32, 6
CONSTANT, REPLICATE, REFLECT, WRAP, REFLECT_101 = range(5)
LINEAR, CONTRAST, HUE, HSV = OPERATIONS.MATRIX, OPERATIONS.CONTRAST, OPERATIONS.HUE, OPERATIONS.HSV
TABLES = OPERATIONS.TABLES
LUMA = (0.299, 0.587, 0.114)
f32 = np.float32


@dataclass
class Job:
    """See native/layout.def. Operations are (kind, numbers), or (TABLES, 3×256 levels)."""

    source: np.ndarray
    matrix: Sequence[float]
    size: tuple[int, int]
    border: int = REFLECT_101
    fill: tuple[int, ...] = (0, 0, 0)
    reduction: int = 1
    operations: list[tuple[int, Any]] = field(default_factory=list)
    dtype: str = "uint8"
    scale: tuple[float, ...] = (1.0, 1.0, 1.0)
    shift: tuple[float, ...] = (0.0, 0.0, 0.0)


def made(job: Job) -> np.ndarray:
    """The result, H×W×C."""
    levels = warped(job)
    image = Picture(levels)
    for kind, numbers in job.operations:
        image.add(kind, numbers)
    levels = image.settled()
    if job.dtype == "uint8":
        return levels
    channels = levels.shape[2]
    scale, shift = np.array(job.scale[:channels], f32), np.array(job.shift[:channels], f32)
    return (levels.astype(f32) * scale + shift).astype(job.dtype)


def fold(at: np.ndarray, n: int, border: int) -> np.ndarray:
    """Coordinates as a border folds them back; -1 where a constant stands there."""
    if border == CONSTANT:
        return np.where((at >= 0) & (at < n), at, -1)
    if border == REPLICATE or n == 1:
        return np.clip(at, 0, n - 1)
    if border == WRAP:
        return at % n
    edge = int(border == REFLECT_101)
    at = at % (2 * (n - edge))
    return np.where(at < n, at, 2 * (n - edge) - 1 + edge - at)


def pixels(job: Job, x: np.ndarray, y: np.ndarray, border: int) -> np.ndarray:
    rows, columns, channels = job.source.shape
    x, y = fold(x, columns, border), fold(y, rows, border)
    found = job.source[y, x].astype(np.int64)
    found[(x < 0) | (y < 0)] = job.fill[:channels]
    return found


def warped(job: Job) -> np.ndarray:
    m, k, border = [float(v) for v in job.matrix], job.reduction, job.border
    height, width = job.size
    rows, columns, _ = job.source.shape
    left = top = 0
    if k > 1:
        us, vs = corners(m, height, width)
        near = 1 / 512
        if min(*us, *vs) >= -near and max(us) <= columns - 1 + near and max(vs) <= rows - 1 + near:
            border = REPLICATE
        left, top = (int(np.floor(min(us))) - 2) % k, (int(np.floor(min(vs))) - 2) % k
        m = [
            v / k + ((0.5 - (left if i < 3 else top)) / k - 0.5) * m[6 + i % 3] if i < 6 else v for i, v in enumerate(m)
        ]
        # The kernel counts from where the part begins that it has reduced.
        us, vs = corners(m, height, width)
        x0, y0 = part_begins(us, columns, border, k), part_begins(vs, rows, border, k)
        m = [m[i] - (x0 if i < 3 else y0) * m[6 + i % 3] for i in range(6)] + m[6:]
        left, top = left + x0 * k, top + y0 * k
    u, v = places(m, height, width)

    def at(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        if k == 1:
            return pixels(job, x, y, border)
        total: Any = k * k // 2
        for i in range(k):
            for j in range(k):
                total = total + pixels(job, x * k + left + j, y * k + top + i, border)
        return np.asarray(total // (k * k))

    return between(at, u, v, upright=m[1] == m[3] == m[6] == m[7] == 0 and m[8] == 1)


def between(at: Any, u: np.ndarray, v: np.ndarray, *, upright: bool = False) -> np.ndarray:
    """Levels between the four pixels around places, which are counted in 1/65536 px.

    Args:
        at: the pixels of columns and rows.
        u: of each place the column.
        v: the row.
        upright: rows come before columns, and are rounded once.
    """
    u, v = u + 256, v + 128
    x, y, across, down = u >> 16, v >> 16, (u >> 9 & 127)[..., None], (v >> 8 & 255)[..., None]
    above, below = (at(x, y + j) * (128 - across) + at(x + 1, y + j) * across for j in (0, 1))
    if upright:
        return ((above * (256 - down) + below * down + (1 << 14)) >> 15).astype(np.uint8)
    return ((above + (((below - above) * down + 128) >> 8) + 64) >> 7).astype(np.uint8)


def part_begins(places: list[float], size: int, border: int, k: int) -> int:
    first = int(np.floor(min(places))) - 2
    return min(max(first, -2), size // k) if border in (CONSTANT, REPLICATE) else first


def corners(m: list[float], height: int, width: int) -> tuple[list[float], list[float]]:
    us, vs = [], []
    for x, y in ((0.0, 0.0), (width - 1.0, 0.0), (width - 1.0, height - 1.0), (0.0, height - 1.0)):
        w = m[6] * x + m[7] * y + m[8]
        us.append((m[0] * x + m[1] * y + m[2]) / w)
        vs.append((m[3] * x + m[4] * y + m[5]) / w)
    return us, vs


def places(m: list[float], height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Of all pixels, in 1/65536 px."""
    y, x = np.mgrid[:height, :width].astype(np.float64)
    if m[6] == m[7] == 0 and m[8] == 1:
        begin, along = np.arange(width) // BLOCK * BLOCK, np.arange(width) % BLOCK

        def one(a: float, b: float, c: float) -> np.ndarray:
            rows, step = fine(b * y[:, :1] + c), fine(np.array(a))
            return ((rows + begin * step) >> 16) + ((along * step) >> 16)

        return one(m[0], m[1], m[2]), one(m[3], m[4], m[5])
    part = 65536.0 / (m[6] * x + (m[7] * y + m[8]))
    u, v = (m[0] * x + (m[1] * y + m[2])) * part, (m[3] * x + (m[4] * y + m[5])) * part
    return u.astype(np.int64), v.astype(np.int64)


def fine(px: np.ndarray) -> np.ndarray:
    return np.rint(px * 2.0**32).astype(np.int64)


class Picture:
    """Levels, and the matrix that is still to be applied to them."""

    def __init__(self, levels: np.ndarray) -> None:
        self.levels = levels
        self.rows: list[list[float]] | None = None

    def settled(self) -> np.ndarray:
        if self.rows is not None:
            self.levels, self.rows = through(self.rows, self.levels), None
        return self.levels

    def add(self, kind: int, numbers: Any) -> None:
        n = list(numbers) if kind != TABLES else []
        if kind == LINEAR:
            self.matrix([n[4 * c : 4 * c + 4] for c in range(3)])
        elif kind == CONTRAST:
            self.apply_if_clipping()
            means = [float(self.levels[..., c].sum(dtype=np.int64)) / (self.levels.size // 3) for c in range(3)]
            mean = 0.0
            for c in range(3):
                r = None if self.rows is None else self.rows[c]
                now = means[c] if r is None else r[0] * means[0] + r[1] * means[1] + r[2] * means[2] + r[3]
                mean += LUMA[c] * now
            offset = mean * (1 - n[0]) - 0.499
            self.matrix([[n[0] if c == k else 0.0 for k in range(3)] + [offset] for c in range(3)])
        elif kind == HUE:
            fitted = self.fitted(n[0]) if n[1] else None
            if fitted is not None:
                self.matrix(fitted)
            else:
                self.turn(int(n[0]), 0, 0, n[3:7])
        elif kind == HSV:
            self.turn(int(n[0]), int(n[1]), int(n[2]), n[3:7])
        else:
            self.levels = np.stack([numbers[c][self.settled()[..., c]] for c in range(3)], axis=2)

    def turn(self, hue: int, saturation: int, value: int, rounded: Any) -> None:
        levels = self.settled()
        self.levels = turned(levels, hue, saturation, value)
        if rounded:
            left, top, right, bottom = map(int, rounded)
            part = levels[top:bottom, left:right]
            self.levels[top:bottom, left:right] = turned(part, hue, saturation, value, np.rint)

    def matrix(self, rows: list[list[float]]) -> None:
        self.apply_if_clipping()
        now = self.rows
        if now is not None:
            rows = [
                [r[0] * now[0][k] + r[1] * now[1][k] + r[2] * now[2][k] + (r[3] if k == 3 else 0.0) for k in range(4)]
                for r in rows
            ]
        self.rows = rows

    def apply_if_clipping(self) -> None:
        low, high = float(self.levels.min()), float(self.levels.max())
        for r in self.rows or []:
            least = most = r[3]
            for weight in r[:3]:
                least += weight * (low if weight > 0 else high)
                most += weight * (high if weight > 0 else low)
            if least < -0.5 or most > 255.5:
                self.settled()
                return

    def fitted(self, steps: float) -> list[list[float]] | None:
        height, width = self.levels.shape[:2]
        if min(height, width) < 2 * GRID:
            return None
        self.apply_if_clipping()
        y, x = np.arange(GRID) * height // GRID, np.arange(GRID) * width // GRID
        seen = self.levels[y][:, x]
        if self.rows is not None:
            seen = through(self.rows, seen)
        after = turned(seen, int(steps), 0, 0)
        known = np.concatenate([seen, np.ones_like(seen[..., :1]), after], axis=2).reshape(-1, 7).astype(np.int64)
        sums = known[:, :4].T @ known
        a = [[float(sums[i, j]) + (1e-3 if i == j else 0.0) for j in range(7)] for i in range(4)]
        for k in range(4):
            best = max(range(k, 4), key=lambda i: (abs(a[i][k]), -i))
            a[k], a[best] = a[best], a[k]
            for i in range(4):
                times = a[i][k] / a[k][k]
                for j in range(k, 7) if i != k else ():
                    a[i][j] -= times * a[k][j]
        rows = [[a[k][4 + c] / a[k][k] for k in range(4)] for c in range(3)]
        off = np.abs(through(rows, seen).astype(int) - after)
        return rows if off.max() <= FIT else None


def through(rows: list[list[float]], levels: np.ndarray) -> np.ndarray:
    """In whole numbers of 16 bits: products are rounded, and their sum."""
    most = max(256 * (abs(r[0]) + abs(r[1]) + abs(r[2])) + abs(r[3]) + 1 for r in rows)
    bits = next(bits for bits in range(7, 2, -1) if most * 2**bits < 32767)
    made = []
    for row in rows:
        total = int(np.floor(row[3] * 2**bits + 0.5)) + (1 << bits >> 1)
        for k in range(3):
            weight = int(np.floor(row[k] * 2 ** (bits + 8) + 0.5))
            total = total + ((levels[..., k].astype(np.int64) * 128 * weight + (1 << 14)) >> 15)
        made.append(np.clip(total >> bits, 0, 255))
    return np.stack(made, axis=2).astype(np.uint8)


def turned(levels: np.ndarray, hue: int, saturation: int, value: int, whole: Any = np.floor) -> np.ndarray:
    """Through hue, saturation and value, fractions dropped or rounded."""
    red, green, blue = (levels[..., c].astype(np.int32) for c in range(3))
    high = np.maximum(np.maximum(red, green), blue)
    wide = high - np.minimum(np.minimum(red, green), blue)
    others = np.where(high == green, blue - red + 2 * wide, red - green + 4 * wide)
    sixths = np.where(high == red, green - blue, others)
    top, across = np.maximum(high, 1).astype(f32), np.maximum(wide, 1).astype(f32)
    both = f32(1) / (top * across)
    share, part = np.rint(across * both * f32(1044480)), np.rint(top * both * f32(122880))
    s = ((wide.astype(f32) * share + f32(2048)) * f32(1 / 4096)).astype(np.int32)
    h = ((sixths.astype(f32) * part + f32(2048 + 180 * 4096)) * f32(1 / 4096)).astype(np.int32)
    h = (h + hue) % 180
    s = np.where(s > 0, np.clip(s + saturation, 0, 255), 0)
    s1, v1 = s.astype(f32) * f32(1 / 255), np.clip(high + value, 0, 255).astype(f32) * f32(1 / 255)
    around = h.astype(f32) * f32(6 / 180)
    sector = around.astype(np.int32)
    along = around - sector.astype(f32)
    one = f32(1)
    full, low, down, up = (
        whole(v1 * by * f32(255)).astype(np.uint8)
        for by in (np.ones_like(s1), one - s1, -s1 * along + one, -s1 * (one - along) + one)
    )
    choose = [
        (full, up, low),
        (down, full, low),
        (low, full, up),
        (low, down, full),
        (up, low, full),
        (full, low, down),
    ]
    return np.stack([np.choose(sector, [c[k] for c in choose]) for k in range(3)], axis=2)
