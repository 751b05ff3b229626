"""GET requests to a cluster's admin API, bounded in every way. There is no other method here, and no look-up."""

from __future__ import annotations

import asyncio
import random
import ssl
import threading
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Final

import httpx2
import msgspec

from engine.errors import InputError
from engine.input import size_text
from engine.text import visible
from tui.sources.cluster.access import Access
from tui.sources.cluster.addresses import (
    READ_ONLY,
    at_port_of,
    authority_of,
    origin_in,
    redirected,
    shown_address,
    stays_inside,
)
from tui.sources.cluster.body import ACCEPTED, Body, PackedError, TooLargeError
from tui.sources.cluster.outcomes import BY_STATUS, LONGEST_REASON, PASSING, Answer, Fault, Gap
from tui.sources.cluster.pace import Clock, Limits, Pace, retry_after_s, wait_s

_GIVEN_UP_AFTER: Final = 3
"""After so many unanswered requests in a row a host is not asked again. While so many are away, each is asked once: it
is the network that is away, and not for a moment."""
_ALL_AWAY_AFTER: Final = 20
"""After so many brokers that are away, and none that answers, the others are not asked: brokers name hosts that may be
known only inside the cluster."""
_AWAY: Final = frozenset({Fault.UNREACHABLE, Fault.TIMEOUT, Fault.SLOW, Fault.CERTIFICATE})
_AT_ONCE: Final = frozenset({Fault.UNREACHABLE, Fault.CERTIFICATE})


class Hosts:
    """What is known of the hosts in one reading. ``home`` is the cluster's own address."""

    def __init__(self, home: str) -> None:
        self._home = home
        self.begin()

    def begin(self) -> None:
        """Forget what was, for another reading."""
        self._silent: dict[str, int] = {}
        self._away: dict[str, Gap] = {}
        self._down: dict[str, Gap] = {}
        self._is_any_there = False

    @property
    def may_be_tried_again(self) -> bool:
        return len(self._away) < _GIVEN_UP_AFTER

    def answered(self, origin: str) -> None:
        """Note that a host is there."""
        self._silent.pop(origin, None)
        self._away.pop(origin, None)
        self._is_any_there |= origin != self._home

    def missed(self, gap: Gap) -> None:
        """Note one try without an answer."""
        if gap.fault in _AWAY and gap.origin != self._home:
            self._away[gap.origin] = gap

    def gave_nothing(self, gap: Gap) -> None:
        """Note a request whose tries are over."""
        self._silent[gap.origin] = self._silent.get(gap.origin, 0) + (gap.fault in _AWAY)
        if gap.fault in _AT_ONCE or self._silent[gap.origin] >= _GIVEN_UP_AFTER:
            self._down.setdefault(gap.origin, gap)

    def why_not_asked(self, path: str, origin: str) -> Gap | None:
        """A gap in place of a request to a host that is given up; None where it is asked."""
        if origin in self._down:
            return replace(self._down[origin], path=path)
        if origin == self._home or self._is_any_there or len(self._away) < _ALL_AWAY_AFTER:
            return None
        reason = f"not asked, since {len(self._away)} other brokers are away and none has answered"
        return Gap(path, Fault.UNREACHABLE, reason, origin)


_OK: Final = (200, 204)
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_ERROR_BYTES: Final = 1 << 16
_KEPT_ALIVE_S: Final = 60.0
"""How long a connection waits for the next reading."""
_SLOWEST_BYTES_PER_S: Final = 10_000
"""An answer that comes more slowly than that has no more time than one that does not come."""
AGENT: Final = "ringside"
_HEADERS: Final = {
    "User-Agent": AGENT,
    "Accept": "application/json, text/plain",
    "Accept-Encoding": ", ".join(ACCEPTED),
    "Connection": "keep-alive",
}


@dataclass(frozen=True, slots=True)
class _Response:
    status: int
    data: bytes
    location: str
    retry_after: str | None
    origin: str


@dataclass(slots=True)
class _Patience:
    """How long one response is waited for: ``since_s`` at first, longer while enough of it comes, never ``until_s``."""

    deadline: asyncio.Timeout
    since_s: float
    until_s: float
    received: int = 0

    def extend(self, received: int) -> None:
        """Give more time for what came."""
        self.received += received
        self.deadline.reschedule(min(self.until_s, self.since_s + self.received / _SLOWEST_BYTES_PER_S))


class AdminClient:
    """Asks one cluster. Use it in ``async with``; :meth:`get` may be called many times at once and never raises.

    ``stop`` may be set by another thread: then nothing more is asked, and what is under way ends by itself.
    ``transport``, ``clock`` and ``chance`` are for tests.
    """

    def __init__(
        self,
        access: Access,
        limits: Limits | None = None,
        *,
        stop: threading.Event | None = None,
        clock: Clock | None = None,
        chance: random.Random | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self.access = access
        self.limits = limits or Limits()
        self.clock = clock or Clock()
        self.bytes_read = 0
        self.requests = 0
        self._stop = stop or threading.Event()
        self._chance = chance or random.Random()
        self._pace = Pace(self.limits, self.clock)
        self._slots = asyncio.Semaphore(self.limits.at_once)
        self._trusted = {authority_of(access.origin)}
        self._known = Hosts(access.origin)
        self._under_way: set[asyncio.Timeout] = set()
        # The transport alone: what a client of httpx2 adds (redirects, cookies, proxies of the environment) is not
        # wanted here and takes a third of the time of a request.
        self._http = transport or httpx2.AsyncHTTPTransport(
            verify=access.tls.context() if access.is_encrypted else False,
            trust_env=False,
            limits=httpx2.Limits(
                max_connections=self.limits.at_once,
                max_keepalive_connections=self.limits.at_once,
                keepalive_expiry=_KEPT_ALIVE_S,
            ),
        )
        self._waits: Final = {"timeout": httpx2.Timeout(self.limits.timeout_s, pool=None).as_dict()}

    async def __aenter__(self) -> AdminClient:
        await self._http.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    def begin(self, stop: threading.Event | None = None) -> None:
        """Begin another reading over the same connections: hosts that were given up are asked again."""
        self._stop = stop or self._stop
        self._known.begin()
        self.bytes_read = 0

    def give_up(self) -> None:
        """Wait no longer for what is under way; its requests are gaps. ``stop`` has to be set before."""
        now_s = asyncio.get_running_loop().time()
        for deadline in self._under_way:
            deadline.reschedule(now_s)

    def trust(self, brokers: Iterable[str]) -> None:
        """Follow redirects to these brokers (``HOST:PORT``) from now on, with the secret.

        Also to their hosts at the port of the cluster's own address: brokers are listed with one port of the two that
        they may have, the plain and the encrypted one.
        """
        for broker in brokers:
            origin = self.origin_of_broker(broker)
            self._trusted |= {authority_of(origin), at_port_of(origin, self.access.origin)} if origin else set()

    def origin_of_broker(self, broker: str) -> str:
        """Where a broker's own web service is, by its id; "" for an id that is not an address."""
        return origin_in(broker, "https" if self.access.is_encrypted else "http") or ""

    async def get(self, path: str, *, broker: str = "", json: bool = True, loads: bool = False) -> Answer | Gap:
        """Ask for a path with its query, of a broker itself or at the cluster's address.

        ``json``: an answer that is not JSON is a gap. ``loads``: a broker may take what nobody owns, to answer.
        Faults that may pass are tried again, with growing pauses.
        """
        origin = self.origin_of_broker(broker) if broker else self.access.origin
        if not path.startswith(READ_ONLY) or not origin:
            raise ValueError(f"{path} is not a request of the admin API at {broker or origin}")
        if not stays_inside(path):
            return Gap(path, Fault.MALFORMED, "a name in it is a step upwards", origin)
        outcome = await self._tried(path, origin, loads)
        if isinstance(outcome, Gap):
            self._known.gave_nothing(outcome)
            return outcome
        if json and not _looks_like_json(outcome.data):
            head = self.access.secret.hide_in(outcome.data[:_ERROR_BYTES])
            begins = self.shortened(head[:40].decode("utf-8", "replace"))
            return Gap(path, Fault.NOT_JSON, f"the answer begins with {begins!r}", origin, outcome.status)
        self.bytes_read += len(outcome.data)
        self._known.answered(outcome.origin)
        return Answer(path, outcome.data, broker)

    async def _tried(self, path: str, origin: str, loads: bool) -> _Response | Gap:
        """The response, after another try or two where that may help and there is time."""
        now_s = asyncio.get_running_loop().time
        left_s = self.limits.deadline_s
        outcome: _Response | Gap = _stopped(path, origin)
        for attempt in range(self.limits.tries):
            if attempt:
                await self.clock.sleep(wait_s(attempt - 1, self.limits, self._chance))
            async with self._slots:
                refusal = self._refused(path, origin)
                if refusal is None:
                    await self._pace.turn()
                    refusal = self._refused(path, origin)
                if refusal is not None:
                    return refusal
                began_s = now_s()
                outcome = await self._followed(path, origin, loads, began_s + left_s)
                left_s -= now_s() - began_s
            if not isinstance(outcome, Gap):
                break
            self._known.missed(outcome)
            if outcome.fault not in PASSING or left_s <= 0 or not self._known.may_be_tried_again:
                break
        return outcome

    def _refused(self, path: str, origin: str) -> Gap | None:
        """Why the request is not sent: the reading was stopped, the host is silent, or enough was read; else None."""
        if self._stop.is_set():
            return _stopped(path, origin)
        if self.bytes_read >= self.limits.max_total_bytes:
            return Gap(path, Fault.TOO_LARGE, f"{size_text(self.bytes_read)} were read already", origin)
        return self._known.why_not_asked(path, origin)

    async def _followed(self, path: str, origin: str, loads: bool, until_s: float) -> _Response | Gap:
        """The response at the end of redirects inside the cluster."""
        at, owns = origin, False
        seen = {(at, owns)}
        for _ in range(self.limits.redirects + 1):
            response = await self._once(path, at, owns, until_s)
            if isinstance(response, Gap) or response.status in _OK:
                return response
            if response.status not in _REDIRECTS:
                return self._gap_of(path, response)
            target = redirected(at, path, response.location)
            if target is None or not self._may_follow(target.origin):
                where = self.shortened(shown_address(response.location))
                return Gap(path, Fault.REDIRECT_REFUSED, f"redirected to {where}", origin, response.status)
            at, owns = target.origin, target.takes_ownership and loads
            if (at, owns) in seen:
                break
            refusal = self._refused(path, at)
            if refusal is not None:
                return refusal
            seen.add((at, owns))
        return Gap(path, Fault.REDIRECT_LOOP, f"redirected {len(seen)} times", origin, 307)

    def _may_follow(self, origin: str) -> bool:
        """Whether a redirect stays in the cluster and does not leave encryption."""
        encrypted = origin.startswith("https://") or not self.access.is_encrypted
        return encrypted and authority_of(origin) in self._trusted

    async def _once(self, path: str, origin: str, owns: bool, until_s: float) -> _Response | Gap:
        """One response, or a gap with the host that was asked, which a redirect may have named."""
        self.requests += 1
        right = f"{'&' if '?' in path else '?'}authoritative=true" if owns else ""
        began_s = asyncio.get_running_loop().time()
        patience = _Patience(asyncio.timeout(None), began_s + self.limits.timeout_s, until_s)
        try:
            async with patience.deadline as deadline:
                patience.extend(0)
                self._under_way.add(deadline)
                try:
                    return await self._read(origin, path + right, patience)
                finally:
                    self._under_way.discard(deadline)
        except (TimeoutError, httpx2.TimeoutException) as error:
            if self._stop.is_set():
                return _stopped(path, origin)
            if patience.received and isinstance(error, TimeoutError):
                spent_s = asyncio.get_running_loop().time() - began_s
                came = f"only {size_text(patience.received)} came in {spent_s:.3g} s"
                return Gap(path, Fault.SLOW, came, origin)
            return Gap(path, Fault.TIMEOUT, f"no answer within {self.limits.timeout_s:g} s", origin)
        except TooLargeError:
            limit = size_text(self.limits.max_answer_bytes)
            return Gap(path, Fault.TOO_LARGE, f"the answer has more than {limit}", origin)
        except PackedError as error:
            return Gap(path, Fault.PACKED, self.shortened(str(error)), origin)
        except httpx2.ConnectError as error:
            return self._unconnected(path, origin, error)
        except (httpx2.HTTPError, OSError) as error:
            return Gap(path, Fault.CUT, self.shortened(str(error) or type(error).__name__), origin)
        except (httpx2.InvalidURL, ValueError, OverflowError, ExceptionGroup) as error:
            # What the libraries below make of an address or a header that they did not expect.
            return Gap(path, Fault.MALFORMED, self.shortened(str(error) or type(error).__name__), origin)

    async def _read(self, origin: str, path: str, patience: _Patience) -> _Response:
        headers = _HEADERS | ({"Authorization": self.access.secret.header} if self.access.secret.header else {})
        request = httpx2.Request("GET", origin + path, headers=headers, extensions=self._waits)
        response = await self._http.handle_async_request(request)
        answered = response.headers
        is_ok = response.status_code in _OK
        limit = self.limits.max_answer_bytes if is_ok else _ERROR_BYTES
        body = Body(answered.get("content-encoding", ""), limit)
        try:
            # Of a refusal, what can be read of its reason is enough.
            with nullcontext() if is_ok else suppress(PackedError, TooLargeError):
                async for piece in response.aiter_raw():
                    if self._stop.is_set():
                        raise TimeoutError
                    patience.extend(len(piece))
                    body.take(piece)
                body.close()
        finally:
            await response.aclose()
        location, retry_after = answered.get("location", ""), answered.get("retry-after")
        return _Response(response.status_code, bytes(body.data), location, retry_after, origin)

    def _unconnected(self, path: str, origin: str, error: BaseException) -> Gap:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, ssl.SSLCertVerificationError):
                return Gap(path, Fault.CERTIFICATE, self.shortened(cause.verify_message), origin)
            if isinstance(cause, ssl.SSLError):
                return Gap(path, Fault.CERTIFICATE, self.shortened(f"no TLS: {cause.reason or cause}"), origin)
            cause = cause.__cause__ or cause.__context__
        return Gap(path, Fault.UNREACHABLE, self.shortened(str(error) or "no connection"), origin)

    def _gap_of(self, path: str, response: _Response) -> Gap:
        fault = BY_STATUS.get(response.status, Fault.STATUS)
        reason = self.shortened(_reason_in(response.data)) or f"status {response.status}"
        wait = retry_after_s(response.retry_after, self.clock.utc_ms())
        if wait is not None:
            reason += f" (it asks for the next request in {wait:g} s)"
            self._pace.not_before(min(wait, self.limits.longest_wait_s))
        return Gap(path, fault, reason, response.origin, response.status)

    def shortened(self, text: str) -> str:
        """A text from outside on one line, short and without secrets."""
        text = " ".join(visible(self.access.secret.hide_in_reason(text)).split())
        return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 1] + "…"


def _stopped(path: str, origin: str) -> Gap:
    return Gap(path, Fault.STOPPED, "the reading was stopped", origin)


def _looks_like_json(data: bytes) -> bool:
    head = data[:64].lstrip()[:1]
    return not head or head in b'{["-0123456789tfn'


def _reason_in(data: bytes) -> str:
    """``{"reason": ...}`` or a plain sentence; nothing of a page of HTML."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = data.decode("utf-8", "replace").strip()
        return "" if text.startswith("<") else text
    return str(value.get("reason", "")) if isinstance(value, dict) else str(value)


def require_usable(limits: Limits) -> None:
    """Raise ``InputError`` for limits that nothing could be read with."""
    for name, value in (("--at-once", limits.at_once), ("--rate", limits.rate), ("--timeout", limits.timeout_s)):
        if value <= 0:
            raise InputError(f"{name}: must be more than 0")
