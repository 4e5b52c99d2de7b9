"""Commands as child processes: run, captured in bounded memory, and ended with all they started.

``run`` starts one command and waits for its shell; ``kill_all`` ends all remaining
processes at program exit. See ``agent.process.run`` for the guarantees.
"""

from agent.process.background import BackgroundShell
from agent.process.capture import Capture, CapturedOutput, NewOutput, strip_terminal_codes
from agent.process.child_environment import (
    child_environment,
    shell,
    shell_argv,
    strict_environment,
)
from agent.process.in_terminal import TerminalPlace, run_in_terminal
from agent.process.relay import EnvironmentFilter
from agent.process.run import Command, FinishedCommand, RunningCommand, kill_all, run, start
from agent.process.spill import SpillFile, SpillStore
from agent.process.terminals import (
    Terminal,
    TerminalCommand,
    TerminalExit,
    TerminalLost,
    TerminalMissing,
    TerminalRefused,
    Terminals,
    TerminalText,
)

__all__ = [
    "BackgroundShell",
    "Capture",
    "CapturedOutput",
    "Command",
    "EnvironmentFilter",
    "FinishedCommand",
    "NewOutput",
    "RunningCommand",
    "SpillFile",
    "SpillStore",
    "Terminal",
    "TerminalCommand",
    "TerminalExit",
    "TerminalLost",
    "TerminalMissing",
    "TerminalPlace",
    "TerminalRefused",
    "TerminalText",
    "Terminals",
    "child_environment",
    "kill_all",
    "run",
    "run_in_terminal",
    "shell",
    "shell_argv",
    "start",
    "strict_environment",
    "strip_terminal_codes",
]
