"""What admin tools print without JSON: names one a line, pairs, and tables with borders."""

from __future__ import annotations

import json
import re
from typing import Final

from engine.reading.commands import topic_in

_BORDER: Final = re.compile(r"[-+=|\s│┌┐└┘├┤┬┴┼─]*")
_URL: Final = re.compile(r"(?:pulsar|pulsar\+ssl|https?)://[^\s/'\",|]{1,300}")
_BROKER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,250}:\d{2,5}")
_LEAST_SHARE: Final = 0.6
"""The least part of the lines that have to be of one kind."""


def listed_topics(text: str) -> dict[str, str]:
    """Return the topics that lines or rows begin with, each with the broker's address in the same line, "" for none.

    {} unless most lines are of that kind, so that words which mention a topic are no list.

    >>> listed_topics("persistent://t/n/a    pulsar://b-1:6650\\n| persistent://t/n/b | pulsar://b-2:6650 |")
    {'persistent://t/n/a': 'pulsar://b-1:6650', 'persistent://t/n/b': 'pulsar://b-2:6650'}
    """
    found: dict[str, str] = {}
    lines = [line for line in text.splitlines() if not _BORDER.fullmatch(line)]
    for line in lines:
        cells = line.strip(" \t|│\"',")
        topic = topic_in(cells) if cells.startswith(("persistent://", "non-persistent://")) else ""
        rest = cells.removeprefix(topic).strip(" \t|│\"',:=") if topic else ""
        url = _URL.fullmatch(rest)
        is_row = cells.removeprefix(topic).lstrip(" \t\"'").startswith(("|", "│"))
        if topic and (not rest or url is not None or rest.isdigit() or is_row or rest in ("Y", "N")):
            found[topic] = url[0] if url is not None else ""
    return found if found and len(found) >= len(lines) * _LEAST_SHARE else {}


def listed_brokers(text: str) -> list[str]:
    """Return the brokers that lines consist of; [] for other lines.

    >>> listed_brokers('"broker-0:8080"\\nbroker-1:8080')
    ['broker-0:8080', 'broker-1:8080']
    """
    lines = [line.strip(" \t|│\"',") for line in text.splitlines() if not _BORDER.fullmatch(line)]
    brokers = [line for line in lines if _BROKER.fullmatch(line)]
    return brokers if brokers and len(brokers) >= len(lines) * _LEAST_SHARE else []


def listed_words(text: str) -> list[str]:
    """Return the names that lines consist of, one each; [] where a line has more.

    >>> listed_words('"billing"\\naudit\\n'), listed_words("Topic not found")
    (['billing', 'audit'], [])
    """
    lines = [line.strip(" \t|│\"',") for line in text.splitlines() if not _BORDER.fullmatch(line)]
    return [] if any(len(line.split()) > 1 for line in lines) else lines


def address(text: str) -> str:
    """Return the only address of a broker in some lines, "" for none or several.

    >>> address("pulsar://broker-1:6650\\n")
    'pulsar://broker-1:6650'
    """
    found = {line.strip(" \t\"'") for line in text.splitlines() if _URL.fullmatch(line.strip(" \t\"'"))}
    return found.pop() if len(found) == 1 else ""


def as_json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
