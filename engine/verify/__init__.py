"""Compare the model with what brokers answered."""

from engine.verify.compare import verify_folder
from engine.verify.report import Difference, FactKind, Fit, Ledger, Tally, VerifyReport

__all__ = ["Difference", "FactKind", "Fit", "Ledger", "Tally", "VerifyReport", "verify_folder"]
