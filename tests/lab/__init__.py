"""Holding the model against recorded answers of real brokers."""

from tests.lab.report import Difference, FactKind, Fit, Tally, VerifyReport
from tests.lab.run import verify_folder

__all__ = ["Difference", "FactKind", "Fit", "Tally", "VerifyReport", "verify_folder"]
