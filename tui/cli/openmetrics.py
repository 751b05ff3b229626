"""Metrics as the text that a scraper reads: the samples are the model's, ``prometheus_client`` writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from engine.text import visible
from tui.cli.output import without_secret

if TYPE_CHECKING:
    from engine.views.metrics import Family

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
END: Final = "# EOF\n"
LONGEST_LABEL: Final = 256
_SUFFIXES: Final = {"counter": "_total", "info": "_info"}
_HASH: Final = 8
_CHANGED: Final = re.compile(r"~[0-9a-f]{8}$")


def exposition(families: Iterable[Family]) -> str:
    r"""The text of the families that have samples.

    >>> from engine.views.metrics import Family, Sample
    >>> print(exposition([Family("x", "how many", (Sample(2, (("name", 'a"b'),)),))]), end="")
    # HELP x how many
    # TYPE x gauge
    x{name="a\"b"} 2.0
    # EOF
    """
    text: bytes = generate_latest(_Families(families))  # type: ignore[no-untyped-call]
    return text.decode()


class _Families(Collector):
    """What the writer asks for metrics."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        """Each family with its first sample of every set of labels: a scraper drops a series that is there twice."""
        for family in self._families:
            samples: dict[tuple[tuple[str, str], ...], float] = {}
            for sample in family.samples:
                samples.setdefault(tuple((name, label(value)) for name, value in sample.labels), sample.value)
            metric = Metric(family.name, family.meaning, family.kind)
            for labels, value in samples.items():
                metric.add_sample(f"{family.name}{_SUFFIXES.get(family.kind, '')}", dict(labels), value)
            if metric.samples:
                yield metric


def label(name: str) -> str:
    r"""A name as a label, which is short and commands no terminal.

    One that is changed for that ends in a hash of it, and so does one that ends as if it were changed: otherwise it
    could be the label of another name.

    >>> label("billing"), label("a\x1b"), label("a\\x1b")
    ('billing', 'a\\x1b~1f858a18', 'a\\x1b')
    """
    name = without_secret(name)
    shown = visible(name)
    if shown == name and len(shown) <= LONGEST_LABEL and not _CHANGED.search(name):
        return name
    mark = "~" + sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    return shown[: LONGEST_LABEL - len(mark)] + mark
