"""Stylesheets and palettes; no logic. Here are the absolute paths of the stylesheets.

Textual resolves a relative path beside the class that names it, so it would break in a subclass elsewhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parent


def stylesheet(name: str) -> Path:
    """The absolute path of ``<name>.tcss``.

    Raises:
        FileNotFoundError: there is no such sheet in this package.
    """
    path = ROOT / f"{name}.tcss"
    if not path.is_file():
        known = ", ".join(sheet.stem for sheet in stylesheets()) or "none"
        raise FileNotFoundError(f"no stylesheet {name!r} in {ROOT}; there are: {known}")
    return path


def stylesheets() -> list[Path]:
    """All stylesheets of the package, absolute, in the order of their names."""
    return sorted(ROOT.glob("*.tcss"))


OURS: Final = ("dark", "light")
OTHERS: Final = (
    *("nord", "gruvbox", "catppuccin-mocha", "catppuccin-latte", "catppuccin-frappe", "catppuccin-macchiato"),
    *("dracula", "tokyo-night", "monokai", "flexoki", "solarized-light", "solarized-dark", "rose-pine"),
    *("rose-pine-moon", "rose-pine-dawn", "atom-one-dark", "atom-one-light", "textual-dark", "textual-light"),
)
"""Themes of Textual, on whose ground consumers have the colours of our dark or light one."""
