"""``config``: the user's own settings: where they are, whether they hold, and what a file of them looks like."""

from __future__ import annotations

import json
from pathlib import Path

import click

from tui.cli.exits import FINE, USAGE
from tui.cli.output import say, write_out, write_page
from tui.kit.wording import safe_name


@click.group("config")
def config_command() -> None:
    """Show your own settings: colours, animation, journal, limits, keys and clusters, in one TOML file.

    It is ringside/config.toml in the folder of configurations ($XDG_CONFIG_HOME, or ~/.config); RINGSIDE_CONFIG names
    another one, and empty none. Options on the command line override it.

    Example: ringside config check
    """


@config_command.command("check", short_help="Say which settings hold, and what is wrong with others.")
@click.argument("path", required=False, metavar="[FILE]", type=click.Path(path_type=Path, dir_okay=False))
def check(path: Path | None) -> int:
    """Read FILE, or your settings file, and print the settings in force. Exit code 2 if something in it is wrong.

    Example: ringside config check
    """
    from tui.cli.config import config_path, read_config
    from tui.cli.screen import bindings_of_screens
    from tui.kit.bindings import chosen_keys

    wanted = path if path is not None else config_path()
    if wanted is None:
        say("no file of settings is read: RINGSIDE_CONFIG is empty")
        return FINE
    if not wanted.exists():
        say(f"{wanted}: there is no such file; ringside config example > {wanted} makes one")
        return FINE if path is None else USAGE
    config = read_config(wanted)
    chosen = chosen_keys(config.keys, bindings_of_screens())
    lines = [f"{safe_name(str(wanted))}:"]
    lines += [f"  {name} = {json.dumps(value)}" for name, value in config.settings.items()]
    lines += [f"  {name} has the key {keys}" for name, keys in chosen.keymap.items()]
    lines += [
        f"  @{safe_name(name)} is {safe_name(cluster.url.rpartition('@')[2])}"
        for name, cluster in config.clusters.items()
    ]
    write_page(lines if len(lines) > 1 else [f"{lines[0]} nothing is set"], ascii_only=False)
    problems = (*config.problems, *(f"[keys] {clash}" for clash in chosen.problems))
    for problem in problems:
        say(f"{wanted}: {problem}")
    return USAGE if problems else FINE


@config_command.command("keys", short_help="List the actions of the screens with their keys.")
def keys() -> int:
    """List the actions that [keys] can give other keys, each with the keys that it has without.

    Example: ringside config keys
    """
    from tui.cli.plain import table
    from tui.cli.screen import bindings_of_screens
    from tui.kit.bindings import key_text

    rows: dict[str, tuple[list[str], str]] = {}
    for binding in (binding for screen in bindings_of_screens() for binding in screen if binding.id):
        known, _ = rows.setdefault(binding.id or "", ([], binding.tooltip or binding.description))
        known += [text for key in binding.key.split(",") if (text := key_text(key, binding)) not in known]
    listed = [(name, " ".join(known), words) for name, (known, words) in sorted(rows.items())]
    write_page(table(listed, ("<", "<", "<")), ascii_only=False)
    return FINE


@config_command.command("example", short_help="Print a file of settings with every default.")
def example() -> int:
    """Print a file of settings with every default, to begin with.

    Example: ringside config example > ~/.config/ringside/config.toml
    """
    from tui.cli.config import EXAMPLE

    write_out(EXAMPLE)
    return FINE
