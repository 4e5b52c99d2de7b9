"""Checks that processes started by a test are gone."""

from pathlib import Path


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
