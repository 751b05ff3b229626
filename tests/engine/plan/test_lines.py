"""Where keys stand, against texts whose lines are counted by hand or made with known ones."""

from __future__ import annotations

import tomllib

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.plan.fields import line_of
from engine.toml import lines_of


def test_strings_comments_and_brackets_hide_what_looks_like_a_statement() -> None:
    text = '''# a = 1

a = """x
[b]
c = 3"""  # [d] = 1
"k.x" = {b = 1, c = [1,
2]}
[t . "u v"] # x = 3
z = '#'
s = """quote at the end""""
'''
    assert tomllib.loads(text)["t"]["u v"]["s"].endswith('"')
    assert lines_of(text) == {
        ("a",): 3,
        ("k.x",): 6,
        ("t", "u v"): 8,
        ("t", "u v", "z"): 9,
        ("t", "u v", "s"): 10,
    }


def test_tables_of_arrays_are_numbered() -> None:
    text = "[[s]]\r\nn = 1\r\n[s.g]\r\nm = 2\r\n[[s]]\r\n[[s.c]]\r\nx = 1\r\n[[s.c]]\r\n"
    lines = lines_of(text)
    assert lines[("s", 0, "g", "m")] == 4
    assert [lines[("s", 1, "c", at)] for at in (0, 1)] == [6, 8]
    assert line_of(lines, ("s", 0, "g", "other", 3)) == 3
    assert line_of(lines, ("nothing",)) is None


KEY = st.text("ab=[]#.\"' é", min_size=1, max_size=5)
QUOTES_AT_THE_END = '"""\n\\"' + '""' + '"""'
VALUE = st.sampled_from(["1", '"]#"', "'''\n[x]\n'''", "[\n1,\n# =\n2]", "{a = 1}", QUOTES_AT_THE_END])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(KEY, VALUE, st.integers(0, 2)), max_size=6, unique_by=lambda each: each[0]))
def test_any_keys_and_values(rows: list[tuple[str, str, int]]) -> None:
    text, expected, line = "", {}, 1
    for key, value, blank in rows:
        quoted = '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'
        expected[(key,)] = line + blank
        text += "\n" * blank + f"{quoted} = {value} # = [\n"
        line = text.count("\n") + 1
    tomllib.loads(text)
    assert lines_of(text) == expected
