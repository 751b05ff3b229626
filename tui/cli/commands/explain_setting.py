"""``explain setting``: what a broker setting does, its default by release, and how brokers take it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from engine.errors import InputError, Rejection
from tui.cli.exits import FINE
from tui.cli.options import ascii_option, json_option, pulsar_option
from tui.cli.output import json_text, write_out, write_page
from tui.cli.plain import wrapped

if TYPE_CHECKING:
    from engine.views.setting import SettingView


_LABEL_CELLS: Final = 11


@click.command("setting")
@click.argument("name")
@pulsar_option("The release whose default is meant, such as 4.0.7 or 2.11.")
@json_option
@ascii_option
def explain_setting(*, name: str, pulsar: str | None, as_json: bool, ascii_only: bool) -> int:
    """Say what the broker setting NAME does, what it is where nobody sets it, since when, and how brokers take it.

    Example: ringside explain setting activeConsumerFailoverConsistentHashing
    """
    from engine.config import CURRENT, behaviour_of
    from engine.views.setting import setting_view

    behaviour = CURRENT if pulsar is None else behaviour_of(pulsar)
    if isinstance(behaviour, Rejection):
        raise InputError(f"--pulsar {pulsar}: {behaviour.message}")
    view = setting_view(name, behaviour)
    if isinstance(view, Rejection):
        raise InputError(view.message)
    if as_json:
        write_out(json_text(view))
    else:
        write_page(setting_lines(view), ascii_only=ascii_only)
    return FINE


def setting_lines(view: SettingView) -> list[str]:
    """The view as a page."""
    history = [
        f"{', '.join(past.since)}: {'no such setting' if past.default is None else past.default}"
        for past in view.history
    ] or [f"2.10 or before: {view.default or '(empty)'}"]
    default = f"Pulsar {view.release} does not have it" if view.default is None else f"{view.default or '(empty)'}"
    taken = "while brokers run (update-dynamic-config)" if view.dynamic else "from broker.conf at the start of a broker"
    parts = [
        ("setting", view.name),
        ("category", view.category),
        ("default", f"{default} ({view.release})" if view.default is not None else default),
        ("since", "; ".join(history)),
        ("taken", taken if view.default is not None else ""),
        ("does", view.text),
        ("but", view.remark),
        ("source", view.source),
    ]
    return [
        line
        for label, text in parts
        if text
        for line in wrapped(text, first=f"{label:<{_LABEL_CELLS}}", rest=" " * _LABEL_CELLS)
    ]
