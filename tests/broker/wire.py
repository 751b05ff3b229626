"""A client of Pulsar's binary protocol that subscribes and goes away, as plainly as a test needs it.

Clients of the project's own would hide who connects when, cannot have two consumers of one name, and reconnect by
themselves. A frame is its length, the length of the command, and the command, a protocol buffer.
"""

from __future__ import annotations

import itertools
import socket
import struct
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

CONNECT, CONNECTED, SUBSCRIBE, PRODUCER, SEND, SEND_RECEIPT, SEND_ERROR = 2, 3, 4, 5, 6, 7, 8
MESSAGE, ACK, FLOW, SUCCESS, ERROR, PRODUCER_SUCCESS, PING, PONG = 9, 10, 11, 13, 14, 17, 18, 19
TYPES: Final = {"Exclusive": 0, "Shared": 1, "Failover": 2, "Key_Shared": 3}
PROTOCOL: Final = 21
ANSWER_S: Final = 60.0
_CHECKED: Final = b"\x0e\x01"
"""Before a checksum of four bytes, in front of the metadata of a message."""
_VARINT, _FIXED_64, _FIXED_32 = 0, 1, 5


class RefusedError(Exception):
    """The broker refused a request; the text is the broker's."""


def _varint(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*out, number))


def encoded(*members: tuple[int, int | str | bytes | None]) -> bytes:
    """A message of numbered members; None is left out.

    >>> encoded((1, 150), (2, "ab"), (3, None)).hex()
    '08960112026162'
    """
    out = b""
    for number, value in members:
        if isinstance(value, int):
            out += _varint(number << 3) + _varint(value)
        elif value is not None:
            data = value.encode() if isinstance(value, str) else value
            out += _varint(number << 3 | 2) + _varint(len(data)) + data
    return out


def decoded(data: bytes) -> dict[int, int | bytes]:
    """The members of a message by their numbers, the last of repeated ones.

    >>> decoded(bytes.fromhex("08960112026162"))
    {1: 150, 2: b'ab'}
    """
    results: dict[int, int | bytes] = {}
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = number()
        kind = tag & 7
        if kind == _VARINT:
            results[tag >> 3] = number()
        else:
            size = {_FIXED_64: 8, _FIXED_32: 4}.get(kind) or number()
            results[tag >> 3] = data[at : at + size]
            at += size
    return results


@dataclass(frozen=True, slots=True)
class Received:
    """A message that a consumer was sent; ``message_id`` is as the broker wrote it."""

    consumer: int
    message_id: bytes
    key: str


class Client:
    """One connection, that of one process: closing it is what a broker sees when the process dies."""

    def __init__(self, port: int, *, partial_producer: bool = False) -> None:
        """``partial_producer``: say of its producers that they open partitions when they need them."""
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S)
        self._socket.settimeout(None)
        self._numbers = itertools.count(1)
        self._answers: dict[int, tuple[int, dict[int, int | bytes]]] = {}
        self._changed = threading.Condition()
        self._gone = False
        self._answers_pings = True
        self._received: list[Received] = []
        self._send(
            CONNECT,
            encoded((1, "ringside-test"), (4, PROTOCOL), (10, encoded((1, 1), (2, 1), (3, int(partial_producer))))),
        )
        threading.Thread(target=self._listen, daemon=True).start()
        self._answer(0)

    def subscribe(
        self,
        topic: str,
        subscription: str,
        kind: str,
        name: str,
        *,
        priority: int = 0,
        ranges: Sequence[tuple[int, int]] | None = None,
    ) -> int:
        """Connect a consumer to a topic or a partition that this broker owns. Raises ``RefusedError``.

        The answer is its number in this connection; it gets nothing before it is allowed to.
        """
        request = next(self._numbers)
        sharing = None
        if kind == "Key_Shared":
            listed = tuple((3, encoded((1, start), (2, end))) for start, end in ranges or ())
            sharing = encoded((1, 0 if ranges is None else 1), *listed)
        members = (
            (1, topic),
            (2, subscription),
            (3, TYPES[kind]),
            (4, request),
            (5, request),
            (6, name),
            (7, priority),
        )
        self._send(SUBSCRIBE, encoded(*members, (17, sharing)))
        self._answer(request)
        return request

    def allow(self, consumer: int, permits: int) -> None:
        """Ask for so many more messages."""
        self._send(FLOW, encoded((1, consumer), (2, permits)))

    def produce(self, topic: str, name: str | None = None, *, access: int = 0) -> int:
        """Open a producer; the answer is its number. Raises ``RefusedError``."""
        request = next(self._numbers)
        self._send(PRODUCER, encoded((1, topic), (2, request), (3, request), (4, name), (10, access)))
        self._answer(request)
        return request

    def publish(self, producer: int, key: str, payload: bytes = b"x", deliver_at_ms: int | None = None) -> None:
        """Send one message and wait until it is stored. Raises ``RefusedError``."""
        sequence = next(self._numbers)
        metadata = encoded((1, "test"), (2, sequence), (3, 1), (6, key), (19, deliver_at_ms))
        body = encoded((1, producer), (2, sequence), (3, 1))
        self._send(SEND, body, struct.pack(">I", len(metadata)) + metadata + payload)
        self._answer(sequence)

    def received(self) -> tuple[Received, ...]:
        """What came until now, in order."""
        with self._changed:
            return tuple(self._received)

    def acknowledge(self, received: Received) -> None:
        """Acknowledge one message; it is out of what was received then."""
        with self._changed:
            self._received.remove(received)
        self._send(ACK, encoded((1, received.consumer), (2, 0), (3, received.message_id)))

    def fall_silent(self) -> None:
        """Be what a broker sees of a machine without power: a connection that is open and says nothing any longer."""
        self._answers_pings = False

    def close(self) -> None:
        """Go away without a word."""
        self._gone = True
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        finally:
            self._socket.close()

    def _send(self, kind: int, body: bytes, message: bytes = b"") -> None:
        command = encoded((1, kind), (kind, body))
        size = len(command) + 4 + len(message)
        with self._changed:
            self._socket.sendall(struct.pack(">II", size, len(command)) + command + message)

    def _answer(self, request: int) -> None:
        with self._changed:
            if not self._changed.wait_for(lambda: request in self._answers or self._gone, ANSWER_S):
                raise TimeoutError(f"the broker does not answer request {request}")
            if request not in self._answers:
                raise ConnectionError("the broker closed the connection")
            kind, body = self._answers.pop(request)
        if kind in (ERROR, SEND_ERROR):
            text = body.get(3, b"")
            raise RefusedError(text.decode(errors="replace") if isinstance(text, bytes) else str(text))

    def _listen(self) -> None:
        try:
            while True:
                total, size = struct.unpack(">II", self._read(8))
                frame = self._read(total - 4)
                command = decoded(frame[:size])
                kind = command[1]
                inner = command.get(int(kind), b"")
                body = decoded(inner) if isinstance(inner, bytes) else {}
                if kind == PING:
                    if self._answers_pings:
                        self._send(PONG, b"")
                elif kind == MESSAGE:
                    with self._changed:
                        self._received.append(_message(body, frame[size:]))
                elif kind in (CONNECTED, SUCCESS, ERROR, PRODUCER_SUCCESS, SEND_RECEIPT, SEND_ERROR):
                    # What was sent is answered by producer and sequence number, all else by the request.
                    number = 0 if kind == CONNECTED else body[2 if kind in (SEND_RECEIPT, SEND_ERROR) else 1]
                    with self._changed:
                        self._answers[int(number)] = (int(kind), body)
                        self._changed.notify_all()
        except (OSError, EOFError, struct.error):
            with self._changed:
                self._gone = True
                self._changed.notify_all()

    def _read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = self._socket.recv(count - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data


def _message(command: dict[int, int | bytes], data: bytes) -> Received:
    """A message from its command and what is behind it in the frame: maybe a checksum, metadata, payload."""
    at = 6 if data[:2] == _CHECKED else 0
    (size,) = struct.unpack_from(">I", data, at)
    key = decoded(data[at + 4 : at + 4 + size]).get(6, b"")
    message_id = command[2]
    assert isinstance(message_id, bytes)
    return Received(int(command[1]), message_id, key.decode() if isinstance(key, bytes) else "")
