"""What commands printed: as the transcript keeps it, and in words about shells for the model."""

from agent.process import Taken
from agent.records.blocks import ShellBlock
from agent.records.shells import ShellInfo
from agent.tools.core.truncate import Limits, count_lines, cut

SHOWN = Limits(lines=200, bytes=10_000)
"""What the transcript keeps of an output."""


def shell_block(
    command: str, printed: str, exit_code: int | None, note: str = "", *, lines: int | None = None
) -> ShellBlock:
    """*command* with the end of *printed*, which was *lines* long where it is not all of it."""
    output = cut(printed, SHOWN, "tail")
    kept = output.count("\n") + 1
    total = count_lines(printed) if lines is None else lines
    return ShellBlock(command, output, exit_code, note, max(0, total - kept))


def seconds(duration: float) -> str:
    """*duration* (seconds) as people say it: ``4.2s``, ``2m05s``."""
    if duration < 60:
        return f"{duration:.1f}s"
    return f"{int(duration) // 60}m{int(duration) % 60:02d}s"


def describe_shell(info: ShellInfo) -> str:
    """One sentence on how a shell stands."""
    if info.ended is None:
        return f"{info.id} is running."
    took = seconds(info.ended - info.started)
    match info.state:
        case "killed":
            return f"{info.id} was ended after {took}."
        case "timed out":
            return f"{info.id} was ended at its time limit, after {took}."
        case _ if info.exit_code is None:
            return f"{info.id} was ended by {info.signal or 'a signal'} after {took}."
        case _:
            return f"{info.id} ended with exit code {info.exit_code} after {took}."


def shell_output(taken: Taken, notes: tuple[str, ...]) -> str:
    """What came since the last look, and *notes*."""
    dropped = (
        [f"[{taken.dropped:,} characters before this were dropped: they came too fast.]"]
        if taken.dropped
        else []
    )
    text = taken.text.rstrip("\n") or "(no new output)"
    return "\n".join((*dropped, text, "", *(f"({note})" for note in notes)))
