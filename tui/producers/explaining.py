"""What the next message of a producer would do, as labelled sentences. The reasons come from the engine as data."""

from __future__ import annotations

from typing import Final

from engine.views.producers_model import SendAnswer
from tui.kit.remarks import BYTES_SHOWN, Remark
from tui.kit.wording import safe_name

_CLIENTS: Final = {
    "JavaStringHash": "from Java",
    "Murmur3_32Hash": "from Java with Murmur3_32Hash",
    "BoostHash": "from Python or C++",
}


def send_remarks(answer: SendAnswer) -> tuple[Remark, ...]:
    """The answer first, then what it opens, the rule, and the numbers in the order they are checked by hand."""
    route, result = answer.told.route, answer.told.result
    name = f" {safe_name(answer.name)}" if answer.name else ""
    remarks = [
        Remark("producer", f"#{answer.number}{name} ({answer.client})"),
        Remark("key", "none" if answer.key is None else safe_name(answer.key) if answer.key else "the empty key"),
        Remark("goes to", f"partition {result.partition}", main=True),
        Remark("then", answer.told.sentence),
        Remark("rule", route.sentence),
    ]
    if route.key is not None:
        data = route.key.data
        cut = f"{data[:BYTES_SHOWN].hex(' ')} …" if len(data) > 2 * BYTES_SHOWN else data.hex(" ")
        remarks.append(Remark("bytes", cut or "none: the key is empty"))
        remarks.append(Remark("hash", f"{route.key.hashing} {route.key.raw:,}, as Pulsar takes it {route.key.value:,}"))
    if route.chosen:
        remarks.append(Remark("chosen", ", ".join(map(str, route.chosen))))
    for scheme, partition in answer.elsewhere:
        where = "no key there" if partition is None else f"partition {partition}"
        same = " (the same)" if partition == result.partition else ""
        remarks.append(Remark("elsewhere", f"{where}{same} {_CLIENTS[scheme]}"))
    return tuple(remarks)
