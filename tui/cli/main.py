"""The outermost function: runs a command and turns every way it can end into a sentence and an exit code."""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Sequence

import click

from engine.errors import InputError, RingsideError, system_reason
from tui.cli import exits
from tui.cli.exits import Unwinding
from tui.cli.output import abandon_stdout, debug_traceback, prepare_streams, say, say_fault, say_input_error


def main(args: Sequence[str] | None = None) -> int:
    """Run ``ringside`` with ``args`` (default: the process's own) and return its exit code. Never raises."""
    ending = Unwinding()
    with ending.installed():
        ending.code = run(args, ending)
    return ending.code


def run(args: Sequence[str] | None, ending: Unwinding) -> int:
    """The exit code of a command that ``ending`` may interrupt."""
    prepare_streams()
    collects = gc.isenabled()
    # Modules are never garbage: collecting again and again while they load takes a tenth of the start.
    gc.disable()
    try:
        code = _run(args)
    except BaseException as error:
        if ending.number is not None:  # whatever exception the request became on its way up, as inside a class body
            return ending.code
        code = _code_of(error)
    finally:
        if collects:
            gc.enable()
    return code if code != exits.FINE else _flushed()


def _code_of(error: BaseException) -> int:
    """Say in a sentence what ended the run, where it needs one, and return the exit code. Raises what is unknown."""
    match error:
        case exits.Stopped():
            return exits.of_signal(error.number)
        case KeyboardInterrupt() | click.Abort():
            return exits.of_signal(signal.SIGINT)
        case exits.ClosedPipe():
            abandon_stdout()
            return exits.CLOSED_PIPE
        case click.ClickException():
            error.show()
            return error.exit_code
        case InputError():
            say_input_error(error)
            return exits.USAGE
        case RingsideError():
            from tui.sources.cluster.outcomes import ClusterOutOfReachError

            say(str(error))
            return exits.UNREACHABLE if isinstance(error, ClusterOutOfReachError) else exits.FAILED
        case OSError():
            return _environment(error)
        case Exception():
            say_fault(error)
            return exits.FAILED
    raise error


def _run(args: Sequence[str] | None) -> int:
    from tui.cli.commands import ringside

    stdout = sys.stdout
    try:
        code = ringside.main(args=None if args is None else list(args), prog_name="ringside", standalone_mode=False)
    except SystemExit as stop:
        if sys.stdout is not stdout:  # click ends like this when a reader goes away while it writes help
            raise exits.ClosedPipe from None
        code = stop.code
    return code if isinstance(code, int) else exits.FINE


def _flushed() -> int:
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        abandon_stdout()
        return exits.CLOSED_PIPE
    except OSError as error:
        return _environment(error)
    return exits.FINE


def _environment(error: OSError) -> int:
    """A failure of the disk, the terminal or another thing around us."""
    abandon_stdout()
    place = f"{error.filename}: " if error.filename else ""
    say(f"{place}{system_reason(error)}")
    debug_traceback()
    return exits.FAILED
