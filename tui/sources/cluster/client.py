"""GET requests to a cluster's admin API, bounded in every way. There is no other method here, and no look-up."""

from __future__ import annotations

import asyncio
import random
import ssl
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin, urlsplit

import httpx
import msgspec

from engine.errors import InputError
from engine.input import size_text
from engine.text import visible
from tui.sources.cluster.access import Access, default_port, host_of
from tui.sources.cluster.outcomes import BY_STATUS, LONGEST_REASON, PASSING, Answer, Fault, Gap
from tui.sources.cluster.pace import Clock, Limits, Pace, retry_after_s, wait_s

_OK: Final = (200, 204)
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_ERROR_BYTES: Final = 1 << 16
_GIVEN_UP_AFTER: Final = 3
"""After so many unanswered requests in a row a host is not asked again in this reading."""
_KEPT_ALIVE_S: Final = 60.0
"""How long a connection waits for the next reading."""
_READ_ONLY: Final = "/admin/v2/"
AGENT: Final = "ringside"
_HEADERS: Final = {
    "User-Agent": AGENT,
    "Accept": "application/json, text/plain",
    "Accept-Encoding": "gzip, deflate",
    "Connection": "keep-alive",
}


class _TooLargeError(Exception):
    """An answer has more bytes than are read."""


@dataclass(frozen=True, slots=True)
class _Response:
    status: int
    data: bytes
    location: str
    retry_after: str | None
    origin: str


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
        transport: httpx.AsyncBaseTransport | None = None,
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
        self._hosts = {access.host}
        self._silent: dict[str, int] = {}
        self._down: dict[str, Gap] = {}
        self._under_way: set[asyncio.Timeout] = set()
        # The transport alone: what a client of httpx adds (redirects, cookies, proxies of the environment) is not
        # wanted here and takes a third of the time of a request.
        self._http = transport or httpx.AsyncHTTPTransport(
            verify=access.tls.context() if access.is_encrypted else False,
            trust_env=False,
            limits=httpx.Limits(
                max_connections=self.limits.at_once,
                max_keepalive_connections=self.limits.at_once,
                keepalive_expiry=_KEPT_ALIVE_S,
            ),
        )
        self._waits: Final = {"timeout": httpx.Timeout(self.limits.timeout_s, pool=None).as_dict()}

    async def __aenter__(self) -> AdminClient:
        await self._http.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    def begin(self, stop: threading.Event | None = None) -> None:
        """Begin another reading over the same connections: hosts that were given up are asked again."""
        self._stop = stop or self._stop
        self._silent.clear()
        self._down.clear()
        self.bytes_read = 0

    def give_up(self) -> None:
        """Wait no longer for what is under way; its requests are gaps. ``stop`` has to be set before."""
        now_s = asyncio.get_running_loop().time()
        for deadline in self._under_way:
            deadline.reschedule(now_s)

    def trust(self, brokers: Iterable[str]) -> None:
        """Redirects to these brokers (``HOST:PORT``) are followed from now on, with the secret."""
        self._hosts |= {host for broker in brokers if (host := host_of(broker))}

    def origin_of_broker(self, broker: str) -> str:
        """Where a broker's own web service is, by its id."""
        return f"{'https' if self.access.is_encrypted else 'http'}://{broker}"

    async def get(self, path: str, *, broker: str = "", json: bool = True, loads: bool = False) -> Answer | Gap:
        """Ask for a path with its query, of a broker itself or at the cluster's address.

        ``json``: an answer that is not JSON is a gap. ``loads``: a broker may take what nobody owns, to answer.
        Faults that may pass are tried again, with growing pauses.
        """
        if not path.startswith(_READ_ONLY):
            raise ValueError(f"{path} is not a request of the admin API")
        origin = self.origin_of_broker(broker) if broker else self.access.origin
        async with self._slots:
            outcome = await self._tried(path, origin, loads)
            for attempt in range(self.limits.tries - 1):
                if not isinstance(outcome, Gap) or outcome.fault not in PASSING:
                    break
                await self.clock.sleep(wait_s(attempt, self.limits, self._chance))
                outcome = await self._tried(path, origin, loads)
        if isinstance(outcome, Gap):
            self._note(outcome)
            return outcome
        if json and not _looks_like_json(outcome.data):
            begins = self._shortened(outcome.data[:40].decode("utf-8", "replace"))
            return Gap(path, Fault.NOT_JSON, f"the answer begins with {begins!r}", origin, outcome.status)
        self.bytes_read += len(outcome.data)
        self._silent.pop(outcome.origin, None)
        return Answer(path, self.access.secret.hide_in(outcome.data), broker)

    def _refused(self, path: str, origin: str) -> Gap | None:
        """Why the request is not sent: the reading was stopped, the host is silent, or enough was read; else None."""
        if self._stop.is_set():
            return _stopped(path, origin)
        down = self._down.get(origin)
        if down is not None:
            return Gap(path, down.fault, down.reason, origin, down.status)
        if self.bytes_read >= self.limits.max_total_bytes:
            return Gap(path, Fault.TOO_LARGE, f"{size_text(self.bytes_read)} were read already", origin)
        return None

    def _note(self, gap: Gap) -> None:
        """Give up a host that does not answer: thousands of other requests would each wait as long."""
        if gap.fault in (Fault.UNREACHABLE, Fault.CERTIFICATE):
            self._down[gap.origin] = gap
        elif gap.fault is Fault.TIMEOUT:
            self._silent[gap.origin] = self._silent.get(gap.origin, 0) + 1
            if self._silent[gap.origin] >= _GIVEN_UP_AFTER:
                self._down[gap.origin] = gap

    async def _tried(self, path: str, origin: str, loads: bool) -> _Response | Gap:
        refusal = self._refused(path, origin)
        if refusal is not None:
            return refusal
        await self._pace.turn()
        refusal = self._refused(path, origin)
        if refusal is not None:
            return refusal
        response = await self._followed(path, origin, loads)
        if isinstance(response, Gap) or response.status in _OK:
            return response
        return self._gap_of(path, response)

    async def _followed(self, path: str, origin: str, loads: bool) -> _Response | Gap:
        """The response at the end of redirects inside the cluster."""
        url = origin + path
        seen = {url}
        for _ in range(self.limits.redirects + 1):
            response = await self._once(path, url)
            if isinstance(response, Gap) or response.status not in _REDIRECTS:
                return response
            target = _target(url, response.location, loads)
            if target is None or not self._may_follow(target):
                where = self._shortened(response.location.partition("?")[0])
                return Gap(path, Fault.REDIRECT_REFUSED, f"redirected to {where}", origin, response.status)
            if target in seen:
                break
            refusal = self._refused(path, _origin(target))
            if refusal is not None:
                return refusal
            seen.add(target)
            url = target
        return Gap(path, Fault.REDIRECT_LOOP, f"redirected {len(seen)} times", origin, 307)

    def _may_follow(self, url: str) -> bool:
        """Whether a redirect stays in the cluster, only reads, and does not leave encryption."""
        parts = urlsplit(url)
        encrypted = parts.scheme == "https" or not self.access.is_encrypted
        known = parts.scheme in ("http", "https") and (parts.hostname or "") in self._hosts
        return encrypted and known and parts.path.startswith(_READ_ONLY)

    async def _once(self, path: str, url: str) -> _Response | Gap:
        """One response, or a gap with the host that was asked, which a redirect may have named."""
        origin = _origin(url)
        self.requests += 1
        try:
            async with asyncio.timeout(self.limits.deadline_s) as deadline:
                self._under_way.add(deadline)
                try:
                    return await self._read(url, origin)
                finally:
                    self._under_way.discard(deadline)
        except (TimeoutError, httpx.TimeoutException):
            if self._stop.is_set():
                return _stopped(path, origin)
            return Gap(path, Fault.TIMEOUT, f"no answer within {self.limits.timeout_s:g} s", origin)
        except _TooLargeError:
            limit = size_text(self.limits.max_answer_bytes)
            return Gap(path, Fault.TOO_LARGE, f"the answer has more than {limit}", origin)
        except httpx.ConnectError as error:
            return self._unconnected(path, origin, error)
        except httpx.DecodingError:
            return Gap(path, Fault.CUT, "the answer is packed and cannot be unpacked", origin)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            return Gap(path, Fault.CUT, self._shortened(str(error) or type(error).__name__), origin)

    async def _read(self, url: str, origin: str) -> _Response:
        headers = _HEADERS | ({"Authorization": self.access.secret.header} if self.access.secret.header else {})
        request = httpx.Request("GET", url, headers=headers, extensions=self._waits)
        response = await self._http.handle_async_request(request)
        try:
            limit = self.limits.max_answer_bytes if response.status_code in _OK else _ERROR_BYTES
            pieces: list[bytes] = []
            size = 0
            async for piece in response.aiter_bytes():
                size += len(piece)
                if size > limit:
                    if response.status_code in _OK:
                        raise _TooLargeError
                    break
                pieces.append(piece)
        finally:
            await response.aclose()
        answered = response.headers
        return _Response(
            response.status_code,
            b"".join(pieces),
            answered.get("location", ""),
            answered.get("retry-after"),
            origin,
        )

    def _unconnected(self, path: str, origin: str, error: BaseException) -> Gap:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, ssl.SSLCertVerificationError):
                return Gap(path, Fault.CERTIFICATE, self._shortened(cause.verify_message), origin)
            if isinstance(cause, ssl.SSLError):
                return Gap(path, Fault.CERTIFICATE, self._shortened(f"no TLS: {cause.reason or cause}"), origin)
            cause = cause.__cause__ or cause.__context__
        return Gap(path, Fault.UNREACHABLE, self._shortened(str(error) or "no connection"), origin)

    def _gap_of(self, path: str, response: _Response) -> Gap:
        fault = BY_STATUS.get(response.status, Fault.STATUS)
        reason = self._shortened(_reason_in(response.data)) or f"status {response.status}"
        wait = retry_after_s(response.retry_after, self.clock.utc_ms())
        if wait is not None:
            reason += f" (it asks for the next request in {wait:g} s)"
            self._pace.not_before(min(wait, self.limits.longest_wait_s))
        return Gap(path, fault, reason, response.origin, response.status)

    def _shortened(self, text: str) -> str:
        """A text from outside on one line, short and without secrets."""
        text = " ".join(visible(self.access.secret.hide(text)).split())
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
        text = data[: 2 * LONGEST_REASON].decode("utf-8", "replace").strip()
        return "" if text.startswith("<") else text
    return str(value.get("reason", "")) if isinstance(value, dict) else str(value)


def _target(url: str, location: str, loads: bool) -> str | None:
    """Where a redirect leads, with the right to take ownership of what nobody owns only where that may be loaded.

    The leader gives that right to the broker that it chose, which without it would ask the leader again.
    """
    try:
        target = urljoin(url, location)
        parts = urlsplit(target)
        port = parts.port or default_port(parts.scheme)
    except ValueError:
        return None
    if not location or not parts.hostname or parts.username is not None:
        return None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    kept = (part for part in parts.query.split("&") if part and (loads or not part.startswith("authoritative=")))
    query = "&".join(kept)
    return f"{parts.scheme}://{host}:{port}{parts.path}" + (f"?{query}" if query else "")


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def require_usable(limits: Limits) -> None:
    """Raise ``InputError`` for limits that nothing could be read with."""
    for name, value in (("--at-once", limits.at_once), ("--rate", limits.rate), ("--timeout", limits.timeout_s)):
        if value <= 0:
            raise InputError(f"{name}: must be more than 0")
