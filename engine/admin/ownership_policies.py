"""Which broker may own which bundle: isolation policies, failure domains and anti-affinity groups in answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct, field

from engine.admin.requests import ANTI_AFFINITY, AdminRequest, request_of_path
from engine.admin.text import child, plain_json
from engine.balance.leadership.policies import POLICY_KINDS, ClusterPolicies
from engine.errors import Problem
from engine.names import refuse_namespace

if TYPE_CHECKING:
    from engine.balance.filters import IsolationPolicy

ISOLATION: Final = "namespaceIsolationPolicies"
DOMAINS: Final = "failureDomains"
GROUP_MEMBERS: Final = "antiAffinity-namespaces"
_LONGEST_NAME: Final = 1000
_URL: Final = re.compile(r"[a-z+]{1,10}://")
_LEFT_OUT: Final = "it is left out; the rest is kept"


class OwnershipPolicies(Struct):
    """Collects answers about ownership one by one; each kind is None until there is an answer about it.

    ``groups``: the anti-affinity group of each namespace that has one. An answer with all isolation policies or failure
    domains of a cluster takes the place of an earlier one, so of several moments the last counts.
    """

    isolation: dict[str, IsolationPolicy] | None = None
    domains: dict[str, str] | None = None
    groups: dict[str, str] | None = None
    problems: list[Problem] = field(default_factory=list)

    @property
    def gathered(self) -> ClusterPolicies | None:
        """The collected policies; None without an answer about ownership."""
        known = (self.isolation, self.groups, self.domains)
        if all(kind is None for kind in known):
            return None
        unknown = tuple(name for name, kind in zip(POLICY_KINDS, known, strict=True) if kind is None)
        policies = tuple((self.isolation or {}).values())
        return ClusterPolicies(policies, self.groups or {}, self.domains or {}, unknown=unknown)

    def take(self, file_name: str, data: bytes) -> bool:
        """Take an answer by the name of its file; False for an answer about something else.

        Besides its place in a mirror of the admin API, ``namespaceIsolationPolicies`` and ``failureDomains`` anywhere
        in the name say what the answer is. The group of a namespace is plain text, and nothing at all without a group.
        """
        request = request_of_path(file_name)
        what = request.what if request is not None else ""
        last = file_name.rpartition("/")[2]
        if request is not None and what in (ANTI_AFFINITY, GROUP_MEMBERS):
            self._take_group(file_name, data, request)
        elif what == ISOLATION or (not what and ISOLATION in last):
            self._take_isolation(file_name, data)
        elif what == DOMAINS or (not what and DOMAINS in last):
            self._take_domains(file_name, data, request.setting if request is not None else "")
        else:
            return False
        return True

    def _take_isolation(self, source: str, data: bytes) -> None:
        from engine.balance.filters import IsolationPolicy

        members = self._object(source, data)
        if members is None:
            return
        policies = self.isolation = {}
        for name, raw in members.items():
            if not isinstance(raw, dict):
                self.problems.append(Problem(source, child("$", name), "is not an isolation policy", _LEFT_OUT))
                continue
            refused = _refused_pattern(raw)
            if refused is not None:
                member, reason = refused
                self.problems.append(Problem(source, f"{child('$', name)}.{member}", reason, "the policy is left out"))
                continue
            policies[name] = IsolationPolicy(
                _texts(raw.get("namespaces")), _texts(raw.get("primary")), _texts(raw.get("secondary")), _min_limit(raw)
            )

    def _take_domains(self, source: str, data: bytes, name: str) -> None:
        members = self._object(source, data)
        if members is None:
            return
        domains = self.domains = self.domains if name and self.domains is not None else {}
        for domain, raw in {name: members}.items() if name else members.items():
            brokers = raw.get("brokers") if isinstance(raw, dict) else None
            if not isinstance(brokers, list):
                self.problems.append(Problem(source, child("$", domain), "is not a failure domain", _LEFT_OUT))
                continue
            for broker in _texts(brokers):
                broker_id = _URL.sub("", broker, count=1).rstrip("/")
                before = domains.setdefault(broker_id, domain)
                if before != domain:
                    reason = f"{broker_id} is in the failure domains {before} and {domain}"
                    self.problems.append(Problem(source, child("$", domain), reason, f"{before} counts"))

    def _take_group(self, source: str, data: bytes, request: AdminRequest) -> None:
        groups = self.groups = {} if self.groups is None else self.groups
        if request.what == ANTI_AFFINITY:
            name = _plain_text(plain_json(data, source)[0])
            if name is None:
                reason = f"is not the name of an anti-affinity group: {data[:40]!r}"
                self.problems.append(Problem(source, "$", reason, "the namespace is taken to have none"))
            elif name:
                groups[request.namespace] = name
            else:
                groups.pop(request.namespace, None)
            return
        members = self._decoded(source, data)
        for at, namespace in enumerate(members if isinstance(members, list) else ()):
            refusal = refuse_namespace(namespace) if isinstance(namespace, str) else None
            if not isinstance(namespace, str) or refusal is not None:
                reason = refusal.message if refusal is not None else "is not the name of a namespace"
                self.problems.append(Problem(source, f"$[{at}]", reason, _LEFT_OUT))
            else:
                groups[namespace] = request.setting

    def _object(self, source: str, data: bytes) -> Mapping[str, Any] | None:
        value = self._decoded(source, data)
        if isinstance(value, dict):
            # A broker without any answers 404 with a reason.
            return {} if set(value) == {"reason"} and isinstance(value["reason"], str) else value
        if value is not None:
            self.problems.append(Problem(source, "$", "is not an object of names", "it is left out"))
        return None

    def _decoded(self, source: str, data: bytes) -> Any:
        plain, problems = plain_json(data, source)
        self.problems += problems
        try:
            return msgspec.json.decode(plain)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
            self.problems.append(Problem(source, "$", f"is not JSON ({str(fault)[:80]})", "it is left out"))
            return None


def _min_limit(raw: Mapping[str, Any]) -> int:
    failover = raw.get("auto_failover_policy")
    parameters = failover.get("parameters") if isinstance(failover, dict) else None
    least = str(parameters.get("min_limit", "0")) if isinstance(parameters, dict) else "0"
    return int(least) if least.isascii() and least.isdigit() and len(least) < 10 else 0


def _refused_pattern(raw: Mapping[str, Any]) -> tuple[str, str] | None:
    """The first regular expression of a policy that is not tried: its place in the policy, and why."""
    from engine.balance.filters import pattern_problem

    for member in ("namespaces", "primary", "secondary"):
        for at, pattern in enumerate(_texts(raw.get(member))):
            reason = pattern_problem(pattern)
            if reason is not None:
                return f"{member}[{at}]", f"{pattern[:80]!r} is not tried: {reason}"
    return None


def _plain_text(data: bytes) -> str | None:
    """A short text, in quotes or without; "" for nothing or ``null``, None for what is not a name."""
    try:
        text = data[: _LONGEST_NAME + 1].decode().strip()
    except UnicodeDecodeError:
        return None
    if text[:1] == '"' == text[-1:] and len(text) > 1:
        text = text[1:-1]
    if text in ("", "null"):
        return ""
    return text if len(text) <= _LONGEST_NAME and text.isprintable() and text[0] not in "{[<" else None


def _texts(value: object) -> tuple[str, ...]:
    return tuple(part for part in value if isinstance(part, str)) if isinstance(value, list) else ()
