"""The programs of servers, found by a mark in their environment wherever they went."""

import signal

from agent.process.tree import LINUX, MARKER, Tree

__all__ = ["MARKER", "end_program"]


def end_program(mark: str) -> None:
    """End what was started with *mark* in its environment, and all that came of it. Blocks for
    a look at the process table. Elsewhere than on Linux the SDK's own end has to do."""
    if LINUX:
        tree = Tree(mark, session=-1)
        tree.shell_reaped = True  # there is no group to signal, only processes with the mark
        tree.signal_all(signal.SIGKILL)
