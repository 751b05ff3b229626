"""Which topic or namespace an answer is about, where the answer itself does not say it.

A recording's ``scenario.json`` says it best; then the file name; then the neighbours in the folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

import msgspec

from engine.admin.files import moment_ms
from engine.admin.requests import AdminRequest, parse_request
from engine.config import DEFAULTS, BrokerSettings
from engine.errors import Problem, Rejection
from engine.names import TopicName, parse_topic_name

SCENARIO_NAME: Final = "scenario.json"
_OK: Final = 200


@dataclass(frozen=True, slots=True)
class ScenarioFacts:
    """From a scenario.json: the release, the settings it names on top of the defaults, file name -> request.

    ``problems`` are the requests whose names no broker has: what they answered is of nobody. ``times`` are when
    answers were recorded, in epoch milliseconds, by file name.
    """

    version: str | None = None
    settings: BrokerSettings | None = None
    requests: Mapping[str, AdminRequest] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    times: Mapping[str, int] = field(default_factory=dict)


def scenario_facts(data: bytes, source: str = "scenario.json") -> ScenarioFacts:
    """Read what helps from a scenario.json; nothing in it has to be there, and wrong kinds are passed over."""
    try:
        scenario = msgspec.json.decode(data) if data else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        scenario = None
    if not isinstance(scenario, dict):
        return ScenarioFacts()
    version = scenario.get("pulsar_version")
    requests: dict[str, AdminRequest] = {}
    problems: list[Problem] = []
    times: dict[str, int] = {}
    for place, step in enumerate(_dicts(scenario.get("steps"))):
        for number, answer in enumerate(_dicts(step.get("answers"))):
            at_ms = moment_ms(str(step.get("at", "")))
            if "file" in answer and at_ms is not None:
                times[str(answer["file"])] = at_ms
            if "file" in answer and "request" in answer:
                request = requests[str(answer["file"])] = parse_request(str(answer["request"]))
                if request.fault and answer.get("status", _OK) == _OK:
                    where = f"$.steps[{place}].answers[{number}].request"
                    problems.append(Problem(source, where, request.fault, "what it answered is set aside"))
    settings = settings_of(scenario.get("broker_settings"))
    return ScenarioFacts(str(version) if version else None, settings, requests, tuple(problems), times)


def refused_settings(named: object) -> tuple[Rejection, ...]:
    """Why known settings of ``named`` are left at their defaults by :func:`settings_of`; () when that is no object."""
    known = {name: value for name, value in named.items() if name in DEFAULTS} if isinstance(named, dict) else {}
    changed = (BrokerSettings().with_setting(name, _written(value)) for name, value in known.items())
    return tuple(each for each in changed if isinstance(each, Rejection))


def settings_of(named: object, defaults: BrokerSettings | None = None) -> BrokerSettings | None:
    """The defaults (those of the current release) with the known ones of ``named`` set; None when that is no object."""
    if not isinstance(named, dict):
        return None
    settings = defaults or BrokerSettings()
    for name, value in named.items():
        if name in DEFAULTS:
            changed = settings.with_setting(name, _written(value))
            settings = settings if isinstance(changed, Rejection) else changed
    return settings


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _dicts(items: object) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


@dataclass(frozen=True, slots=True)
class Naming:
    """Finds names for answers that have none."""

    requests: Mapping[str, AdminRequest]
    known: tuple[TopicName, ...]

    def topic(self, file_name: str) -> str | None:
        """The full name of the topic whose statistics are in a file."""
        request = self._request(file_name)
        if request is not None and (request.topic or request.fault):
            return request.topic or None
        stem = unquote(_stem(file_name))
        if "://" in stem:
            stem = stem[max(stem.find("non-persistent://"), 0) :] if "non-persistent://" in stem else stem
            stem = stem[stem.find("persistent://") :] if not stem.startswith("non-") else stem
            name = parse_topic_name(stem.removesuffix("-stats"))
            return None if isinstance(name, Rejection) else name.complete
        words = [word for word in (stem, *_tails(stem)) if word]
        for word in words:
            found = {name.complete for name in self.known if name.local_name == word}
            found |= {name.complete for name in self.known if name.local_name.endswith("-" + word) and "-" in word}
            if found:
                return found.pop() if len(found) == 1 else None
        return None

    def namespace(self, file_name: str) -> str | None:
        """The namespace whose bundles are in a file."""
        request = self._request(file_name)
        if request is not None and (request.namespace or request.fault):
            return request.namespace or None
        stem = unquote(_stem(file_name))
        namespaces = {name.namespace for name in self.known}
        named = {
            space
            for space in namespaces
            if space in stem or re.search(rf"(^|[-_.]){re.escape(_last(space))}[-_.]", stem)
        }
        # ``a/x`` beside ``b/x``: what tells them apart is the tenant, in whatever way the slash is written.
        whole = {space for space in namespaces if re.search(rf"(^|[-_.]){_spelled(space)}([-_.]|$)", stem)}
        for candidates in (whole, named, namespaces):
            if len(candidates) == 1:
                return next(iter(candidates))
        return None

    def _request(self, file_name: str) -> AdminRequest | None:
        """What was asked for; a scenario names its answers as they were before somebody compressed them."""
        return self.requests.get(file_name) or self.requests.get(file_name.removesuffix(".gz"))


def _last(namespace: str) -> str:
    return namespace.rpartition("/")[2]


def _spelled(namespace: str) -> str:
    """A pattern of a namespace's name in a file's name, where a slash cannot stand."""
    return "[-_./]".join(re.escape(part) for part in namespace.split("/"))


def _stem(file_name: str) -> str:
    name = file_name.rpartition("/")[2]
    return re.sub(r"^\d+-", "", name.removesuffix(".gz").removesuffix(".json"))


def _tails(stem: str) -> Iterable[str]:
    for lead in ("stats-", "topic-stats-", "stats_", "topic-"):
        if stem.startswith(lead):
            yield stem[len(lead) :]


def naming_of(requests: Mapping[str, AdminRequest], known: Iterable[str]) -> Naming:
    """A ``Naming`` over the topics that other answers of a folder name."""
    names = [parse_topic_name(name) for name in sorted(known)]
    return Naming(requests, tuple(name for name in names if isinstance(name, TopicName)))


def nameless_topic(file_name: str) -> str:
    """Make up a name for a topic that nothing names; the partition that the file name may have is kept.

    >>> nameless_topic("dump/05-stats.json.gz"), nameless_topic("x-partition-3.json")
    ('persistent://unknown/unknown/stats', 'persistent://unknown/unknown/x-partition-3')
    """
    stem = _stem(file_name)
    return "persistent://unknown/unknown/" + re.sub(r"[^-=:.A-Za-z0-9_]", "_", stem)
