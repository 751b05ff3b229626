"""Which topics the steps of a recording are about."""

from __future__ import annotations

import re

from engine.names import partition_name
from tests.lab.scenario import Recording


def topics_of_steps(recording: Recording) -> list[str]:
    """Full names of the topics whose dispatchers the steps are about: the scenario's, else all that were asked for."""
    bases = [recording.topic] if recording.topic else []
    if not bases:
        asked = (
            answer.request.topic
            for answer in recording.answers
            if answer.request.what in ("stats", "partitioned-stats")
        )
        bases = list(dict.fromkeys(re.sub(r"-partition-\d+$", "", topic) for topic in asked))
    if not recording.partitions:
        return bases
    return [partition_name(base, index) for base in bases for index in range(recording.partitions)]
