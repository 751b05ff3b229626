"""Holding the model against recorded answers of real brokers."""

from tests.lab.compare import verify_folder
from tests.lab.report import Difference, FactKind, Fit, Tally, VerifyReport

__all__ = ["Difference", "FactKind", "Fit", "Tally", "VerifyReport", "verify_folder"]
