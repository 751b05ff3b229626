"""The files of a folder, in plain text: those that a scenario names, and the release that a load report names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.admin.files import AnswerFile
from engine.admin.kinds import AnswerKind, recognise
from engine.admin.namespaces import decode_load_report
from engine.admin.reading import Intake
from engine.errors import Problem


def version_of(plain: Mapping[str, AnswerFile]) -> str | None:
    """The release that a load report names, the first that names one; None without."""
    for file in plain.values():
        if recognise(file.name, file.data) is AnswerKind.LOAD_REPORT:
            report = decode_load_report(file.data, file.name).good
            if report is not None and report.broker_version:
                return report.broker_version
    return None


@dataclass(slots=True)
class Files:
    """The files beside a scenario, those of them that it names, what is wrong, and how much was read."""

    plain: Mapping[str, AnswerFile]
    scenario: str
    used: set[str]
    problems: list[Problem]
    intake: Intake

    def data(self, name: str) -> bytes:
        """The text of a file the scenario names, packed or not; b"" and a problem when it is missing."""
        file = next(
            (self.plain[each] for each in (name, f"{name}.gz", name.removesuffix(".gz")) if each in self.plain), None
        )
        if file is not None:
            self.used.add(file.name)
            return file.data
        if name.endswith((".json", ".json.gz")):
            advice = "record it again, or take it out of the scenario"
            problem = Problem(self.scenario, name, "a file that the scenario names is missing", advice)
            if problem not in self.problems:
                self.problems.append(problem)
        return b""
