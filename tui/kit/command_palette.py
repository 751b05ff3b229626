"""Textual's command palette, with plain text: titles of commands may contain names of subscriptions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from textual import events
from textual.app import App, ComposeResult, SystemCommand
from textual.command import CommandInput, CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.screen import Screen

from tui.kit.bindings import Groups, in_force, key_text
from tui.kit.plain_text import plain
from tui.kit.prompt import LONGEST_LINE
from tui.kit.screens import LeavesOnce

PALETTE_ID = "--command-palette"
"""The id by which Textual recognises an open palette."""


def key_commands(groups: Groups, node: App[Any] | Screen[Any]) -> Iterator[SystemCommand]:
    """What keys of the app or of a screen do, in the words of the help, each with its keys."""
    for binding in in_force((binding for _, group in groups for binding in group), node.app):
        words = binding.tooltip or (binding.description if binding.show else "")
        if binding.action != "none" and words:
            keys = " ".join(key_text(key, binding) for key in binding.key.split(","))
            yield SystemCommand(f"{words} ({keys})", "", partial(node.call_later, node.run_action, binding.action))


class PlainCommands(Provider):
    """The system commands of the app, as the stock provider finds them."""

    async def discover(self) -> Hits:
        """Yield all commands: those of the screen come first, in the order of the help."""
        for title, description, callback, shown in self.app.get_system_commands(self.screen):
            if shown:
                yield DiscoveryHit(plain(title), callback, text=title, help=description or None)

    async def search(self, query: str) -> Hits:
        """Yield the commands that match the query, with the matching characters highlighted."""
        matcher = self.matcher(query)
        for title, description, callback, _ in self.app.get_system_commands(self.screen):
            name = plain(title)
            score, places = matcher.fuzzy_search.match(query, name.plain)
            if score > 0:
                for at in places:
                    name = name.stylize(matcher.match_style, at, at + 1)
                yield Hit(score, name, callback, text=title, help=description or None)


class _Commands(CommandList):
    """The stock list; the second click of a double click may be on a line that the first removed."""

    def on_click(self, event: events.Click) -> None:
        """Stop the stock handler, which runs next, where the option is gone."""
        option = event.style.meta.get("option")
        if option is not None and option >= self.option_count:
            event.prevent_default()


class PlainCommandPalette(CommandPalette, LeavesOnce[None]):
    """The stock palette, closed once however often it is clicked."""

    def compose(self) -> ComposeResult:
        """Compose the stock palette with our own list, and a limit on what can be typed."""
        for widget in super().compose():
            if isinstance(widget, CommandInput):
                widget.max_length = LONGEST_LINE
            yield _Commands() if isinstance(widget, CommandList) else widget

    def _action_command_list(self, action: str) -> None:
        """Ignore paging until the list has visible lines: before, a page has no height."""
        if not action.startswith("page") or self.query_one(CommandList).scrollable_content_region:
            super()._action_command_list(action)
