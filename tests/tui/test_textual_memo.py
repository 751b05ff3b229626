"""What tests/textual_memo.py remembers is what Textual works out by itself for the same widget at that moment."""

from __future__ import annotations

from typing import Any

import pytest
from textual.css.styles import Styles
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot

from tests.tui.screens_under_test import app_of, run


@pytest.mark.parametrize("keys", [(), ("tab", "j"), ("2", "z"), ("a",), ("question_mark",), (":",)], ids=" ".join)
def test_every_widget_has_the_styles_that_textual_chooses_without_memory(
    keys: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = 0
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        nonlocal checked
        await pilot.press(*keys)
        await pilot.pause()
        for node in app.screen.walk_children(with_self=True):
            checked += 1
            assert _plain(node.styles.base) == _chosen_by_textual(app.stylesheet, node, monkeypatch), node

    run(app, story)
    assert checked > 5


def _chosen_by_textual(sheet: Stylesheet, node: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    chosen: list[dict[str, Any]] = [{}]
    real: Any = Stylesheet.apply
    with monkeypatch.context() as patch:
        patch.setattr(Stylesheet, "replace_rules", lambda self, node, rules, animate=False: chosen.append(rules))
        patch.setattr(Stylesheet, "_process_component_classes", lambda self, node: None)
        real.__wrapped__(sheet, node)
    styles = Styles()
    for name, value in chosen[-1].items():
        setattr(styles, name, value)
    return _plain(styles)


def _plain(styles: Styles) -> dict[str, Any]:
    """The rules; each widget has a layout of its own, so of that only the name."""
    rules: Any = styles.get_rules()
    return {name: value.name if name == "layout" else value for name, value in rules.items()}
