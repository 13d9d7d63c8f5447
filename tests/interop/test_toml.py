"""TOML: the values of `tomllib`, each key with the line that it stands in, and errors with place and cure."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.checks import DEAR, PLANTED

import augrecipes as ar
from augrecipes.interop import reading
from augrecipes.interop.importing import draft_of, of_document
from augrecipes.interop.reading import of_text
from augrecipes.recipe.nodes import ListNode, MappingNode, Node, plain

# Statements of one key, which hold its number; what looks like another statement, or an end, stands in some of them.
_VALUES = (
    "{n}", "[{n}, # ]\n  2,\n\n]", "'''\n[t]\nk{n} = 1'''", '"# {n} \\"]"', "{{ a = {n}, b = [ 2 ] }}",
    "[[{n}],\n [ ']' ]]", '"""\nk = """', "true # = [", "[ {{ x = {n} }}, {{ x = 2 }} ]",
)  # fmt: skip


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Statements whose every key has a name of its own, k0, k1, ..., with comments, tables and arrays of tables."""
    lines, count = [], draw(st.integers(1, 12))
    for n in range(count):
        kind = draw(st.sampled_from(["key", "key", "key", "quoted", "dotted", "table", "array", "comment", "blank"]))
        value = draw(st.sampled_from(_VALUES)).format(n=n)
        lines.append({
            "key": f"k{n} = {value}", "quoted": f'  "k{n}"= {value}', "dotted": f"d{n}.k{n} = {value}",
            "table": f"[ t{n}.k{n} ] # [", "array": "\n".join([f"[[a]]\nx = {n}", f"[a.k{n}]", f"[[a.b]]\nk{n}k = 1"]),
            "comment": f"# k{n} = [", "blank": "  ",
        }[kind])  # fmt: skip
    return draw(st.sampled_from(["\n", "\r\n"])).join("\n".join(lines).split("\n"))


def keys(node: Node) -> Iterator[tuple[str, int]]:
    """Every key with its line."""
    if isinstance(node, ListNode):
        for item in node.items:
            yield from keys(item)
    if isinstance(node, MappingNode):
        for key, place, inner in node.pairs():
            yield key, place.line
            yield from keys(inner)


def stands_where_it_says(text: str) -> None:
    top = of_text(text, "f.toml").top
    assert top is not None
    assert plain(top) == tomllib.loads(text)
    lines = text.replace("\r\n", "\n").split("\n")
    for key, line in keys(top):
        assert key in lines[line - 1], (key, line)


@DEAR
@given(documents())
def test_every_key_stands_in_the_line_that_is_named(text: str) -> None:
    stands_where_it_says(text)


@pytest.mark.parametrize("fault", ["line", "whole"])
def test_the_law_sees_a_wrong_line(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    true = reading._places
    wrong = {
        "line": lambda text, file: true(text.replace("\n\n", "\n"), file),  # blank lines do not count
        "whole": lambda text, file: (each for each in true(text, file) if len(each[0]) < 2),
    }[fault]
    monkeypatch.setattr(reading, "_places", wrong)

    @PLANTED
    @given(documents())
    def law(text: str) -> None:
        stands_where_it_says(text)

    with pytest.raises(AssertionError):
        law()


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('a = 1\nb = "C:\\data\\hr"', 2, "write paths in single quotes"),
        ("a = 1\n\n[b\nc = 2", 3, "Expected ']'"),
        ("a = 1\na = 2", 2, "Cannot overwrite a value"),
        ('a = """\nb', 2, "Unterminated string"),
        ("a = 1\rb = 2", 1, "no TOML"),
        (".".join(["a"] * 400) + " = 1", 1, "nested too deeply"),
        ("a = " + "[" * 5000, 1, "nested too deeply"),
        ("a = [\n" + "1,\n" * 5000 + "]", 1, "too much to read"),
        ("# nothing", 1, "nothing here that can be imported"),
        ("[project]\nname = 'x'", 1, "nothing here that can be imported"),
        ("scale = 4\n[datasets]\ntrain = 3", 2, "no `datasets: train:`"),
        ("scale = 4\ndegradations = 3\n[datasets.train]\ntype = 'otf'", 2, "must be a table"),
        ("scale = 4\n[datasets.train]\ntype = 'otf'\npatch_size = 2000-01-01", 4, "must be a whole number, got text"),
        ("scale = 4\n[datasets.train]\ntype = 'otf'\npatch_size = 8\nsinc_prob = nan", 5, "must be a number"),
        ("scale = 4\n[datasets.train]\ntype = 'otf'\npatch_size = 8\nuse_rot = 'no'", 5, "must be true or false"),
        ("scale = 4\n[datasets.train]\ntype = 'otf'\npatch_size = 8\nkernel_prob = [0, 0, 0, 0, 0, 0]", 5, "above 0"),
        ("scale = 4\n[datasets.train]\ntype = 'otf'\npatch_size = 8\nkernel_range = [6, 20]", 5, "are odd"),
    ],
)
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_errors_name_the_line_and_the_cure(tmp_path: Path, text: str, line: int, said: str, start: bytes) -> None:
    (tmp_path / "opt.toml").write_bytes(start + text.encode())
    with pytest.raises(ar.RecipeError, match=re.escape(said)) as caught:
        draft_of(str(tmp_path / "opt.toml")).to_yaml()
    assert caught.value.problems[0].line == line


def test_standard_input_may_be_toml() -> None:
    text = "scale = 4\n[datasets.train]\ntype = 'paired'\ndataroot_gt = 'hr'\ndataroot_lq = 'lr'\npatch_size = 8\n"
    assert of_document(of_text(text, "stdin")).recipe() == of_document(of_text(text, "stdin.toml")).recipe()
    assert of_text("a: {b: 1}", "stdin").top.entries.keys() == {"a"}  # type: ignore[union-attr]


@given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(list("[]={}\"'#\n.,1a")), max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        stands: Any = of_text(text, "f.toml").top
    except ar.RecipeError:
        return
    assert isinstance(stands, MappingNode)
