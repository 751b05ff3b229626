"""``ringside explain setting``: the page and the document say the same; a name or release that is not known is said."""

from __future__ import annotations

import json

import pytest

from tests.tui.cli.conftest import Run

FLAG = "activeConsumerFailoverConsistentHashing"


@pytest.mark.parametrize("release", ["3.0.7", "4.2.4", "5.0.1"])
def test_the_flag_is_explained_with_its_releases(run: Run, release: str) -> None:
    document = json.loads(run("explain", "setting", FLAG, "--pulsar", release, "--json").out)
    assert (document["name"], document["category"], document["dynamic"]) == (FLAG, "Policies", False)
    assert document["default"] == (None if release == "3.0.7" else "false")
    assert [past["since"] for past in document["history"]] == [["2.10.0"], ["3.0.8", "3.3.3", "4.0.1"]]
    page = " ".join(run("explain", "setting", FLAG, "--pulsar", release).out.split())
    assert all(text in page for text in (FLAG, document["text"], document["remark"], document["source"]))
    assert (f"Pulsar {release} does not have it" in page) is (document["default"] is None)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("maxunloadpercentage",), "did you mean maxUnloadPercentage?"),
        ((FLAG, "--pulsar", "2.5.2"), "--pulsar 2.5.2: Pulsar 2.5.2 is older than 2.10"),
        ((), "Missing argument"),
    ],
)
def test_what_is_not_known_is_said(run: Run, words: tuple[str, ...], message: str) -> None:
    ran = run("explain", "setting", *words)
    assert ran.code == 2 and message in " ".join(ran.err.split())
