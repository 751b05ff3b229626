"""The terminal of a process that is stopped and continued."""

from __future__ import annotations

import threading

from textual.drivers.linux_driver import LinuxDriver


class TerminalDriver(LinuxDriver):
    """Textual's driver, which begins anew when the process is continued.

    A process is also continued that did not suspend itself: after SIGSTOP, by ``kill -CONT``, or with SIGHUP when its
    session ends. Textual would begin a second time then: two threads would read the terminal, and one of them would
    never end, nor would the process.
    """

    def resume_application_mode(self) -> None:
        if any(thread.name == "textual-input" for thread in threading.enumerate()):
            self.suspend_application_mode()
        super().resume_application_mode()
