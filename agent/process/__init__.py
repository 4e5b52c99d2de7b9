"""Commands as child processes: run, captured in bounded memory, and ended with all they started.

``run`` starts one command and waits for its shell; ``kill_all`` ends everything that is
left, at program exit. See ``agent.process.run`` for what is promised.
"""

from agent.process.background import Background
from agent.process.capture import Capture, Captured, Taken, plain
from agent.process.environment import child_environment, shell, shell_argv, strict_environment
from agent.process.run import Command, Finished, Started, kill_all, run, start
from agent.process.spill import Spilled, SpillStore

__all__ = [
    "Background",
    "Capture",
    "Captured",
    "Command",
    "Finished",
    "SpillStore",
    "Spilled",
    "Started",
    "Taken",
    "child_environment",
    "kill_all",
    "plain",
    "run",
    "shell",
    "shell_argv",
    "start",
    "strict_environment",
]
