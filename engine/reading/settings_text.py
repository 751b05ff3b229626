"""Settings of a broker as people keep them: broker.conf, the environment of a container, the values of the Helm chart.

Each becomes the object of texts that a broker answers with when it is asked for its run-time configuration.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import zip_longest
from typing import Any, Final

PREFIX: Final = "PULSAR_PREFIX_"
"""The container's scripts put a variable of this prefix into broker.conf."""
_LINE: Final = re.compile(r"[ \t]*(?:export[ \t]+|-e[ \t]+|-[ \t]+)?([A-Za-z_][\w.-]{0,200})[ \t]*=[ \t]*([^\n]*)")
_NAME: Final = re.compile(r"[a-z][A-Za-z0-9_]{2,200}")
_COMMAND: Final = re.compile(r"[^\n=]{0,200}[$#%>❯➜] |(?:kubectl|docker|podman|oc) ")
_FENCE: Final = re.compile(r"\s*(?:```|~~~)")
_LONGEST_VALUE: Final = 10_000


def settings_of_lines(text: str) -> dict[str, str]:
    """Return the settings in lines of NAME=VALUE; {} where another line is nearly as frequent.

    Comments and blank lines are left out; of a name that occurs twice the later line counts, as for Java. Names of an
    environment count with their prefix only, or as they are. Of a text with code fences only what is in them counts.

    >>> settings_of_lines("# a comment\\nloadBalancerEnabled=true\\n\\nPULSAR_PREFIX_maxTopics=4\\nPULSAR_MEM=-Xmx1g")
    {'loadBalancerEnabled': 'true', 'maxTopics': '4'}
    """
    settings: dict[str, str] = {}
    others = 0
    for line in _fenced(text.splitlines()):
        if not settings and _COMMAND.match(line):
            continue
        stripped = line.strip()
        if not stripped or stripped[0] in "#!":
            continue
        match = _LINE.fullmatch(line)
        if match is None or len(match[2]) > _LONGEST_VALUE:
            others += 1
            continue
        name = match[1].removeprefix(PREFIX)
        if _NAME.fullmatch(name):
            settings[name] = _unquoted(match[2].strip())
    return settings if settings and others <= len(settings) // 4 else {}


def _fenced(lines: list[str]) -> list[str]:
    """The lines between code fences, all of them where there is no fence."""
    fences = [at for at, line in enumerate(lines) if _FENCE.match(line) is not None]
    if not fences:
        return lines
    pairs = zip_longest(fences[::2], fences[1::2], fillvalue=len(lines))
    return [line for first, last in pairs for line in lines[first + 1 : last]]


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def settings_of_values(document: object) -> dict[str, str]:
    """Return the settings in values of the chart or a manifest: ``broker.configData``, a ConfigMap's ``data``, ``env``.

    >>> settings_of_values({"broker": {"configData": {"PULSAR_PREFIX_maxTopics": "4", "PULSAR_MEM": "-Xmx1g"}}})
    {'maxTopics': '4'}
    """
    settings: dict[str, str] = {}
    pending: list[tuple[str, object]] = [("", document)]
    while pending:
        name, value = pending.pop()
        if isinstance(value, Mapping):
            if name in ("configData", "data", "environment"):
                files = [text for file, text in value.items() if str(file).endswith(".conf") and isinstance(text, str)]
                settings |= _named(value, prefixed=bool(files))  # beside a file there are other files
                for text in files:
                    settings |= settings_of_lines(text)
            else:
                # Of components of the chart only the broker's settings are those of brokers.
                below = (
                    {"broker": value["broker"]} if name == "" and isinstance(value.get("broker"), Mapping) else value
                )
                pending += [(str(inner), item) for inner, item in below.items()]
        elif isinstance(value, list):
            if name == "env":
                pairs = [item for item in value if isinstance(item, Mapping) and "name" in item and "value" in item]
                settings |= _named({str(item["name"]): item["value"] for item in pairs}, prefixed=True)
            elif name == "environment":
                settings |= settings_of_lines("\n".join(str(item) for item in value))
            else:
                pending += [(name, item) for item in value]
    return settings


def _named(members: Mapping[Any, object], *, prefixed: bool = False) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in members.items():
        name = str(key)
        if prefixed and not name.startswith(PREFIX):
            continue
        name = name.removeprefix(PREFIX)
        if _NAME.fullmatch(name) and isinstance(value, str | int | float | bool):
            found[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return found


def as_answer(settings: Mapping[str, str]) -> bytes:
    """The settings as a broker prints its run-time configuration."""
    return json.dumps(settings, ensure_ascii=False).encode("utf-8", "replace")
