"""Holding the model against recorded answers of real brokers."""

from engine.verify.report import Difference, FactKind, Fit, Tally, VerifyReport
from engine.verify.run import verify_folder

__all__ = ["Difference", "FactKind", "Fit", "Tally", "VerifyReport", "verify_folder"]
