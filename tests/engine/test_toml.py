"""TOML of strangers: what costs more than its length is refused with its line, and a dot in a name is no such thing."""

from __future__ import annotations

import tomllib

import pytest

from engine.errors import Problem
from engine.toml import MOST_KEY_PARTS, read_toml

LONG = ".".join("a" * (MOST_KEY_PARTS + 1))
LONGEST = ".".join("a" * MOST_KEY_PARTS)
REFUSED = {
    "key": (f"{LONG} = 1", 1),
    "key of many thousand parts": (".".join("a" * 500_000) + " = 1", 1),
    "table": (f"x = 1\n[{LONG}]", 2),
    "table of an array": (f"x = 1\n\n[[{LONG}]]", 3),
    "inline table": (f"x = {{y = 1, {LONG} = 1}}", 1),
    "inline table in an array": (f"x = [\n  1,\n  {{{LONG} = 1}}]", 3),
    "blanks": (f"{LONG.replace('.', ' . ')} = 1", 1),
    "quoted parts": (LONG.replace("a", '"a.b"') + " = 1", 1),
    "literal parts": (LONG.replace("a", "'#'") + " = 1", 1),
    "after strings": (f"x = '''\n'''\ny = \"\\\"\"\n{LONG} = 1", 4),
    "after a comment with a quote": (f'# "\n{LONG} = 1', 2),
    "without a value": (LONG, 1),
    "in Windows' lines": (f"x = 1\r\n{LONG} = 1\r\n", 2),
}
ACCEPTED = {
    "as many as there may be": f"{LONGEST} = 1",
    "in a table": f"[{LONGEST}]\n{LONGEST} = 1",
    "a quoted key": f'"{LONG}" = 1',
    "a quoted table": f"[x.'{LONG}'.y]",
    "a topic": '[topics."persistent://public/default/a.b.c.d.e.f.g.h.i.j"]\npartitions = 3',
    "a text": f'x = "{LONG}"',
    "a text of lines": f'x = """\n{LONG} = 1\n\\"""{LONG}"""',
    "a literal of lines": f"x = '''\n[{LONG}]\n''{LONG}'''",
    "quotes at the end": f'x = """{LONG}"""""',
    "a comment": f"x = 1 # {LONG}",
    "floats": f"x = [{', '.join(['1.5'] * 100)}]",
    "times": f"x = [{','.join(['07:32:00.999'] * 100)}]",
    "inline tables": f"x = [{', '.join(['{a.b.c = 1.5}'] * 100)}]",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_key_of_many_parts_is_refused_with_its_line(name: str) -> None:
    text, line = REFUSED[name]
    problem = read_toml(text.encode(), "plan.toml")
    assert isinstance(problem, Problem)
    assert (problem.source, problem.line, problem.column) == ("plan.toml", line, None)
    assert str(MOST_KEY_PARTS) in problem.reason


@pytest.mark.parametrize("name", ACCEPTED)
def test_dots_elsewhere_are_read(name: str) -> None:
    assert read_toml(ACCEPTED[name].encode(), "plan.toml") == tomllib.loads(ACCEPTED[name])


@pytest.mark.parametrize(
    ("data", "line", "column"),
    [
        (b"x = 1\ny = = 2", 2, 5),
        (b"x = 1\n\xff = 2", 2, None),
        (b"x = " + b"[" * 100_000, None, None),
        (b"x = " + b"9" * 10_000, None, None),
        (b'x = """\n' + LONG.encode(), None, None),
        (b'"""\n\\' * 100_000 + LONG.encode(), 1, 3),
    ],
    ids=["sign", "no UTF-8", "deep", "number", "string without an end", "many strings without an end"],
)
def test_what_is_no_toml_has_its_place(data: bytes, line: int | None, column: int | None) -> None:
    problem = read_toml(data, "x")
    assert isinstance(problem, Problem)
    assert (problem.line, problem.column) == (line, column)
