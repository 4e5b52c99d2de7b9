"""Whether processes that a test started are gone."""

from pathlib import Path


def gone(pid: int) -> bool:
    """Whether the process *pid* has ended; one that only nobody has waited for counts."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state in {"Z", "X"}


def pids_in(path: Path, count: int) -> list[int]:
    """The process ids that were written to *path*, [] before there are *count*."""
    words = path.read_text().split() if path.is_file() else []
    return [int(word) for word in words] if len(words) >= count else []
