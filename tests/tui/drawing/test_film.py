"""Films: blocks fill what Unicode says of them, and what is seen at a time is the frame of that time."""

from __future__ import annotations

import json
import re
import unicodedata
from xml.etree import ElementTree

import pytest
from rich.segment import Segment
from rich.style import Style

from tui.drawing.film import CELL_HEIGHT, CELL_WIDTH, Film, Frame, asciicast, moving, row_svg, still

GROUND = "#000000"
INK = Style(color="#ff8800", bgcolor=GROUND)
EIGHTHS = {"ONE": 1, "TWO": 2, "THREE": 3, "FIVE": 5, "SEVEN": 7}
SVG = "{http://www.w3.org/2000/svg}"


def named_parts(character: str) -> set[tuple[int, int]]:
    """The eighths (column, row from above) of a cell that the name of a character in Unicode says it fills."""
    name = unicodedata.name(character)
    everywhere = {(x, y) for x in range(8) for y in range(8)}
    if name == "FULL BLOCK":
        return everywhere
    if name.startswith("QUADRANT"):
        quarters = re.findall(r"(UPPER|LOWER) (LEFT|RIGHT)", name)
        return {
            (x, y) for x, y in everywhere if ("UPPER" if y < 4 else "LOWER", "LEFT" if x < 4 else "RIGHT") in quarters
        }
    side, amount = re.match(r"(UPPER|LOWER|LEFT|RIGHT) (HALF|.* QUARTERS?|.* EIGHTHS?) BLOCK", name).groups()  # type: ignore[union-attr]
    word, _, unit = amount.partition(" ")
    parts = 4 if amount == "HALF" else {"QUARTER": 2, "QUARTERS": 2}.get(unit, 1) * EIGHTHS[word]
    inside = {
        "UPPER": lambda x, y: y < parts,
        "LOWER": lambda x, y: y >= 8 - parts,
        "LEFT": lambda x, y: x < parts,
        "RIGHT": lambda x, y: x >= 8 - parts,
    }[side]
    return {(x, y) for x, y in everywhere if inside(x, y)}


def drawn_parts(elements: str) -> set[tuple[int, int]]:
    """The eighths whose middle is in a drawn box."""
    boxes = [{name: each.get(name) for name in ("x", "y", "width", "height")} for each in parsed(elements).iter("rect")]
    found = set()
    for column in range(8):
        for row in range(8):
            x, y = (column + 0.5) * CELL_WIDTH / 8, (row + 0.5) * CELL_HEIGHT / 8
            for box in boxes:
                left, top, width, height = (float(box[name] or 0) for name in ("x", "y", "width", "height"))
                if left <= x < left + width and top <= y < top + height:
                    found.add((column, row))
    return found


def parsed(elements: str) -> ElementTree.Element:
    return ElementTree.fromstring(f"<svg>{elements}</svg>")


BLOCKS = [chr(code) for code in range(0x2580, 0x25A0) if "SHADE" not in unicodedata.name(chr(code))]


@pytest.mark.parametrize("character", BLOCKS)
def test_a_block_fills_what_its_name_says(character: str) -> None:
    assert drawn_parts(row_svg([Segment(character, INK)], GROUND)) == named_parts(character)


def test_boxes_of_one_colour_that_touch_are_one_box() -> None:
    (box,) = parsed(row_svg([Segment("▄▄", INK), Segment("▄", INK)], GROUND)).iter("rect")
    assert float(box.get("width", 0)) == 3 * CELL_WIDTH
    other = Style(color="#0000ff", bgcolor=GROUND)
    assert (
        len(list(parsed(row_svg([Segment("▄", INK), Segment("▄", other), Segment("▄", INK)], GROUND)).iter("rect")))
        == 3
    )


def test_words_are_as_wide_as_their_cells_and_begin_at_their_columns() -> None:
    row = row_svg([Segment("a<b  漢字 c", INK)], GROUND)
    texts = [(each.text, each.get("x"), each.get("textLength")) for each in parsed(row).iter("text")]
    assert texts == [("a<b", "0", str(3 * CELL_WIDTH)), ("漢字 c", str(5 * CELL_WIDTH), str(6 * CELL_WIDTH))]


def frames(*pictures: str) -> Film:
    """A frame for each picture, one second each; its rows are separated by ``/``."""
    made = tuple(
        Frame(float(at), tuple((Segment(row, INK),) for row in picture.split("/")))
        for at, picture in enumerate(pictures)
    )
    return Film("t", 2, made, float(len(pictures)), GROUND)


FILM = frames("ab/cd/ef", "ab/xx/ef", "ab/cd/gh", "ij/cd/gh", "ij/cd/gh", "ab/cd/ef")


def texts_of(group: ElementTree.Element) -> list[str]:
    return [each.text or "" for each in group.iter(f"{SVG}text")]


def seen_at(document: str, part: float) -> list[tuple[str, list[str]]]:
    """The rows (their place and texts) that the rules of the style make visible at a part of the whole time."""
    root = ElementTree.fromstring(document)
    style = next(root.iter(f"{SVG}style")).text or ""
    steps = {
        name: [(float(at) / 100, value) for at, value in re.findall(r"([0-9.]+)%\{visibility:(\w+)\}", body)]
        for name, body in re.findall(r"@keyframes (\w+)\{((?:[^{}]*\{[^{}]*\})*)\}", style)
    }
    rows = []
    for group in root.iter(f"{SVG}g"):
        moving_names = [name for name in (group.get("class") or "").split() if name in steps]
        visible = all(
            [value for at, value in steps[name] if at <= part + 1e-9][-1] == "visible" for name in moving_names
        )
        if visible:
            rows.append((group.get("transform") or "", texts_of(group)))
    return sorted(rows)


@pytest.mark.parametrize("at", range(len(FILM.frames)))
def test_a_frame_of_the_moving_picture_is_the_still_one(at: int) -> None:
    alone = ElementTree.fromstring(still(FILM, at))
    rows = sorted((group.get("transform") or "", texts_of(group)) for group in alone.iter(f"{SVG}g"))
    assert seen_at(moving(FILM), (at + 0.5) / len(FILM.frames)) == rows


@pytest.mark.parametrize("poster", [0, 1, -1])
def test_without_motion_the_poster_is_seen(poster: int) -> None:
    root = ElementTree.fromstring(moving(FILM, poster=poster))
    shown = [texts_of(group) for group in root.iter(f"{SVG}g") if "h" not in (group.get("class") or "").split()]
    texts = [text for row in shown for text in row]
    assert sorted(texts) == sorted(row[0].text for row in FILM.frames[poster].rows)


def test_a_row_is_in_the_moving_picture_once() -> None:
    rows = [text for group in ElementTree.fromstring(moving(FILM)).iter(f"{SVG}g") for text in texts_of(group)]
    assert sorted(rows) == ["ab", "cd", "ef", "gh", "ij", "xx"]


def test_a_recording_for_asciinema_replays_to_the_frames() -> None:
    header, *events = map(json.loads, asciicast(FILM).splitlines())
    assert header["version"] == 2 and (header["width"], header["height"]) == (2, 3)
    *writes, end = events
    assert [write[0] for write in writes] == [frame.at_seconds for frame in FILM.frames]
    assert end[0] == FILM.end_seconds
    rows = {}
    for write, frame in zip(writes, FILM.frames, strict=True):
        for number, text in re.findall(r"\x1b\[(\d+);1H((?:\x1b\[[0-9;]*m|[^\x1b])*)", write[2]):
            rows[int(number)] = re.sub(r"\x1b\[[0-9;]*m", "", text)
        assert [rows[number] for number in sorted(rows)] == [row[0].text for row in frame.rows]
    assert "\x1b[1;1H" not in writes[1][2]  # a row that did not change is not written again
