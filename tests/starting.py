"""How tests start programs to which they send signals."""

from __future__ import annotations

import signal


def hear_signals() -> None:
    """As ``preexec_fn``: the program hears what a terminal sends, though the tests may have been started to ignore it.

    ``nohup make test`` ignores SIGHUP and a job in the background of a script SIGINT, and a child inherits that.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
