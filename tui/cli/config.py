"""The user's own settings: a TOML file with what every command takes unless its options say something else.

``RINGSIDE_CONFIG`` names the file, and empty means none; else it is ``ringside/config.toml`` in the user's folder of
configurations. Each problem in it is reported, and the rest of the file applies.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from engine.errors import InputError, Problem, Rejection, system_reason

VARIABLE: Final = "RINGSIDE_CONFIG"
MOST_BYTES: Final = 1_000_000
EXAMPLE: Final = """\
# Colours of the screens: dark or light.
theme = "dark"
# No colours at all; letters and marks carry everything.
mono = false
# Only ASCII characters, on screens and in print.
ascii = false
# Whether anything on a screen moves by itself.
animation = true
# Whether the steps of a session are kept on disk.
journal = true
# Read no more than this, unpacked and of all files together.
max-input = "2GB"

[keys]
# One more key for what another key does: here K kills, as x does.
# "K" = "x"
"""


@dataclass(frozen=True, slots=True)
class Config:
    """``settings`` that apply, as written; ``defaults`` are the same by the names of the commands' parameters.

    ``keys``: one more key -> the key whose meaning it has, both as written. ``problems`` are sentences about what was
    left out.
    """

    path: Path | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def config_path() -> Path | None:
    """The path of the file; None where ``RINGSIDE_CONFIG`` is empty."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named) if named else None
    folder = os.environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser()
    return Path(folder) / "ringside" / "config.toml"


def read_config(path: Path | None) -> Config:
    """Read a file; a missing one and ``/dev/null`` count as empty."""
    if path is None:
        return Config()
    if str(path) == os.devnull:
        return Config(path)
    from engine.input import read_path

    try:
        data = read_path(path, limit=MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return Config(path)
    except InputError as error:
        return Config(path, problems=(f"it {str(error).removeprefix(f'{path} ')}",))
    except (OSError, ValueError) as error:
        return Config(path, problems=(f"it cannot be read: {system_reason(error)}",))
    from engine.toml import read_toml

    document = read_toml(data, "it")
    if isinstance(document, Problem):
        return Config(path, problems=(str(document),))
    return _config(path, document)


def _config(path: Path, document: Mapping[str, Any]) -> Config:
    settings: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    keys: dict[str, str] = {}
    problems: list[str] = []
    for name, value in document.items():
        if name == "keys":
            problems += _take_keys(value, keys)
            continue
        if name not in _SETTINGS:
            problems.append(f"{name!r} is not a setting; there are {', '.join((*_SETTINGS, '[keys]'))}")
            continue
        parameter, convert, wanted = _SETTINGS[name]
        try:
            defaults[parameter] = convert(value)
            settings[name] = value
        except ValueError:
            problems.append(f"{name} = {value!r}: it is {wanted}")
    return Config(path, settings, defaults, keys, tuple(problems))


def _take_keys(value: object, keys: dict[str, str]) -> list[str]:
    """Take over the valid pairs, and report the others. Whether a key has a meaning is checked by the screens."""
    if not isinstance(value, dict):
        return ['keys is a table: [keys], and below it lines such as "K" = "x"']
    wrong = [name for name, meant in value.items() if not isinstance(meant, str)]
    keys.update((name, meant) for name, meant in value.items() if isinstance(meant, str))
    return [f'[keys] {name!r}: it is a key in quotes, such as "x"' for name in wrong]


def _one_of(*texts: str) -> Callable[[Any], str]:
    def convert(value: Any) -> str:
        if value not in texts:
            raise ValueError(value)
        return str(value)

    return convert


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(value)
    return value


def _untruth(value: Any) -> bool:
    return not _truth(value)


def _size(value: Any) -> str:
    from engine.input import parse_size

    if isinstance(value, bool) or isinstance(parse_size(str(value)), Rejection):
        raise ValueError(value)
    return str(value)


_SETTINGS: Final[Mapping[str, tuple[str, Callable[[Any], Any], str]]] = {
    "theme": ("theme", _one_of("dark", "light"), 'one of "dark" and "light"'),
    "mono": ("mono", _truth, "true or false"),
    "ascii": ("ascii_only", _truth, "true or false"),
    "animation": ("no_animation", _untruth, "true or false"),
    "journal": ("no_journal", _untruth, "true or false"),
    "max-input": ("max_input", _size, 'a size, such as "500MB"'),
}
"""By name: the parameter of commands, how a value becomes that of the parameter, and what a value is."""


@lru_cache(maxsize=1)
def _read(path: Path | None, _written: tuple[int, int]) -> Config:
    config = read_config(path)
    if config.problems and "_RINGSIDE_COMPLETE" not in os.environ:
        from tui.cli.output import say

        for problem in config.problems:
            say(f"{path}: {problem}")
    return config


def configured() -> Config:
    """The user's settings, read once; problems are printed then."""
    path = config_path()
    try:
        about = path.stat() if path is not None else None
    except (OSError, ValueError):
        about = None
    return _read(path, (about.st_mtime_ns, about.st_size) if about is not None else (0, 0))


def default_of(parameter: str, otherwise: Any) -> Callable[[], Any]:
    """Return a function that gives click the default of a parameter: the user's, else this one."""
    return lambda: configured().defaults.get(parameter, otherwise)
