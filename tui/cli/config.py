"""The user's own settings: a TOML file with what every command takes unless its options say something else.

``RINGSIDE_CONFIG`` names the file, and empty means none; else it is ``ringside/config.toml`` in the user's folder of
configurations. Each problem in it is reported, and the rest of the file applies.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field

from engine.errors import InputError, Problem, Rejection, system_reason
from themes import OTHERS, OURS

VARIABLE: Final = "RINGSIDE_CONFIG"
MOST_BYTES: Final = 1_000_000
EXAMPLE: Final = """\
# Colours of the screens: dark, light, nord, dracula, solarized-light … (ringside --help lists all).
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
# Other keys for what keys do, one or several: ringside config keys lists the actions.
# kill = "K"
# step-back = ["[", "ctrl+b"]

# A cluster by its name: ringside live @prod, ringside why @prod, and :context prod in a dashboard.
# Files of secrets are named, never written here.
# [clusters.prod]
# url = "https://pulsar.example:8443"
# token-file = "~/.pulsar/prod.token"
# namespace = ["shop/orders"]
"""


class Named(Struct, frozen=True):
    """A running cluster that the user gave a name: its address, and the options that commands get with it."""

    url: str
    options: tuple[str, ...] = ()


class Config(Struct, frozen=True):
    """``settings`` that apply, as written; ``defaults`` are the same by the names of the commands' parameters.

    ``keys`` of actions by their names, as written. ``clusters`` by their names. ``problems`` are sentences about what
    was left out.
    """

    path: Path | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    clusters: Mapping[str, Named] = field(default_factory=dict)
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
    keys: dict[str, tuple[str, ...]] = {}
    clusters: dict[str, Named] = {}
    problems: list[str] = []
    for name, value in document.items():
        if name == "keys":
            problems += _take_keys(value, keys)
            continue
        if name == "clusters":
            problems += _take_clusters(value, clusters)
            continue
        if name not in _SETTINGS:
            problems.append(
                f"{name!r} is not a setting; there are {', '.join((*_SETTINGS, '[keys]', '[clusters.NAME]'))}"
            )
            continue
        parameter, convert, wanted = _SETTINGS[name]
        try:
            defaults[parameter] = convert(value)
            settings[name] = value
        except ValueError:
            problems.append(f"{name} = {value!r}: it is {wanted}")
    return Config(path, settings, defaults, keys, clusters, tuple(problems))


def _take_keys(value: object, keys: dict[str, tuple[str, ...]]) -> list[str]:
    """Take over the keys of actions, and report what is not a text. The screens know which actions there are."""
    if not isinstance(value, dict):
        return ['keys is a table: [keys], and below it lines such as kill = "K"']
    given = {name: texts_of(wanted) for name, wanted in value.items()}
    keys.update((name, texts) for name, texts in given.items() if texts)
    return [f'[keys] {name!r}: it is a key in quotes, such as "K"' for name, texts in given.items() if not texts]


def _take_clusters(value: object, clusters: dict[str, Named]) -> list[str]:
    """Take over the clusters that can be used, and report the others."""
    from tui.sources.cluster.addresses import is_url

    if not isinstance(value, dict):
        return ['clusters are tables: [clusters.NAME], and below it url = "https://HOST:PORT"']
    problems = []
    for name, table in value.items():
        where = f"[clusters.{name}]"
        members = table if isinstance(table, dict) else {}
        unknown = [member for member in members if member != "url" and member not in _CLUSTER_OPTIONS]
        options = [(f"--{member}", texts_of(members[member])) for member in _CLUSTER_OPTIONS if member in members]
        wrong = [option.removeprefix("--") for option, texts in options if not texts]
        if not isinstance(members.get("url"), str) or not is_url(members["url"]):
            problems.append(f'{where}: url is the address of its admin API, such as "https://HOST:PORT"')
        elif unknown or wrong:
            known = ", ".join(("url", *_CLUSTER_OPTIONS))
            problems += [f"{where} {member!r} is not known; there are {known}" for member in unknown]
            problems += [f"{where} {member}: it is a text" for member in wrong]
        else:
            given = tuple(word for option, texts in options for text in texts for word in (option, text))
            clusters[name] = Named(members["url"], given)
    return problems


_CLUSTER_OPTIONS: Final = (
    *("token-file", "basic-file", "client-conf", "ca-file", "cert-file", "key-file"),
    "namespace",
)
"""Members of a cluster that are options of every command that reads one; ``~`` is the user's home."""


def texts_of(value: object) -> tuple[str, ...]:
    """A text, or several; none where it is something else.

    >>> texts_of("a"), texts_of(["a", "b"]), texts_of(3), texts_of(["a", 3])
    (('a',), ('a', 'b'), (), ())
    """
    given = value if isinstance(value, list) else [value]
    texts = [text for text in given if isinstance(text, str)]
    if len(texts) < len(given):
        return ()
    return tuple(str(Path(text).expanduser()) if text.startswith("~") else text for text in texts)


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
    "theme": ("theme", _one_of(*OURS, *OTHERS), f"one of {', '.join((*OURS, *OTHERS))}"),
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


def unknown_cluster(word: str, clusters: Iterable[str]) -> InputError:
    """What is wrong with a name of a cluster that the settings do not have."""
    known = ", ".join(f"@{name}" for name in clusters) or "none is"
    return InputError(f"{word} is not in your settings ({known}); ringside config example shows a cluster there")


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
