"""The outcome of a request: an answer, or why there is none and what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from engine.errors import RingsideError
from engine.text import counted

LONGEST_REASON: Final = 200


class Fault(Enum):
    """Why a request has no answer; the value is the code that JSON and tests use."""

    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not-found"
    NOT_ALLOWED = "not-allowed"
    CONFLICT = "conflict"
    PRECONDITION = "precondition"
    BUSY = "too-many-requests"
    SERVER = "server-error"
    UNAVAILABLE = "unavailable"
    STATUS = "unexpected-status"
    TIMEOUT = "timeout"
    SLOW = "slow"
    UNREACHABLE = "unreachable"
    CERTIFICATE = "certificate"
    CUT = "cut-off"
    PACKED = "packed"
    NOT_JSON = "not-json"
    MALFORMED = "malformed"
    TOO_LARGE = "too-large"
    REDIRECT_LOOP = "redirect-loop"
    REDIRECT_REFUSED = "redirect-refused"
    STOPPED = "stopped"
    UNWRITABLE = "unwritable"


BY_STATUS: Final = {
    401: Fault.UNAUTHORIZED,
    403: Fault.FORBIDDEN,
    404: Fault.NOT_FOUND,
    405: Fault.NOT_ALLOWED,
    409: Fault.CONFLICT,
    412: Fault.PRECONDITION,
    429: Fault.BUSY,
    500: Fault.SERVER,
    502: Fault.UNAVAILABLE,
    503: Fault.UNAVAILABLE,
    504: Fault.UNAVAILABLE,
}
PASSING: Final = frozenset({Fault.BUSY, Fault.SERVER, Fault.UNAVAILABLE, Fault.TIMEOUT, Fault.UNREACHABLE, Fault.CUT})
"""Faults that another try may not have."""
OUT_OF_REACH: Final = frozenset({Fault.UNREACHABLE, Fault.TIMEOUT, Fault.SLOW, Fault.CERTIFICATE, Fault.CUT})
"""Nobody answered at all, which says nothing about this request."""
_ADVICE: Final = {
    Fault.UNAUTHORIZED: "give credentials: --token-file FILE, --basic-file FILE or --client-conf FILE",
    Fault.FORBIDDEN: "ask with the rights of a super-user, or narrow what is read with --namespace TENANT/NAME",
    Fault.NOT_FOUND: "it is not there, or vanished while it was read",
    Fault.NOT_ALLOWED: "this release or its settings do not offer it",
    Fault.CONFLICT: "it is being changed at this moment; read again",
    Fault.PRECONDITION: "its state changed while it was read; read again",
    Fault.BUSY: "the cluster limits requests; give a smaller --rate",
    Fault.SERVER: "the broker's log says why",
    Fault.UNAVAILABLE: "the broker or a proxy is not ready; try again",
    Fault.STATUS: "check whether this is the address of the admin API (web service, not 6650)",
    Fault.TIMEOUT: "check whether the broker hangs, or give a longer --timeout",
    Fault.SLOW: "check what is between here and the broker, or give a longer --timeout",
    Fault.UNREACHABLE: "check host, port and network; brokers name hosts that may be known only inside the cluster",
    Fault.CERTIFICATE: "give the CA with --ca-file, and the host by the name that its certificate has",
    Fault.CUT: "the connection ended within the answer; try again",
    Fault.PACKED: "check what is between here and the broker: it packs answers in its own way",
    Fault.NOT_JSON: "check whether this is the address of the admin API (web service, not 6650)",
    Fault.MALFORMED: "this part is left out; check what answers at this address",
    Fault.TOO_LARGE: "give a larger --max-answer, or narrow what is read with --namespace and --topic",
    Fault.REDIRECT_LOOP: "brokers redirect the request to each other; nobody owns what was requested",
    Fault.REDIRECT_REFUSED: "only the same request is sent again, and only to brokers that this cluster lists; give the"
    " address that it should be sent to",
    Fault.STOPPED: "the reading was stopped before it was requested",
    Fault.UNWRITABLE: "its name is too long for a file, or the file of another answer has that name",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """``path`` is the request's, with its query; ``broker`` is its id where a broker itself was asked, else ""."""

    path: str
    data: bytes = field(repr=False)  # the loop prints what a task brought where it looks at signals
    broker: str = ""


@dataclass(frozen=True, slots=True)
class Gap:
    """A request without an answer. ``origin`` is who was asked, ``reason`` its answer, without secrets."""

    path: str
    fault: Fault
    reason: str = ""
    origin: str = ""
    status: int = 0

    @property
    def advice(self) -> str:
        return _ADVICE[self.fault]

    def __str__(self) -> str:
        reason = f": {self.reason}" if self.reason else ""
        return f"{self.origin}{self.path}{reason} ({self.advice})"


class ClusterOutOfReachError(RingsideError):
    """Nothing could be read. ``gap`` is the request that says best why."""

    def __init__(self, origin: str, gap: Gap) -> None:
        reason = gap.reason or gap.fault.value
        super().__init__(f"{origin}: the cluster is out of reach: {reason} ({gap.advice})")
        self.gap = gap


def summed_up(gaps: Iterable[Gap]) -> list[str]:
    """A sentence for each kind of gap, the most frequent first: how many, why, the first one, what to do."""
    listed = list(gaps)
    counts = Counter((gap.fault, gap.status) for gap in listed)
    sentences = []
    for (fault, status), count in counts.most_common():
        first = next(gap for gap in listed if (gap.fault, gap.status) == (fault, status))
        what = (
            counted(count, "answer") + " that cannot be used whole"
            if fault is Fault.MALFORMED
            else (counted(count, "request") + " without an answer")
        )
        code = f" ({status})" if status else ""
        named = f"{'' if count == 1 else 'first '}{first.origin}{first.path}"
        reason = f": {first.reason}" if first.reason else ""
        sentences.append(f"{what}, {fault.value}{code}: {named}{reason}; {first.advice}")
    return sentences
