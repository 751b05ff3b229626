"""The command palette: the stock one, whose commands may name subscriptions, so it takes their text as it is."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.command import CommandInput, CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider

from tui.kit.plain_text import plain
from tui.kit.prompt import LONGEST_LINE
from tui.kit.screens import LeavesOnce

PALETTE_ID = "--command-palette"
"""By this Textual knows whether one is open."""


class PlainCommands(Provider):
    """The system commands of the app, as the stock provider finds them."""

    async def discover(self) -> Hits:
        """All of them, by name."""
        for title, description, callback, shown in sorted(
            self.app.get_system_commands(self.screen), key=lambda command: command.title
        ):
            if shown:
                yield DiscoveryHit(plain(title), callback, text=title, help=description)

    async def search(self, query: str) -> Hits:
        """Those that what is typed matches; the characters that do stand out."""
        matcher = self.matcher(query)
        for title, description, callback, _ in self.app.get_system_commands(self.screen):
            name = plain(title)
            score, places = matcher.fuzzy_search.match(query, name.plain)
            if score > 0:
                for at in places:
                    name = name.stylize(matcher.match_style, at, at + 1)
                yield Hit(score, name, callback, text=title, help=description)


class _Commands(CommandList):
    """The stock list; the second click of a double one may be on a line that the first took away."""

    def on_click(self, event: events.Click) -> None:
        """Keep from the stock handler, which comes next, an option that is gone."""
        option = event.style.meta.get("option")
        if option is not None and option >= self.option_count:
            event.prevent_default()


class PlainCommandPalette(CommandPalette, LeavesOnce[None]):
    """The stock palette, closed once however often it is clicked."""

    def compose(self) -> ComposeResult:
        """As the stock one, with a list and a line of our own in place of its own."""
        for widget in super().compose():
            if isinstance(widget, CommandInput):
                widget.max_length = LONGEST_LINE
            yield _Commands() if isinstance(widget, CommandList) else widget

    def _action_command_list(self, action: str) -> None:
        """As the stock one, but before the list has lines in sight a page has no height, and is not turned."""
        if not action.startswith("page") or self.query_one(CommandList).scrollable_content_region:
            super()._action_command_list(action)
