"""``python -m tests.fresh_vectors``: new cases, answered by Pulsar's own classes and by the engine; 1 if any differ."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from engine.config import behaviour_of
from engine.errors import Rejection
from tests.broker.releases import RELEASE_VARIABLE, NoBrokerError, built_alike, release
from tests.fresh_vectors.checking import Checked, check
from tests.fresh_vectors.families import FAMILIES, families_of
from tests.fresh_vectors.pulsar import MisfitError, Pulsar
from tests.golden.load_lines import judged_by


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where nothing differs, 1 where something does, 2 where the classes cannot be asked."""
    parser = argparse.ArgumentParser(prog="python -m tests.fresh_vectors", description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000, help="how many of each family")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--family", choices=FAMILIES, action="append", help="only this one; repeatable")
    parser.add_argument("--release", help="classes and rules of another release, such as 3.0.7")
    parser.add_argument("--into", type=Path, default=Path("build/fresh_vectors"), help="folder for lines that differ")
    options = parser.parse_args(arguments)
    version = options.release or release().version
    os.environ[RELEASE_VARIABLE] = built_alike(version).version
    behaviour = behaviour_of(version)
    if isinstance(behaviour, Rejection):
        parser.error(str(behaviour))
    differing = 0
    try:
        with tempfile.TemporaryDirectory() as folder, judged_by(behaviour):
            pulsar = Pulsar(Path(folder), version)
            families = options.family or families_of(behaviour)
            for family, result in check(pulsar, families, options.lines, options.seed, behaviour).items():
                differing += len(result.differing)
                _say(f"{version} {family}: {result.lines:,} lines, {len(result.differing):,} differ")
                _keep(result, options.into / f"{version}-{family}.jsonl")
            if pulsar.lacking:
                _say(f"not asked, since {version} has no classes that fit: {', '.join(sorted(pulsar.lacking))}")
    except (NoBrokerError, MisfitError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 1 if differing else 0


def _keep(found: Checked, path: Path) -> None:
    """Say the first difference, and write all lines that differ, which the harness of the kept vectors reads."""
    if found.differing:
        _say(f"{found.differing[0][1][:2_000]}\nthe lines: {path}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{json.dumps(line)}\n" for line, _ in found.differing))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
