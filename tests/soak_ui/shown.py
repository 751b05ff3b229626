"""What the terminal shows of a simulated cluster, beside the document that ``--json`` prints of its journal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Final, TypeVar
from unicodedata import combining, normalize

from msgspec import to_builtins
from rich.cells import cell_len
from textual.screen import Screen
from textual.widgets import Tooltip
from textual.widgets._toast import Toast

from engine.text import counted
from engine.views.bundles.model import BalanceView
from engine.views.bundles.view import balance_frame, balance_view
from engine.views.keys.document import keys_document
from engine.views.keys.model import KeysView
from engine.views.scalable.dashboard import SegmentLine
from tests.soak_ui.reading import Line, headings, lines_of, number_before, says, title_of
from tests.soak_ui.terminal import Picture
from tui.bundles.screen import BundlesScreen
from tui.cli.session import shown_in
from tui.drawing.glyphs import ascii_text
from tui.failover.screen import MainScreen
from tui.failover.words import hint
from tui.keys.screen import KeysScreen
from tui.keys.words import keys_hint
from tui.kit.layouts import Layout
from tui.kit.line_table import LineTable, RowsTable
from tui.kit.screen import DashboardScreen
from tui.kit.session import Session
from tui.kit.wording import safe_name
from tui.producers.words import producers_hint
from tui.scalable.screen import ScalableScreen

Document = Mapping[str, Any]
Row = TypeVar("Row")

COLUMNS: Final[Mapping[str, Mapping[str, str]]] = {
    "dashboard": {
        "active": "active_partitions", "ring": "ring_share", "rate": "rate_share", "out/s": "msgs_per_sec",
        "prio": "priority_level",
    },
    "keys": {
        "slots": "share", "keys": "keys", "msgs": "messages", "unacked": "unacked", "wait": "waiting",
        "drain": "draining",
    },
    "producers": {"open": "opened", "sent": "sent_msgs", "wait": "pending_msgs", "of": "known"},
    "scalable": {"unacked": "unacked"},
}  # fmt: skip
"""The headings of numbers, and which member of a row each is."""
SEGMENT_NUMBERS: Final[Mapping[str, str]] = {
    "segment": "segment", "buckets": "buckets", "backlog": "backlog", "score": "score", "in/s": "msg_rate_in",
    "out/s": "msg_rate_out",
}  # fmt: skip
SORTED: Final = "^v"
"""The signs behind the heading that rows are sorted by: with the smallest first, with the largest first."""
FORECAST_TOPICS: Final = 2_000
"""With more topics a forecast takes too long to be computed for each key."""
_STEP: Final = re.compile(r"step ([\d,]+)/([\d,]+)|no steps")
_COUNT: Final = re.compile(r"2 (?:consumers|producers) \((?:([\d,]+) of )?([\d,]+)\)")
_EVENTS: Final = re.compile(r"\d events \(([\d,]+)\)")
_BUNDLE: Final = re.compile(r"(0x[0-9a-f]{8}_0x[0-9a-f]{8})\s+([\d,]+)(?: topics?\b| ·| -)")
_STEP_OF_EVENT: Final = re.compile(r"\s*(\d+) \S ")
_RANGE: Final = re.compile(r"0x[0-9a-f]{8}_0x[0-9a-f]{8}")
STEP_ALWAYS_FROM: Final = 100
"""So wide a status line always has room for the step."""

Dashboard = DashboardScreen[Any]


def differences(screen: Screen[Any], picture: Picture, twin: Session, document: Document) -> str:
    """The first thing that the terminal shows and that is not so, "" for none."""
    if any(isinstance(widget, Toast | Tooltip) for widget in screen._compositor.visible_widgets):
        return ""
    if isinstance(screen, BundlesScreen):
        return _forecast(screen, picture, twin)
    if not isinstance(screen, DashboardScreen) or screen.has_class(Layout.TOO_SMALL.value):
        return ""
    kind = document["format"].removeprefix("ringside.").partition("/")[0]
    kinds = {
        "keys": "KeysScreen",
        "producers": "ProducersScreen",
        "dashboard": "MainScreen",
        "scalable": "ScalableScreen",
    }
    if type(screen).__name__ != kinds[kind]:
        return f"front: {type(screen).__name__} is in front, the journal is about {kind}"
    scalable = shown_in(twin).scalable_view_of(screen.group) if isinstance(screen, ScalableScreen) else None
    if scalable is not None:  # its tables are those of one subscription, and no document has that choice
        document = to_builtins(
            {"status": scalable.status, "consumers": scalable.consumers, "events": scalable.happenings}
        )
    if isinstance(screen, KeysScreen) and screen._partition_shown is not None:  # nor has any that of one partition
        document = to_builtins(keys_document(_keys_view(screen, twin)))
    rows = document["producers" if kind == "producers" else "consumers"]
    expected = screen.list_panel.filter_text.casefold()
    listed = [row for row in rows if expected in row["name"].casefold()] if expected else rows
    sorted_as_shown = _as_shown(screen, listed)
    if sorted_as_shown is None:
        return f"{type(screen).__name__} order: {screen.list_panel.table.order} has other rows than {len(listed)}"
    looks: tuple[Callable[[], str], ...] = (
        lambda: _segments(screen, picture, scalable.segments) if scalable is not None else "",
        lambda: _status(screen, picture, document),
        lambda: _titles(screen, picture, document, listed, len(rows)),
        lambda: _table(screen, picture, COLUMNS[kind], sorted_as_shown),
        lambda: _sentence(screen, picture, twin),
        lambda: _events(screen, picture, document),
        lambda: _tree(screen, picture, document),
    )
    return next((f"{type(screen).__name__} {told}" for look in looks if (told := look())), "")


def _as_shown(screen: Dashboard, listed: Sequence[Document]) -> Sequence[Document] | None:
    """The rows as the table says that it has sorted them; None if it has lost or doubled one."""
    panel = screen.list_panel
    if not panel.table.order.key:
        return listed
    by_number = {_number(row): row for row in listed}
    shown = [panel._form.id_of(row) for row in panel.listed]
    return [by_number[number] for number in shown] if sorted(shown) == sorted(by_number) else None


def _number(row: Document) -> Any:
    return row.get("consumer_id", row.get("number"))


def _status(screen: Dashboard, picture: Picture, document: Document) -> str:
    text = "".join(line.text() for line in lines_of(screen, picture, screen.query_one("#status")))
    result, status = _STEP.search(text), document["status"]
    if result is None:
        return f"status: no step in {text!r}" if len(text) >= STEP_ALWAYS_FROM else ""
    if [_whole(group or "0") for group in result.groups()] != [status["step"], status["steps"]]:
        return f"status: {result.group()!r} at step {status['step']} of {status['steps']}"
    return ""


def _titles(screen: Dashboard, picture: Picture, document: Document, listed: Sequence[Document], rows: int) -> str:
    match = _COUNT.search(title_of(screen, picture, screen.query_one("#consumers")))
    if match is not None:
        some, every = match.groups()
        if _whole(every) != rows or _whole(some or every) != len(listed):
            return f"title: {match.group()!r} for {len(listed)} of {rows}"
    match = _EVENTS.search(title_of(screen, picture, screen.query_one("#events")))
    if match is not None and _whole(match.group(1)) != len(document["events"]):
        return f"events: {match.group()!r} for {len(document['events'])}"
    return ""


def _table(screen: Dashboard, picture: Picture, columns: Mapping[str, str], listed: Sequence[Document]) -> str:
    table = screen.query_one("#table", LineTable)
    heading, *lines = lines_of(screen, picture, table) or [Line(())]
    words = [
        (word[:-1], begin, end - 1) if word[-1] in SORTED else (word, begin, end)
        for word, begin, end in headings(heading)
    ]
    ends = {word: end for word, _, end in words if word in columns}
    name_at = next((begin for word, begin, _ in words if word in ("consumer", "producer")), None)
    if name_at is None or not ends:
        return ""
    for word, _, _end in headings(heading):
        if word[-1] in SORTED and word[:-1] in columns:
            values = [row[columns[word[:-1]]] for row in listed if not row.get("standby")]
            if values != sorted(values, reverse=word[-1] == SORTED[1]):
                return f"table: {word} is not in order"
    name_end = min(ends.values())
    for at, line in zip(count(int(table.scroll_offset.y)), lines, strict=False):
        if at >= len(listed):
            if line.text(0, name_end).strip():
                return f"table: {line.text().strip()!r} below the last of {len(listed)} rows"
            continue
        row = listed[at]
        for word, end in ends.items():
            shown = number_before(line, end)
            if shown == "standby":
                right = bool(row["standby"])
            else:
                right = says(shown, row[columns[word]]) and not (word == "active" and row["standby"])
            if not right:
                return f"table: {word} of row {at} ({row['name']!r}) is {row[columns[word]]}, shown {line.text()!r}"
        if not _is_name(row, line.text(name_at), screen.ascii_only):
            return f"table: row {at} is {row['name']!r}, shown {line.text()!r}"
    return _selected(screen, table, listed)


def _selected(screen: Dashboard, table: LineTable, listed: Sequence[Document]) -> str:
    numbers = [_number(row) for row in listed]
    cursor = table.cursor
    if screen.selected in numbers and numbers[cursor : cursor + 1] != [screen.selected]:
        return (
            f"cursor: at row {cursor}, {screen.selected} is selected, which is in row {numbers.index(screen.selected)}"
        )
    return ""


def _bare(text: str) -> str:
    """Without marks that join the character before them: a picture has one character a cell."""
    return "".join(each for each in normalize("NFD", text) if not combining(each))


def _is_name(row: Document, shown: str, ascii_only: bool) -> bool:
    name = safe_name(row["name"]) if row["name"] or "number" not in row else f"#{row['number']}"
    if ascii_only:
        name = ascii_text(name)
    name, shown = _bare(name), _bare(shown)
    if shown.startswith(name):
        return True
    head, cut, _ = shown.partition("~" if ascii_only else "…")
    return bool(cut) and name.startswith(head)


def _sentence(screen: Dashboard, picture: Picture, twin: Session) -> str:
    kind, _ = screen.sentence
    if kind != "hint" or isinstance(screen, ScalableScreen):
        return ""
    text = "".join(line.text() for line in lines_of(screen, picture, screen.query_one("#sentence")))
    expected = _hint(screen, twin)
    shown, due = (_cells(each) for each in (text, ascii_text(expected) if screen.ascii_only else expected))
    if not shown:
        return ""
    shown = shown.removeprefix(">" if screen.ascii_only else "›")
    head = shown.partition("~" if screen.ascii_only else "…")[0] if len(shown) < len(due) else shown
    if not due.startswith(head) or (head == shown and len(shown) != len(due)):
        return f"sentence: {text.strip()!r} is shown, due is {expected!r}"
    return ""


def _cells(text: str) -> str:
    """The characters that take a cell of their own, without blanks."""
    return "".join(each for each in text if not each.isspace() and cell_len(each))


def _hint(screen: Dashboard, twin: Session) -> str:
    if isinstance(screen, MainScreen):
        view = shown_in(twin).failover_view
        text, notices = hint(view), view.notices
    elif isinstance(screen, KeysScreen):
        keys_view = _keys_view(screen, twin)
        text, notices = keys_hint(keys_view), keys_view.notices
    else:
        producers_view = shown_in(twin).producers_view
        assert producers_view is not None
        text, notices = producers_hint(producers_view), producers_view.notices
    return text + (f" (i: {counted(len(notices), 'notice')})" if notices else "")


def _keys_view(screen: KeysScreen, twin: Session) -> KeysView:
    """What the screen is about: all partitions, or the one that it shows."""
    shown, partition = shown_in(twin), screen._partition_shown
    view = shown.keys_view if partition is None else shown.keys_view_of(partition)
    assert view is not None
    return view


def _events(screen: Dashboard, picture: Picture, document: Document) -> str:
    if isinstance(screen, ScalableScreen):
        return ""  # its lines have times, not steps
    table = screen.query_one("#events", LineTable)
    newest_first = document["events"][::-1]
    for at, line in zip(count(int(table.scroll_offset.y)), lines_of(screen, picture, table), strict=False):
        match = _STEP_OF_EVENT.match(line.text())
        if at < len(newest_first) and match is not None and int(match.group(1)) != newest_first[at]["step"]:
            return f"events: row {at} is step {newest_first[at]['step']}, shown {line.text()!r}"
        if (match is None) is (at < len(newest_first)):
            return f"events: row {at} of {len(newest_first)} is shown as {line.text()!r}"
    return ""


def _tree(screen: Dashboard, picture: Picture, document: Document) -> str:
    if not isinstance(screen, MainScreen):
        return ""
    topics: dict[str, set[int]] = {}
    for bundle in _bundles(document["namespaces"]):
        topics.setdefault(bundle["range"], set()).add(bundle["topics"])
    for line in lines_of(screen, picture, screen.query_one("#bundles")):
        match = _BUNDLE.search(line.text())
        if match is not None and _whole(match.group(2)) not in topics.get(match.group(1), ()):
            return f"bundles: {match.group()!r} is shown, the journal has {topics.get(match.group(1))}"
    return ""


def _bundles(namespaces: Sequence[Document]) -> Iterator[Document]:
    left = [root for namespace in namespaces for root in namespace["roots"]]
    while left:
        bundle = left.pop()
        yield bundle
        left += bundle["children"]


def _segments(screen: Dashboard, picture: Picture, segments: Sequence[SegmentLine]) -> str:
    table: RowsTable[SegmentLine] = screen.query_one("#segments", RowsTable)
    rows = _sorted_rows(table, segments, lambda row: row.segment)
    if rows is None:
        return f"segments order: {table.order} has other rows than {len(segments)}"
    heading, *lines = lines_of(screen, picture, table) or [Line(())]
    ends = {word.rstrip(SORTED): end - (word[-1] in SORTED) for word, _, end in headings(heading)}
    for at, line in zip(count(int(table.scroll_offset.y)), lines, strict=False):
        if at >= len(rows):
            if line.text().strip():
                return f"segments: {line.text().strip()!r} below the last of {len(rows)} rows"
            continue
        row = rows[at]
        texts = {"range": row.range, "state": row.state}
        words = line.text().split()
        if any(word in ends and text not in words for word, text in texts.items()):
            return f"segments: row {at} is {texts}, shown {line.text()!r}"
        for word in SEGMENT_NUMBERS.keys() & ends.keys():
            value, shown = getattr(row, SEGMENT_NUMBERS[word]), number_before(line, ends[word])
            if not (shown in ("–", "-") if value is None else says(shown, value)):
                return f"segments: {word} of {row.segment} is {value}, shown {line.text()!r}"
    return ""


def _forecast(screen: BundlesScreen, picture: Picture, twin: Session) -> str:
    state = twin.timeline.state
    # A script may go on below: the forecast is of the state that it was opened on.
    if screen.view is None or screen._state != state or len(state.topics) > FORECAST_TOPICS:
        return ""
    if screen.has_class(Layout.TOO_SMALL.value) or not screen.query_one("#tree").display:
        return ""
    view = balance_view(state, screen._namespace, screen.question)
    if not isinstance(view, BalanceView):
        return f"forecast: {view} for {screen._namespace}"
    frame = balance_frame(view, view.trees[screen.algorithm].algorithm, screen.cycle)
    table = screen.query_one("#tree", RowsTable)
    rows = _sorted_rows(table, frame.rows, lambda row: (row.range_text, row.split_in))
    if rows is None:
        return f"BundlesScreen order: {table.order} has other rows than {len(frame.rows)}"
    title = title_of(screen, picture, table)
    due = f"{counted(len(frame.leaves), 'bundle')} " + (f"after cycle {frame.cycle}" if frame.cycle else "now")
    if len(title) > 40 and due not in title:
        return f"BundlesScreen title: {title!r}, due is {due!r}"
    heading, *lines = lines_of(screen, picture, table) or [Line(())]
    ends = [end for word, _, end in headings(heading) if word == "topics"]
    for at, line in zip(count(int(table.scroll_offset.y)), lines, strict=False):
        match = _RANGE.search(line.text())
        if (match is None) is (at < len(rows)) and picture.width >= 60:
            return f"BundlesScreen rows: row {at} of {len(rows)} is shown as {line.text()!r}"
        if match is None or at >= len(rows):
            continue
        row = rows[at]
        if match.group() != row.range_text:
            return f"BundlesScreen rows: row {at} is {row.range_text}, shown {line.text()!r}"
        if ends and not row.split_in and not says(number_before(line, ends[0]), row.topics):
            return f"BundlesScreen rows: {row.topics} topics in row {at}, shown {line.text()!r}"
    return ""


def _sorted_rows(table: RowsTable[Row], rows: Sequence[Row], key: Callable[[Row], Any]) -> Sequence[Row] | None:
    """The rows as the table says that it has sorted them; None if it has lost or doubled one."""
    if not table.order.key:
        return rows
    by_key = {key(row): row for row in rows}
    shown = [key(row) for row in table.listed]
    return [by_key[each] for each in shown] if sorted(shown) == sorted(by_key) else None


def _whole(text: str) -> int:
    return int(text.replace(",", ""))
