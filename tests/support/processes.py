"""Checks that processes started by a test are gone."""

from pathlib import Path

from agent.process.tree import descendants

LASTING = (b"watchdog_child.py", b"\0serve\0")
"""In the command lines of the processes that the program keeps for all commands: one ends what it
leaves, one starts sandboxes. The first test of a run that needs one starts it."""


def living() -> set[int]:
    """Return the processes that were started and live, without those that the program keeps."""
    return {info.pid for info in descendants() if not info.zombie and not _lasts(info.pid)}


def _lasts(pid: int) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return any(word in words for word in LASTING)


def gone(pid: int) -> bool:
    """Return whether the process *pid* has ended; a zombie counts as ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state in {"Z", "X"}


def pids_in(path: Path, count: int) -> list[int]:
    """Return the process ids written to *path*, [] before there are *count*."""
    words = path.read_text().split() if path.is_file() else []
    return [int(word) for word in words] if len(words) >= count else []
