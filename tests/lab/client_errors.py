"""Errors as clients of several languages and the wire protocol name them."""

from __future__ import annotations

import re
from typing import Final

_SUFFIX: Final = re.compile(r"(?:Exception|Error)$")


def error_stem(result: str) -> str:
    """The name of an error without what a language adds to it; any other result as it is.

    ``ServerError`` of the protocol has ``ConsumerAssignError`` where Java has ``ConsumerAssignException``, and Python
    raises ``ProducerBusy`` where Java has ``PulsarClientException$ProducerBusyException``.

    >>> [error_stem(text) for text in ("a.b.E$ProducerBusyException: x", "ConsumerAssignError: y", "accepted")]
    ['ProducerBusy', 'ConsumerAssign', 'accepted']
    """
    name = re.split(r"[.$]", result.partition(":")[0].strip())[-1].removeprefix("Result")
    return _SUFFIX.sub("", name)
