"""Strategies for texts and commands of every kind, possible in a cluster or not."""

from __future__ import annotations

from hypothesis import strategies as st

from engine.cluster.commands import (
    AddConsumer,
    AddTopic,
    Command,
    KillConsumer,
    RemoveTopic,
    RenameConsumer,
    RepartitionTopic,
    SetPriorityLevel,
    SetRelease,
    SetSetting,
    SplitBundle,
)

AWKWARD = (
    "",
    " ",
    "#1",
    "to",
    "of",
    "at",
    "bundle",
    "priority",
    "a b",
    "a\nb",
    "'",
    '"',
    "\\",
    "\\n",
    "\ud83d\ude00",
    "\ud800",
)


def any_text() -> st.SearchStrategy[str]:
    """Any code points, halves of surrogate pairs included, and words that a grammar could mistake."""
    every = st.characters(codec=None, categories=None)
    return st.sampled_from(AWKWARD) | st.text(every, max_size=8) | st.from_regex(r"[a-z0-9/_-]{1,12}", fullmatch=True)


INT_32 = st.integers(-(2**31), 2**31 - 1)
IDS = st.integers(0, 2**53)


def commands() -> st.SearchStrategy[Command]:
    """All commands with arguments of any kind that a line can carry."""
    text = any_text()
    namespaces = text | st.sampled_from(["t/n", "a/b/c", "x"])
    bundles = text | st.sampled_from(["LARGEST", "HOT", "0x00000000_0x40000000"])
    positions = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3).map(tuple)
    return st.one_of(
        st.builds(AddConsumer, text, text, INT_32),
        st.builds(KillConsumer, text, IDS),
        st.builds(RenameConsumer, text, IDS, text),
        st.builds(SetPriorityLevel, text, IDS, INT_32),
        st.builds(SetSetting, text, text),
        st.builds(SetRelease, text),
        st.builds(AddTopic, text, st.integers(-5, 10**6)),
        st.builds(RemoveTopic, text),
        st.builds(RepartitionTopic, text, st.integers(-5, 10**6)),
        st.builds(SplitBundle, namespaces, bundles, st.none() | text, positions),
    )
