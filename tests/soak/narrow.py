"""Fewer bits in every hash of the engine, at its roots: the library calls, and the end of the numpy kernel."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import mmh3
import numpy as np

import engine.bulk_hashing
import engine.hashing
from tests.oracles.hashes import Hashing, is_looked_up

_SIGN = 2**31


@contextmanager
def narrow(hashing: Hashing) -> Iterator[None]:
    """Inside, the engine hashes as ``hashing`` says; what it remembers of other hashes is forgotten at both ends."""
    forget()
    with ExitStack() as stack:
        if hashing.bits:
            for owner, name, changed in _changes(hashing):
                stack.enter_context(patch.object(owner, name, changed))
        try:
            yield
        finally:
            forget()


def forget() -> None:
    """Clear every memory of the engine that goes by value."""
    for name, module in list(sys.modules.items()):
        if name.startswith("engine"):
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


def _changes(hashing: Hashing) -> list[tuple[Any, str, Any]]:
    whole_hash, whole_finish = mmh3.hash, engine.bulk_hashing.finish

    def unsigned(data: Any) -> int:
        value = whole_hash(data, 0, False)
        looked_up = is_looked_up(data.encode() if isinstance(data, str) else bytes(data))
        # The top bit stays, so that clearing it is still the engine's to do.
        return hashing.of_murmur(value % _SIGN, looked_up=looked_up) | value & _SIGN

    def hash_of(data: Any, seed: int = 0, signed: bool = True) -> int:
        assert seed == 0, "Pulsar's seed is 0"
        value = unsigned(data)
        return value - 2 * _SIGN if signed and value >= _SIGN else value

    def finishing(*, looked_up: bool) -> Any:
        def finish(state: Any, lengths: Any, scratch: Any) -> None:
            whole_finish(state, lengths, scratch)
            wide = state.astype(np.int64)
            state[...] = (hashing.of_murmur(wide % _SIGN, looked_up=looked_up) | wide & _SIGN).astype(np.uint32)

        return finish

    crc = SimpleNamespace(crc32=lambda data: hashing.of_crc(zlib.crc32(data)))
    return [
        (mmh3, "hash", hash_of),
        (mmh3, "mmh3_32_uintdigest", unsigned),
        (mmh3, "mmh3_32_digest", lambda data: unsigned(data).to_bytes(4, "little")),
        # Columns of names hold topics, and the other module makes nothing but points.
        (engine.bulk_hashing, "finish", finishing(looked_up=True)),
        (engine.bulk_hashing, "finish", finishing(looked_up=False)),
        # Journals are sealed with the whole CRC-32: only the rules see another one.
        (engine.hashing, "zlib", crc),
        (engine.bulk_hashing, "zlib", crc),
    ]
