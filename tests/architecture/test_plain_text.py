"""Nothing from outside is read as markup: what does that in Textual and Rich is used nowhere but in one module."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
THE_ONE = ROOT / "tui" / "kit" / "plain_text.py"
FILES = sorted(path for path in (ROOT / "tui").rglob("*.py") if path != THE_ONE)
READ_MARKUP = frozenset({
    "Static", "Label", "Button", "Tooltip", "Checkbox", "RadioButton", "Switch", "Collapsible", "Tab", "Tabs",
    "TabPane", "TabbedContent", "Header", "Footer", "Markdown", "RichLog", "Log", "ListItem", "SelectionList",
    "Select", "Digits", "Link", "Toast", "KeyPanel", "HelpPanel", "CommandPalette",
})  # fmt: skip
"""Widgets of Textual that take a text as markup unless they are kept from it."""
MARKUP_METHODS = frozenset({"from_markup", "from_text", "render_str", "visualize", "markup_to_content"})
TITLES = frozenset({"border_title", "border_subtitle", "tooltip", "BORDER_TITLE", "BORDER_SUBTITLE"})
SUBCLASSED = {"CommandPalette": "tui/kit/command_palette.py"}
"""Widgets that a module makes safe by a class of its own."""


def offences(source: str, path: str = "") -> list[str]:
    """Line and reason of everything that Textual or Rich would read as markup."""
    return [f"{node.lineno}: {reason}" for node in ast.walk(ast.parse(source)) if (reason := _reason(node, path))]


def _reason(node: ast.AST, path: str) -> str:
    match node:
        case ast.ImportFrom(module=str(module), names=names) if module.startswith("textual"):
            bad = [alias.name for alias in names if alias.name in READ_MARKUP and SUBCLASSED.get(alias.name) != path]
            return f"imports {', '.join(bad)}" if bad else ""
        case ast.Attribute(value=ast.Name(id="Content"), attr=attr):
            return f"Content.{attr}"
        case ast.Call(func=ast.Name(id="Content")):
            return "makes Content of its own"
        case ast.Call(func=ast.Attribute(attr=attr)) if attr in MARKUP_METHODS:
            return attr
        case ast.Call(func=ast.Name(id=name)) if name in MARKUP_METHODS:
            return name
        case ast.keyword(arg="markup", value=ast.Constant(value=True)):
            return "asks for markup"
        case ast.keyword(arg="tooltip", value=value) if not isinstance(value, ast.Constant | ast.JoinedStr):
            return "a tooltip from elsewhere"
        case ast.Call(func=ast.Name(id="OptionList"), keywords=keywords):
            plain = any(k.arg == "markup" and getattr(k.value, "value", True) is False for k in keywords)
            return "" if plain else "OptionList without markup=False"
        case ast.Attribute(attr=attr, ctx=ast.Store()) if attr in TITLES:
            return f"sets {attr}"
        case ast.Assign(targets=[ast.Name(id=name)]) if name in TITLES:
            return f"sets {name}"
        case ast.FunctionDef(name="render" | "render_label", returns=ast.Name(id="str")):
            return "renders a str"
    return ""


def test_text_becomes_content_in_one_module_only() -> None:
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in FILES}
    assert {name: lines for name, text in texts.items() if (lines := offences(text, name))} == {}


@pytest.mark.parametrize(
    "line",
    [
        "from textual.widgets import Input, Static",
        "from textual.widgets import Label",
        "panel.border_title = name",
        "self.query_one('#x').border_subtitle = f'filter: {text}'",
        "widget.tooltip = name",
        "Content.from_markup(name)",
        "Content.assemble(name)",
        "Text.from_markup(name)",
        "Content(name)",
        "OptionList(name)",
        "OptionList(name, markup=True)",
        "self.notify(name, markup=True)",
        "Binding('a', 'b', tooltip=name)",
        "class A(Widget):\n    def render(self) -> str:\n        return self.name",
        "class A(Widget):\n    BORDER_TITLE = name",
    ],
)
def test_what_reads_markup_is_found(line: str) -> None:
    assert offences(line)


@pytest.mark.parametrize(
    "line",
    ["from textual.widgets import Input", "OptionList(name, markup=False)", "set_title(panel, name)", "plain(name)"],
)
def test_what_does_not_read_markup_is_left_alone(line: str) -> None:
    assert offences(line) == []
