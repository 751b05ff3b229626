"""Style sheets that are parsed once.

Textual parses all style sheets anew whenever a screen brings one of its own and whenever the theme changes: half of the
time that a first dialog takes to open. Here each sheet is parsed once for each theme.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from textual.cache import LRUCache
from textual.css.stylesheet import Stylesheet

SHEETS_KEPT = 128
"""More than all widgets and screens have."""


class ParsedOnce(Stylesheet):
    """Keeps what it has parsed, by the variables of the theme. Rules are only read once they are parsed."""

    def __init__(self, *, variables: dict[str, str] | None = None) -> None:
        super().__init__(variables=variables)
        self._kept: dict[frozenset[tuple[str, str]], LRUCache[tuple[Any, ...], Any]] = {}
        self._parse_cache = self._kept_for(self._variables)

    def set_variables(self, variables: dict[str, str]) -> None:
        """Use other variables; rules that were parsed with the present ones are kept."""
        self._parse_cache = LRUCache(SHEETS_KEPT)  # the stock method empties it
        super().set_variables(variables)
        self._parse_cache = self._kept_for(variables)

    def reparse(self) -> None:
        """Parse what has not been parsed with the present variables."""
        self.parse()

    def prepare(self, variables: dict[str, str]) -> None:
        """Parse all sheets with other variables, so that changing to these takes less time."""
        ahead = ParsedOnce(variables=variables)
        ahead.source = self.source.copy()
        ahead._parse_cache = self._kept_for(variables)
        ahead.parse()

    def _kept_for(self, variables: Mapping[str, str]) -> LRUCache[tuple[Any, ...], Any]:
        return self._kept.setdefault(frozenset(variables.items()), LRUCache(SHEETS_KEPT))
