"""Commands as child processes: run, captured in bounded memory, and ended with all they started.

``run`` starts one command and waits for its shell; ``kill_all`` ends everything that is
left, at program exit. See ``agent.process.run`` for what is promised.
"""

from agent.process.background import Background
from agent.process.capture import Capture, Captured, Taken, plain
from agent.process.environment import (
    child_environment,
    shell,
    shell_argv,
    strict_environment,
)
from agent.process.in_terminal import Place, run_in_terminal
from agent.process.relay import Passing
from agent.process.run import Command, Finished, Started, kill_all, run, start
from agent.process.spill import Spilled, SpillStore
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
    "Background",
    "Capture",
    "Captured",
    "Command",
    "Finished",
    "Passing",
    "Place",
    "SpillStore",
    "Spilled",
    "Started",
    "Taken",
    "Terminal",
    "TerminalCommand",
    "TerminalExit",
    "TerminalLost",
    "TerminalMissing",
    "TerminalRefused",
    "TerminalText",
    "Terminals",
    "child_environment",
    "kill_all",
    "plain",
    "run",
    "run_in_terminal",
    "shell",
    "shell_argv",
    "start",
    "strict_environment",
]
