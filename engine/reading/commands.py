"""What a line of a terminal asked for: the command or the address before an answer names its topic.

A command of pulsar-admin or pulsarctl becomes the path that it asks on the admin interface, so that an answer below it
is named the same way as one in a mirror of that interface.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from engine.errors import Rejection
from engine.names import NAMELESS, TopicName, parse_topic_name, refuse_namespace

LONGEST_COMMAND: Final = 4_000
"""Characters of a line that may be a command; a longer one is output."""
_ADDRESS: Final = re.compile(
    r"(?:^|[\s'\"(=<>]|https?://[^\s/'\"]{1,300})(/(?:admin/v2|lookup/v2/topic)/[^\s'\"`<>\\)]{1,2000})"
)
_METRICS: Final = re.compile(r"https?://[^\s/'\"]{1,300}/metrics/?(?=[\s'\"?]|$)")
_TOOL: Final = re.compile(r"(?:^|[\s/'\"(`$])(pulsar-admin(?:\.sh|\.cmd)?|pulsarctl|pulsar-shell|admin>)(?=[\s'\"]|$)")
_GROUPS: Final = {
    "topics": "topics", "topic": "topics", "persistent": "topics", "non-persistent": "topics",
    "namespaces": "namespaces", "namespace": "namespaces", "ns": "namespaces",
    "brokers": "brokers", "broker": "brokers", "broker-stats": "broker-stats",
    "topicPolicies": "topicPolicies", "ns-isolation-policy": "ns-isolation-policy",
}  # fmt: skip
_TOPIC_VERBS: Final = {
    "stats": "stats",
    "get-stats": "stats",
    "partitioned-stats": "partitioned-stats",
    "stats-internal": "internalStats",
    "internal-stats": "internalStats",
    "get-internal-stats": "internalStats",
    "partitioned-stats-internal": "partitioned-internalStats",
    "internal-info": "internal-info",
    "info-internal": "internal-info",
    "subscriptions": "subscriptions",
    "get-partitioned-topic-metadata": "partitions",
    "get-max-unacked-messages-on-consumer": "maxUnackedMessagesOnConsumer",
    "get-max-unacked-messages-per-consumer": "maxUnackedMessagesOnConsumer",
    "get-max-unacked-messages-on-subscription": "maxUnackedMessagesOnSubscription",
    "get-max-unacked-messages-per-subscription": "maxUnackedMessagesOnSubscription",
    "get-dispatch-rate": "dispatchRate",
    "get-subscription-dispatch-rate": "subscriptionDispatchRate",
    "get-delayed-delivery": "delayedDelivery",
    "get-backlog-quotas": "backlogQuotaMap",
    "get-backlog-quota": "backlogQuotaMap",
    "get-retention": "retention",
    "get-message-ttl": "messageTTL",
}
_NAMESPACE_VERBS: Final = {
    "bundles": "bundles",
    "get-bundles": "bundles",
    "policies": "",
    "get-anti-affinity-group": "antiAffinity",
    "get-max-unacked-messages-per-consumer": "maxUnackedMessagesPerConsumer",
    "get-max-unacked-messages-per-subscription": "maxUnackedMessagesPerSubscription",
    "get-max-producers-per-topic": "maxProducersPerTopic",
    "get-backlog-quotas": "backlogQuotaMap",
    "get-backlog-quota": "backlogQuotaMap",
    "get-retention": "retention",
    "get-message-ttl": "messageTTL",
    "get-dispatch-rate": "dispatchRate",
    "get-subscription-dispatch-rate": "subscriptionDispatchRate",
    "get-subscription-expiration-time": "subscriptionExpirationTime",
}
_BROKER_STATS: Final = {
    "topics": "topics", "destinations": "topics", "load-report": "load-report", "monitoring-metrics": "metrics",
    "metrics": "metrics",
}  # fmt: skip
_CONFIGURATION: Final = {
    "get-runtime-config": "runtime",
    "runtime-config": "runtime",
    "get-all-dynamic-config": "values",
    "list-dynamic-config": "",
}
_OF_PROPERTY: Final = re.compile(r"((?:non-)?persistent)://([^/\s]+)/([^/\s]+)/([^/\s]+)/([^/\s]+)")
"""A topic's name up to release 1: property, cluster, namespace and topic. It has no place in a younger cluster."""
_NOT_PLAIN: Final = re.compile(r"[^-=:.A-Za-z0-9_]")
_ENDS: Final = frozenset({"|", ";", "&&", "||", ">", ">>", "2>", "2>&1", "&", "done", "tee"})
_VARIABLE: Final = re.compile(r"\$\{?[A-Za-z_]\w*\}?|\$\d")
_WITH_VALUE: Final = frozenset({"-s", "--subscription", "--admin-url", "-u", "--url", "--auth-plugin", "--auth-params"})
_LOOP: Final = re.compile(r"\bfor\s+\w+\s+in\s+([^;\n]{1,2000})\s*;?\s*(?:do\b|$)")
_SPAN: Final = re.compile(r"\{(\d{1,6})\.\.(\d{1,6})\}|(?:\$\(|`)\s*seq\s+(?:-w\s+)?(\d{1,6})(?:\s+(\d{1,6}))?\s*[)`]")
_MOST_TURNS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Command:
    """A line that asks for an answer. ``path`` is what it asks, "" where that is not known.

    ``varies``: the path has a shell variable, written ``{}``, and ``loop`` is what it goes through, if the line has a
    loop.
    """

    path: str
    varies: bool = False
    loop: str = ""

    @property
    def turns(self) -> tuple[str, ...]:
        """The values of the loop's variable, as far as the line itself lists them."""
        turns: list[str] = []
        at = 0
        for span in _SPAN.finditer(self.loop):
            turns += self.loop[at : span.start()].split()
            numbers = [int(group) for group in span.groups() if group is not None]
            first, last = numbers if len(numbers) == 2 else (1, numbers[0])
            turns += map(str, range(first, min(last, first + _MOST_TURNS) + 1))
            at = span.end()
        turns += self.loop[at:].split()
        return tuple(turns[:_MOST_TURNS])


def command_in(line: str) -> Command | None:
    """Return what a line of a terminal asks for; None for a line that is no command.

    >>> command_in("broker:/pulsar$ pulsar-admin topics stats persistent://t/n/x -gpb | jq .").path
    '/admin/v2/persistent/t/n/x/stats'
    >>> command_in("$ curl -s 'http://b:8080/admin/v2/persistent/t/n/x/partitioned-stats?perPartition=true'").path
    '/admin/v2/persistent/t/n/x/partitioned-stats?perPartition=true'
    >>> [command_in(line) for line in ('  "msgRateIn": 0.0,', "The topics stats as follows", "topics stats look fine")]
    [None, None, None]
    """
    if len(line) > LONGEST_COMMAND:
        return None
    # A byte that was no text has no place in an address.
    line = line.replace("\xa0", " ").encode(errors="replace").decode()
    found = _LOOP.search(line)
    loop = found[1] if found is not None else ""
    address = _ADDRESS.search(line)
    if address is not None:
        path = address[1].rstrip(".,;:")
        varies = _VARIABLE.search(path) is not None
        return Command(_VARIABLE.sub("{}", path, count=1) if varies else path, varies, loop)
    if _METRICS.search(line):
        return Command("/metrics")
    tool = _TOOL.search(line)
    words = _split(_argued(line, tool) if tool is not None else line)
    for at, word in enumerate(words[:-1]):
        group, verb = _GROUPS.get(word), words[at + 1]
        if group is None or not (tool is not None or _is_typed(words, at, group)):
            continue
        command = _asked(group, verb, words[at + 2 :], word)
        if command is not None:
            return Command(command.path, command.varies, loop)
    return Command("") if tool is not None else None


def _argued(line: str, tool: re.Match[str]) -> str:
    """What is behind the tool's name, up to the quote that closes one before it."""
    rest, quote = line[tool.end() :], tool[0][:1]
    return rest.partition(quote)[0] if quote in ("'", '"', "`") else rest


def _is_typed(words: list[str], at: int, group: str) -> bool:
    """Whether the words from a place on are a command even without the tool's name, as behind the prompt of its own
    shell. "The topic stats as follows" has the words of one in a sentence.
    """
    verb = words[at + 1]
    verbs = {"topics": _TOPIC_VERBS, "namespaces": _NAMESPACE_VERBS, "broker-stats": _BROKER_STATS}.get(group, {})
    if verb not in verbs and (group, verb) not in (("topics", "partitioned-lookup"), ("brokers", "get-runtime-config")):
        return False
    return not any(word.isalpha() for word in words[:at]) and len(_arguments(words[at + 2 :])) <= 1


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # a quote that is closed on another line, or closes one before the tool
        return text.replace("'", " ").replace('"', " ").split()


def _asked(group: str, verb: str, rest: list[str], typed: str) -> Command | None:
    """The path of a command: of a topic, of a namespace, or of brokers; None where the verb is an option."""
    args = _arguments(rest)
    if group in ("topics", "topicPolicies"):
        return _of_topics(verb, args, rest, typed)
    if group == "namespaces":
        namespace = _namespace(args)
        if verb in _NAMESPACE_VERBS and namespace:
            return Command(f"/admin/v2/namespaces/{namespace}/{_NAMESPACE_VERBS[verb]}".rstrip("/"))
        return Command(f"/admin/v2/persistent/{namespace}" if namespace and verb == "topics" else "")
    if group == "broker-stats":
        return Command(f"/admin/v2/broker-stats/{_BROKER_STATS[verb]}" if verb in _BROKER_STATS else "")
    cluster = quote(args[0], safe="") if args else "standalone"
    match group, verb:
        case "brokers", "list":
            return Command(f"/admin/v2/brokers/{cluster}")
        case "brokers", "version":
            return Command("/admin/v2/brokers/version")
        case "brokers", "namespaces":
            broker = quote(_option(rest, "--url", "-u", "--broker"), safe=":")
            return Command(f"/admin/v2/brokers/{cluster}/{broker}/ownedNamespaces" if broker else "")
        case "brokers", _ if verb in _CONFIGURATION:
            return Command(f"/admin/v2/brokers/configuration/{_CONFIGURATION[verb]}")
        case "ns-isolation-policy", "list":
            return Command(f"/admin/v2/clusters/{cluster}/namespaceIsolationPolicies")
    return None if verb.startswith("-") else Command("")


def _of_topics(verb: str, args: list[str], rest: list[str], typed: str) -> Command | None:
    if verb in _TOPIC_VERBS:
        query = "?perPartition=true" if verb == "partitioned-stats" and "--per-partition" in rest else ""
        return _of_topic(args, f"{_TOPIC_VERBS[verb]}{query}")
    if verb in ("lookup", "bundle-range"):
        asked = _of_topic(args, "bundle" if verb == "bundle-range" else "")
        return Command(asked.path.replace("/admin/v2/", "/lookup/v2/topic/", 1).rstrip("/"), varies=asked.varies)
    if verb in ("list", "list-partitioned-topics"):
        namespace = _namespace(args)
        domain = typed if typed == "non-persistent" else "persistent"
        last = "/partitioned" if verb != "list" else ""
        return Command(f"/admin/v2/{domain}/{namespace}{last}" if namespace else "")
    return None if verb.startswith("-") else Command("")


def _arguments(words: list[str]) -> list[str]:
    """The words that are neither an option nor its value, as far as the command goes."""
    found: list[str] = []
    before = ""
    for word in words:
        if word in _ENDS or word.startswith((">", "2>", "|", ";")):
            break
        is_value = before in _WITH_VALUE or (before.startswith("-") and word in ("true", "false"))
        before = "" if is_value else word
        if is_value or word.startswith("-"):
            continue
        ends = word.endswith(";")
        found.append(word.rstrip(";)'\"`"))
        if ends:
            break
    return found


def _option(words: list[str], *names: str) -> str:
    for at, word in enumerate(words):
        name, _, value = word.partition("=")
        if name in names:
            return value or (words[at + 1] if at + 1 < len(words) else "")
    return ""


def _of_topic(args: list[str], what: str) -> Command:
    named = next((word for word in args if "://" in word), args[0] if args else "")
    varies = _VARIABLE.search(named) is not None
    text = _VARIABLE.sub("0", named) if varies else named
    old = _OF_PROPERTY.fullmatch(text)
    if old is not None:
        text = f"{old[1]}://{NAMELESS}/{_NOT_PLAIN.sub('_', '-'.join(old.groups()[1:]))}"
    name = parse_topic_name(text) if text else None
    if not isinstance(name, TopicName) or (varies and _VARIABLE.sub("", named).strip("\"'") == ""):
        return Command("", varies=varies)
    if varies:
        name = parse_topic_name(_VARIABLE.sub("\x01", named, count=1))
        if not isinstance(name, TopicName):
            return Command("", varies=True)
    local = quote(name.local_name, safe="").replace("%01", "{}")
    return Command(f"/admin/v2/{name.domain}/{name.namespace}/{local}/{what}", varies=varies)


def _namespace(args: list[str]) -> str:
    named = next((word for word in args if "/" in word), "")
    return named if named and refuse_namespace(named) is None else ""


_TOPIC_NAME: Final = re.compile(
    r"(?:non-)?persistent://[-=:.A-Za-z0-9_]{1,200}/[-=:.A-Za-z0-9_]{1,200}/[^\s'\"`,;()<>{}\[\]]{1,500}"
)


def topic_in(line: str) -> str:
    """Return a full topic name in a line of words, "" where there is none.

    >>> topic_in("=== persistent://t/n/x-partition-3 ==="), topic_in("partition 3")
    ('persistent://t/n/x-partition-3', '')
    """
    match = _TOPIC_NAME.search(line)
    if match is None:
        return ""
    text = match[0].rstrip(".:")
    return "" if isinstance(parse_topic_name(text), Rejection) else text


_PARTITION: Final = re.compile(
    r"^\W*(?:(?:partition|p|part|no\.?|index)\W{0,3})?(\d{1,6})\W*$|-partition-(\d{1,6})\b", re.IGNORECASE
)


def partition_in(line: str) -> int | None:
    """Return the number that a line between two answers names a partition with.

    >>> partition_in("3"), partition_in("--- partition 12 ---"), partition_in("took 3 s")
    (3, 12, None)
    """
    match = _PARTITION.search(line[:200])
    return int(match[1] or match[2]) if match is not None else None
