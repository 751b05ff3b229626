"""Lines for a shell, printed or copied for people who paste them: every word is quoted, wherever it came from."""

from __future__ import annotations

import shlex


def shell_line(*words: str) -> str:
    """A command line that a POSIX shell splits into exactly these words.

    A word behind the command's name that begins with a dash is for options; a path of that form has ``./`` put before
    it by :func:`path_word`.

    >>> shell_line("pulsar-admin", "namespaces", "bundles", "t/n;$(reboot)")
    "pulsar-admin namespaces bundles 't/n;$(reboot)'"
    """
    return shlex.join(words)


def path_word(path: str) -> str:
    """A path as a word that no command takes for an option.

    >>> path_word("-x.json"), path_word("answers/")
    ('./-x.json', 'answers/')
    """
    return f"./{path}" if path.startswith("-") else path
