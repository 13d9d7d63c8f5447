"""One recipe in many layouts: in braces and in lines, bare and in quotes, with comments, with either line end."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from augrecipes.recipe.model import Recipe, Step
from augrecipes.recipe.write import flow

COMMENTS = ("", "", "  # strong", "   # 𝄞 {not: yaml}", "  # é 5 0.5")


@st.composite
def layouts(draw: st.DrawFn, recipe: Recipe) -> str:
    """The recipe's steps as somebody may have written them."""
    lines = ["# 𝄞 mine", "version: 1", f"recipe: {recipe.name or 'x'}" + draw(st.sampled_from(COMMENTS)), ""]
    lines += ["steps:" + draw(st.sampled_from(COMMENTS))]
    for step in recipe.steps:
        lines += _step(draw, step, "  ")
    lines += ["eval: derived  # the same", ""]
    return draw(st.sampled_from(["\n", "\r\n"])).join(lines)


def _step(draw: st.DrawFn, step: Step, indent: str) -> list[str]:
    arguments = {**step.args.plain(), **({} if step.p is None else {"p": step.p})}
    if step.id:
        arguments["id"] = step.id
    name = draw(st.sampled_from([step.name, f'"{step.name}"', f"'{step.name}'"]))
    comment = draw(st.sampled_from(COMMENTS))
    above = (
        [f"{indent}# {draw(st.sampled_from(['above', '- Rotate: {limit: 3}', '𝄞']))}"] if draw(st.booleans()) else []
    )
    if step.steps:
        inner = indent + "    "
        lines = [f"{indent}- {name}:{comment}"]
        lines += [f"{inner}{key}: {flow(value)}{draw(st.sampled_from(COMMENTS))}" for key, value in arguments.items()]
        lines.append(f"{inner}steps:")
        for child in step.steps:
            lines += _step(draw, child, inner + "  ")
        return above + lines
    if not arguments:
        return [*above, f"{indent}- {name}{draw(st.sampled_from(['', ':', ': {}']))}{comment}"]
    if draw(st.booleans()):
        inside = ", ".join(f"{key}: {_value(draw, value)}" for key, value in arguments.items())
        return [*above, f"{indent}- {name}: {{{draw(st.sampled_from(['', ' ']))}{inside}}}{comment}"]
    inner = indent + draw(st.sampled_from(["    ", "      "]))
    lines = [f"{indent}- {name}:{comment}"]
    for key, value in arguments.items():
        if isinstance(value, list) and value and draw(st.booleans()):
            lines.append(f"{inner}{key}:{draw(st.sampled_from(COMMENTS))}")
            lines += [f"{inner}  - {flow(one)}{draw(st.sampled_from(COMMENTS))}" for one in value]
        else:
            lines.append(f"{inner}{key}: {_value(draw, value)}{draw(st.sampled_from(COMMENTS))}")
    return above + lines


def _value(draw: st.DrawFn, value: Any) -> str:
    if isinstance(value, list) and value:
        gap = draw(st.sampled_from([", ", ",  ", " , "]))
        return f"[{gap.join(flow(one) for one in value)}]"
    return flow(value)
