"""Nothing that leaves the process has the secret in it: the lines of a screen, the clipboard, and what is exported."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from rich.segment import Segment
from textual.color import Color
from textual.widgets import Static

from tests.tui.screens_under_test import run
from tui.kit.exporting import _shown
from tui.kit.pictures import picture_of
from tui.kit.themed_app import SecretFilter, ThemedApp
from tui.sources.cluster.redaction import bearer_secret

TOKEN = "tok-secret.1"


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["a ", TOKEN, " b"], ["a ", "*" * 12, " b"]),
        (["a tok-", "secret", ".1 b"], ["a ****", "******", "** b"]),
        ([f"<{TOKEN}>", f"{TOKEN}{TOKEN}"], ["<************>", "*" * 24]),
        (["tok-secret", " .1"], ["tok-secret", " .1"]),
    ],
)
def test_a_line_keeps_its_columns(pieces: list[str], shown: list[str]) -> None:
    segments = SecretFilter(bearer_secret(TOKEN)).apply([Segment(piece) for piece in pieces], Color(0, 0, 0))
    assert [segment.text for segment in segments] == shown


def test_a_screen_and_the_clipboard_do_not_have_it() -> None:
    class Small(ThemedApp):
        def compose(self) -> Iterator[Static]:
            yield Static(f"a {TOKEN} b")

    app = Small()
    app.secret = bearer_secret(TOKEN)

    async def story(pilot: object) -> None:
        assert TOKEN not in picture_of(app)
        assert "************" in picture_of(app)
        app.copy_to_clipboard(f"a {TOKEN} b")
        assert app.clipboard == "a *** b"

    run(app, story)


def test_an_exported_row_does_not_have_it() -> None:
    app = ThemedApp()
    app.secret = bearer_secret(TOKEN)

    async def story(pilot: object) -> None:
        records = [{"name": f"a {TOKEN}", "count": 3, "none": None}]
        assert _shown(app.screen, records) == [{"name": "a ***", "count": 3, "none": None}]

    run(app, story)
