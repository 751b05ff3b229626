"""`:context NAME` goes to another running cluster of the settings, inside the dashboard that is open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.patience import HANG_S
from tests.playing.server import playing
from tests.tui.screens_under_test import app_of, run, text_of
from tui.app import RingsideApp
from tui.cli.contexts import NamedClusters
from tui.home.screen import HomeScreen
from tui.kit.prompt import Prompt
from tui.kit.screen import DashboardScreen
from tui.kit.store import Store

pytestmark = pytest.mark.real_time  # the clusters answer in a thread
TOKEN = "a-secret-of-many-letters"


async def until(pilot: Pilot[int], true: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANG_S):
        while not true():
            await pilot.pause()


async def typed(pilot: Pilot[int], line: str) -> None:
    await pilot.press("colon", *("space" if each == " " else each for each in line), "enter")


def another(app: RingsideApp, store: Store) -> bool:
    is_there = app.store is not store and isinstance(app.screen, DashboardScreen) and app.screen.focused is not None
    return is_there and not list(app.workers)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's settings, and a folder of states of their own."""
    path = tmp_path / "config.toml"
    monkeypatch.setenv("RINGSIDE_CONFIG", str(path))
    monkeypatch.setattr("tui.sources.sessions.user_state_path", lambda *_names, **_how: tmp_path / "state")
    return path


def test_a_cluster_replaces_what_is_shown_and_one_that_cannot_be_read_does_not(settings: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    app = app_of()
    app.contexts = NamedClusters

    async def story(pilot: Pilot[int]) -> None:
        first, screens = app.store, len(app._installed_screens)
        await typed(pilot, "context prod")
        await until(pilot, lambda: another(app, first))
        prod = app.store
        assert len(app.screen_stack) == 2 and len(app._installed_screens) == screens + 1
        assert prod.live is not None and prod.live.origin == server.url
        assert [one.name for one in prod.timeline.state.subscriptions] != ["billing", "billing"]
        assert all(request.headers["Authorization"] == f"Bearer {TOKEN}" for request in server.requests)
        assert app.secret is not None and TOKEN not in app.secret.hide(TOKEN)
        feed = app._session.feed if app._session is not None else None
        await typed(pilot, "context away")
        await until(pilot, lambda: isinstance(app.screen, DashboardScreen) and app.screen.sentence[0] == "refusal")
        assert app.store is prod and app._session is not None and app._session.feed is feed
        await typed(pilot, "context lacking")
        await pilot.pause()
        assert "no-such-file" in text_of(app) and app.store is prod
        await pilot.press("escape")
        await typed(pilot, "context prod")
        await until(pilot, lambda: another(app, prod))
        assert len(app.screen_stack) == 2 and len(app._installed_screens) == screens + 1

    with playing() as server:
        settings.write_text(
            f'[clusters.away]\nurl = "http://127.0.0.1:9"\n'
            f'[clusters.lacking]\nurl = "{server.url}"\ntoken-file = "{tmp_path}/no-such-file"\n'
            f'[clusters.prod]\nurl = "{server.url}"\ntoken-file = "{tmp_path}/token"\n'
        )
        assert NamedClusters().names() == ("away", "lacking", "prod")
        run(app, story)
        assert NamedClusters().names() == ("prod", "away", "lacking")


def test_the_list_has_the_clusters_that_were_left_and_opens_a_row_of_one(settings: Path) -> None:
    app = app_of()
    app.contexts = NamedClusters

    async def story(pilot: Pilot[int]) -> None:
        first = app.store.timeline.source
        for name in ("prod", "stage"):
            store = app.store
            await typed(pilot, f"context {name}")
            await until(pilot, lambda store=store: another(app, store))  # type: ignore[misc]
        await pilot.press("0")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen) and len(app.screen.table.listed) > 0)
        home = app.screen
        assert isinstance(home, HomeScreen)
        rows = list(home.table.listed)
        assert {row.cluster for row in rows} == {first, "prod", "stage"}
        at = next(at for at, row in enumerate(rows) if row.cluster == "prod" and row.type == "Key_Shared")
        home.table.cursor, store = at, app.store
        await pilot.press("enter")
        await until(pilot, lambda: another(app, store))
        assert app.store.shown.key == rows[at].key
        await pilot.press("0")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen) and len(app.screen.table.listed) > 0)
        home = app.screen
        assert isinstance(home, HomeScreen)
        clusters = [row.cluster for row in home.table.listed]
        assert {*clusters} == {first, "prod", "stage"}
        home.table.cursor = clusters.index(first)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, DashboardScreen))
        assert "is not in your settings" in text_of(app), "what was opened first has no name to go back to"

    with playing() as server:
        settings.write_text("".join(f'[clusters.{name}]\nurl = "{server.url}"\n' for name in ("prod", "stage")))
        run(app, story)


def test_a_faulty_file_of_settings_is_why_there_is_no_name(settings: Path) -> None:
    app = app_of()
    app.contexts = NamedClusters

    async def story(pilot: Pilot[int]) -> None:
        await typed(pilot, "context prod")
        await pilot.pause()
        assert "no closing" in text_of(app).lower() or "expected" in text_of(app).lower(), text_of(app)

    settings.write_text("[clusters.prod\n")
    assert NamedClusters().names() == () and f"{settings}: " in NamedClusters().why_none()
    run(app, story)
    settings.write_text("")
    assert NamedClusters().why_none().endswith(str(settings))


def test_tab_completes_the_names_and_the_list_has_the_command_too(settings: Path) -> None:
    settings.write_text('[clusters.prod]\nurl = "http://127.0.0.1:9"\n[clusters.stage]\nurl = "http://127.0.0.1:9"\n')
    app = app_of()
    app.contexts = NamedClusters

    async def story(pilot: Pilot[int]) -> None:
        for key in ("", "0"):
            if key:
                await pilot.press(key)
                await pilot.pause()
            await pilot.press("colon", *"context", "space", "s", "tab")
            await pilot.pause()
            prompt = app.screen.query_one(Prompt)
            assert prompt.query_one("Input").value == "context stage"  # type: ignore[attr-defined]
            await pilot.press("escape")

    run(app, story)


def test_without_contexts_there_is_no_such_command() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        store = app.store
        await typed(pilot, "context prod")
        await pilot.pause()
        assert app.store is store and app.screen.query_one(Prompt).is_open

    run(app, story)
