"""Session after session, from a seed."""

from __future__ import annotations

import gc
import random
from collections.abc import Iterator
from functools import cache
from time import process_time
from typing import Final

from tests.soak_ui.choosing import Chooser
from tests.soak_ui.judging import judged
from tests.soak_ui.pace import get_to_know
from tests.soak_ui.playing import Failure, Outcome, play, replay
from tests.soak_ui.report import Tally
from tests.soak_ui.scenes import ENDINGS, WEIGHTS
from tests.soak_ui.steps import session_of
from tests.soak_ui.twin import disagreement

KEYS_OF_SESSION: Final = 250
_KNOWN: Final[list[Failure]] = []
"""What this process has found and shrunk."""
ENDING_WEIGHTS: Final = (0.3, 0.1, 0.08, 0.06, 0.06)
"""How often a session has each of the endings of a scene's name."""
WARMING: Final = (
    "small 80x24 a ~ escape ~ f ~ enter ~ question_mark ~ escape ~ b ~ end ~ escape ~ ctrl+p ~ h e ~ escape ~ s ~ "
    "escape ~ 2 ~ enter ~ escape ~ f2 ~ i ~",
    "two-kinds 120x40 n ~ m ~ escape ~ t ~ escape ~ enter ~ escape ~ f ~ escape ~",
    "producers 80x24 a ~ escape ~ t ~ escape ~ f ~ escape ~ s ~ v ~",
    "fleet 80x24 tab ~ s ~ slash a ~ escape ~ enter ~",
)
"""What is imported, parsed and remembered once for a process, before anything is measured."""


@cache
def prepare() -> None:
    """Warm up; the garbage collector works between sessions only, so that its time is not counted as a step's."""
    gc.disable()
    get_to_know()
    for line in WARMING:
        replay(session_of(line))
    gc.collect()
    gc.freeze()


def soaked(seed: str, keys: int) -> Tally:
    """Press so many keys; a failure ends its session and not the run."""
    prepare()
    tally = Tally()
    begin = process_time()
    for outcome in sessions(seed, keys):
        tally.add(outcome, process_time() - begin)
        finding = judged(outcome, disagreement, known=_KNOWN)
        if finding is not None:
            tally.findings.append(finding)
            _KNOWN.append(finding.failure)
        gc.collect()
        begin = process_time()
    return tally


def sessions(seed: str, keys: int) -> Iterator[Outcome]:
    """So many keys in sessions of which each begins anew."""
    number = 0
    while keys > 0:
        outcome = _session(f"{seed}-{number}", min(KEYS_OF_SESSION, keys))
        keys -= outcome.session.keys
        number += 1
        yield outcome


def _session(seed: str, keys: int) -> Outcome:
    chance = random.Random(seed)
    (scene,) = chance.choices(list(WEIGHTS), list(WEIGHTS.values()))
    endings = [ending for ending, often in zip(ENDINGS, ENDING_WEIGHTS, strict=True) if chance.random() < often]
    chooser = Chooser(seed, keys)
    return play("+".join([scene, *endings]), chooser.size(), chooser, disagreement)
