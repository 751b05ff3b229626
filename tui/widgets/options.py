"""The stock list of options, safe against keys that come before it is arranged."""

from __future__ import annotations

from textual.widgets import OptionList


def has_pages(options: OptionList) -> bool:
    """Whether it has lines in sight. Before that a page has no height, and the stock list raises ``KeyError``."""
    return bool(options.scrollable_content_region)


class Options(OptionList):
    """A list of options."""

    def action_page_up(self) -> None:
        if has_pages(self):
            super().action_page_up()  # type: ignore[no-untyped-call]

    def action_page_down(self) -> None:
        if has_pages(self):
            super().action_page_down()  # type: ignore[no-untyped-call]
