"""Why no broker carries out a split that an algorithm proposes, by release."""

from __future__ import annotations

import numpy as np
import pytest

from engine.config import FLOW_OR_QPS_EQUALLY_DIVIDE, SPLIT_ALGORITHMS, BrokerSettings
from pipeline.transforms.bundles import Bundles, Topics
from tests.releases import known

HASHES = np.array([10, 20, 0x90000000], dtype=np.int64)


def refusals(release: str, default: str) -> dict[str, list[str | None]]:
    """By algorithm, of two bundles with two topics and one."""
    loads = np.zeros((6, len(HASHES)))
    loads[2] = 20_000.0
    topics = Topics(np.zeros(len(HASHES), dtype=np.int64), HASHES, np.ones(len(HASHES), dtype=np.bool_), loads)
    settings = BrokerSettings(defaultNamespaceBundleSplitAlgorithm=default)
    bundles = Bundles("", ["t/n"], [(0, 0x80000000, 0xFFFFFFFF)], topics, settings, known(release), {}, [])
    rows = [splits for splits, _ in bundles.split_columns(bundles.full_names())]
    return {each["algorithm"][0].as_py(): each["refusal"].to_pylist() for each in rows}


@pytest.mark.parametrize(
    ("release", "default", "refusal"),
    [
        ("4.2.5", "range_equally_divide", "not-the-default-algorithm"),
        ("4.2.5", FLOW_OR_QPS_EQUALLY_DIVIDE, None),
        ("5.0.1", "range_equally_divide", None),
        ("5.0.1", FLOW_OR_QPS_EQUALLY_DIVIDE, None),
    ],
)
def test_flow_by_name_is_refused_before_5_0_only(release: str, default: str, refusal: str | None) -> None:
    found = refusals(release, default)
    assert found[FLOW_OR_QPS_EQUALLY_DIVIDE] == [refusal, "nothing-to-split"]
    assert found["range_equally_divide"] == [None, None]
    assert found.keys() == set(SPLIT_ALGORITHMS)
