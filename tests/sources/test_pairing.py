"""Scenes are found by name, whatever the scheme; and whatever is not a pair is told, with the names of its files."""

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.checks import tries
from test_listing import fill

from augrecipes.errors import DataError
from augrecipes.kinds.pair.pairing import PairScenes, pair

# How data sets name the large and the small image of a scene, by scale.
SCHEMES = (
    ("{}", "{}"),
    ("{}", "{}x{s}"),
    ("{}", "{}X{s}"),
    ("{}", "{}x{s}m"),
    ("{}", "{}_x{s}"),
    ("{}", "{}-x{s}"),
    ("{}", "{}_{s}x"),
    ("{}", "{}_LRx{s}"),
    ("{}", "{}_LR"),
    ("{}_HR", "{}_LR"),
    ("{}_hr", "{}_lr"),
    ("{}_GT", "{}x{s}"),
    ("{}_HR", "{}_LR{s}"),
    ("HR_{}", "LR_{}"),
    ("{}_HR_x{s}", "{}_LRBI_x{s}"),
    ("{}_HR_x{s}", "{}_LR_x{s}"),
    ("{}_SRF_{s}_HR", "{}_SRF_{s}_LR"),
    ("{}_SRF_{s}_HR", "{}_SRF_{s}_bicubic"),
    ("{}", "{}_LRBI_x{s}"),
    ("{}", "{}_down"),
)
STEMS = st.one_of(
    st.from_regex(r"\A[A-Za-z][a-z0-9]{0,5}([_ -][a-z0-9]{1,3})?\Z"),
    st.integers(1, 900).map("{:04d}".format),
    st.sampled_from(["box", "box2", "boxx2", "boxx4", "matrix2", "matri", "max4", "a_lr", "b_hr", "x2", "é", "1.5"]),
)


def found(root: Path, pairs: PairScenes) -> set[tuple[str, ...]]:
    return {tuple(Path(path).relative_to(root).as_posix() for path in scene) for scene in pairs.scenes}


def told(root: Path, pairs: PairScenes) -> set[str]:
    return {Path(path).relative_to(root).as_posix() for defect in pairs.defects for path in defect.files}


def go(root: Path, scale: int = 4, **more: object) -> PairScenes:
    return pair({"lr": root / "L", "hr": root / "H"}, {"lr": 1, "hr": scale}, cache=False, **more)  # type: ignore[arg-type]


def planted(root: Path, stems: set[str], scheme: tuple[str, str], scale: int, seed: int) -> set[tuple[str, ...]]:
    """Touch the files of scenes, in any order and with any extension; returns their pairs."""
    draw = random.Random(seed)
    scenes = set()
    for stem in draw.sample(sorted(stems), len(stems)):
        names = [how.replace("{s}", str(scale)).replace("{}", stem) for how in scheme]
        files = [f"{top}/{name}.{draw.choice(('png', 'jpg', 'BMP'))}" for top, name in zip("HL", names, strict=True)]
        fill(root, *files)
        scenes.add(tuple(files))
    return scenes


@tries(50)
@given(
    stems=st.sets(STEMS, min_size=2, max_size=12),
    scheme=st.sampled_from(SCHEMES),
    scale=st.sampled_from([2, 3, 4, 8]),
    seed=st.integers(0, 99),
)
def test_every_scheme_pairs_exactly_its_scenes(stems, scheme, scale, seed):
    stems = {stem for stem in stems if len({s for s in stems if s.casefold() == stem.casefold()}) == 1}
    if len(stems) < 2:
        return
    with TemporaryDirectory() as folder:
        root = Path(folder)
        scenes = planted(root, stems, scheme, scale, seed)
        pairs = go(root, scale)
        assert (found(root, pairs), pairs.defects) == (scenes, [])


@tries(50)
@given(
    numbers=st.sets(st.integers(1, 900), min_size=8, max_size=16),
    scheme=st.sampled_from(SCHEMES),
    scale=st.sampled_from([2, 3, 4]),
    seed=st.integers(0, 99),
    lost=st.lists(st.tuples(st.integers(0, 7), st.booleans()), max_size=3, unique_by=lambda pick: pick[0]),
)
def test_what_has_lost_its_partner_is_named_and_nothing_else(numbers, scheme, scale, seed, lost):
    with TemporaryDirectory() as folder:
        root = Path(folder)
        scenes = sorted(planted(root, {f"{n:04d}" for n in numbers}, scheme, scale, seed))
        widows = set()
        for position, large in lost:
            gone, left = scenes[position][:: 1 if large else -1]
            (root / gone).unlink()
            widows.add(left)
        pairs = go(root, scale)
        assert found(root, pairs) == {scene for scene in scenes if not widows.intersection(scene)}
        assert told(root, pairs) == widows


def by_listing_order(root: Path) -> set[tuple[str, ...]]:
    """What pairing must never be: the i-th file of one folder with the i-th of the other."""
    listed = [sorted(p.relative_to(root).as_posix() for p in (root / top).iterdir()) for top in "HL"]
    return set(zip(*listed, strict=False))


def by_name(root: Path) -> set[tuple[str, ...]]:
    return found(root, go(root))


@pytest.mark.parametrize(("way", "right"), [(by_name, True), (by_listing_order, False)])
def test_listing_order_would_be_noticed(tmp_path: Path, way: Callable[[Path], set[tuple[str, ...]]], right: bool):
    scenes = planted(tmp_path, {"1", "2", "9", "10", "11", "100"}, ("{}", "{}x{s}"), 4, seed=0)
    (tmp_path / next(low for high, low in sorted(scenes))).unlink()
    assert (way(tmp_path) <= scenes) is right


# Names in the folders H and L, the places of those that make a pair, and what the others are.
CASES = {
    "begin alike: one": ("baby", "bird_x4", [], "missing"),
    "begin alike: numbers": ("img_001 img_002", "img_011 img_012", [], "missing"),
    "begin alike: words": ("cat", "caterpillar", [], "missing"),
    "begin alike: digits": ("1 2", "10 20", [], "missing"),
    "a suffix of the name": ("box box2 boxx4", "boxx4 box2x4 boxx4x4", [(0, 0), (1, 1), (2, 2)], ""),
    "folders of both": ("a/1 b/1 b/2", "a/1x4 b/1x4 a/2x4", [(0, 0), (1, 1)], "missing"),
    "nested and flat": ("a/1 b/2", "1x4 2x4", [(0, 0), (1, 1)], ""),
    "folders of every scale": ("1 2", "X2/1x2 X2/2x2 X4/1x4 X4/2x4", [(0, 2), (1, 3)], "missing"),
    "two extensions": ("s t 1 1.jpg", "sx4 tx4 1x4", [(0, 0), (1, 1)], "ambiguous"),
    "two small extensions": ("s t 1", "sx4 tx4 1x4 1x4.jpg", [(0, 0), (1, 1)], "ambiguous"),
    "two folders, and none": ("s t a/1 b/1", "sx4 tx4 1x4", [(0, 0), (1, 1)], "ambiguous"),
}


@pytest.mark.parametrize("case", CASES)
def test_files_are_paired_by_name_or_named_as_a_defect(tmp_path, case):
    large, small, pairs, kind = CASES[case]
    high, low = ([f"{top}/{name}" if "." in name else f"{top}/{name}.png" for name in names.split()]
                 for top, names in (("H", large), ("L", small)))  # fmt: skip
    made = go(fill(tmp_path, *high, *low))
    scenes = {(high[i], low[k]) for i, k in pairs}
    assert (found(tmp_path, made), told(tmp_path, made)) == (scenes, {*high, *low}.difference(*scenes))
    assert {defect.kind for defect in made.defects} <= {kind}
    for defect in made.defects:
        assert all(path in defect.message for path in defect.files)


def test_a_scale_that_decides_nothing_would_be_noticed(tmp_path, monkeypatch):
    """Planted: names do not tell scales."""
    monkeypatch.setattr("augrecipes.kinds.pair.pairing._scale_in", lambda text: None)
    with pytest.raises(AssertionError):
        test_files_are_paired_by_name_or_named_as_a_defect(tmp_path, "folders of every scale")


def test_lists_of_roots_are_data_sets_side_by_side(tmp_path):
    fill(tmp_path, "D/H/1.png", "D/L/1x4.png", "F/H/1.png", "F/L/1.png")
    roots = {name: [tmp_path / "D" / name[0].upper(), tmp_path / "F" / name[0].upper()] for name in ("hr", "lr")}
    pairs = pair(roots, {"lr": 1, "hr": 4}, cache=False)
    assert (found(tmp_path, pairs), pairs.defects) == ({("D/H/1.png", "D/L/1x4.png"), ("F/H/1.png", "F/L/1.png")}, [])


def in_one(folder: Path, **options: object) -> PairScenes:
    return pair({"hr": folder, "lr": folder}, {"lr": 1, "hr": 4}, cache=False, **options)  # type: ignore[arg-type]


def test_targets_in_one_folder_are_told_apart_by_templates(tmp_path):
    names = [f"S/img_{i:03d}_SRF_4_{what}.png" for i in (1, 2, 3) for what in ("HR", "LR", "glasner")]
    fill(tmp_path, *names[:-3], "S/img_003_SRF_4_LR.png", "S/readme.txt")
    with pytest.raises(DataError, match=r'hr and lr lie in one folder.*give each a folder of its own, .*"\{\}_LR"'):
        in_one(tmp_path / "S")
    pairs = in_one(tmp_path / "S", names={"hr": "{}_SRF_4_HR", "lr": "{}_SRF_4_LR"})
    assert found(tmp_path, pairs) == {(f"S/img_{i:03d}_SRF_4_HR.png", f"S/img_{i:03d}_SRF_4_LR.png") for i in (1, 2)}
    assert told(tmp_path, pairs) == {"S/img_003_SRF_4_LR.png"}
    assert [note.partition(" of ")[0] for note in pairs.notes] == ["5 files", "4 files"]


def test_pyramids_need_every_target(tmp_path):
    fill(tmp_path, "H/1_HR.png", "H/2_HR.png", "M/1x2.png", "M/2x2.png", "L/1x4.png")
    roots = {"lr": tmp_path / "L", "x2": tmp_path / "M", "hr": tmp_path / "H"}
    pairs = pair(roots, {"lr": 1, "x2": 2, "hr": 4}, cache=False)
    assert pairs.targets == ("hr", "x2", "lr")
    assert found(tmp_path, pairs) == {("H/1_HR.png", "M/1x2.png", "L/1x4.png")}
    assert [defect.message.rpartition("/")[2] for defect in pairs.defects] == ["2_HR.png: no lr"]


@pytest.mark.parametrize("names", [{"lr": "low {} q"}, {"lr": "low {} q.png"}, {"lr": "low {} q", "hr": "{}"}])
def test_templates_say_the_scheme(tmp_path, names: Mapping[str, str]):
    fill(
        tmp_path, "H/1.png", "L/low 1 q.png", "H/2x4.png", "L/low 2x4 q.tif", "L/3.png", "H/a/1.png", "L/a/low 1 q.png"
    )
    pairs = go(tmp_path, names=names)
    assert found(tmp_path, pairs) == {
        ("H/1.png", "L/low 1 q.png"),
        ("H/2x4.png", "L/low 2x4 q.tif"),
        ("H/a/1.png", "L/a/low 1 q.png"),
    }
    assert pairs.defects == []
    assert pairs.notes == [f"1 file of lr, {tmp_path / 'L/3.png'} first: not named {names['lr']}, and not read"]


@pytest.mark.parametrize("names", [{"lr": "x4"}, {"lr": "{}{}"}, {"lr": "{0}x4"}, {"low": "{}"}])
def test_templates_that_are_none(tmp_path, names):
    fill(tmp_path, "H/1.png", "L/1.png")
    with pytest.raises(DataError, match="names="):
        go(tmp_path, names=names)
