"""Why a server does not work, as a sentence for the user."""

from collections.abc import Iterator

from agent.mcp.records import LinkLost, Server

LONGEST = 300
"""Characters of a reason."""


def leaves(error: BaseException) -> Iterator[BaseException]:
    """*error*, or what it holds if it is a group of several."""
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - of any kind
            yield from leaves(one)  # pyright: ignore[reportUnknownArgumentType] - as above
    else:
        yield error


def never_starts(error: BaseException | None) -> bool:
    """Whether trying again is of no use: the program is not there, or may not be run."""
    kinds = FileNotFoundError | PermissionError | NotADirectoryError
    return error is not None and any(isinstance(one, kinds) for one in leaves(error))


def reason_of(error: BaseException | None, server: Server, log: str, *, late: bool) -> str:
    """What went wrong. *late*: its time was over; *log* is the end of its error stream."""
    if late:
        return _with_log(f"It was not ready within {server.connecting:g} seconds.", log)
    if error is None:
        return _with_log("It ended the connection.", log)
    found = list(leaves(error))
    first = next((one for one in found if not isinstance(one, LinkLost)), found[0])
    if isinstance(first, FileNotFoundError | NotADirectoryError) and server.command:
        if not server.folder.is_dir():
            return f"There is no folder {server.folder} to start it in."
        return f"There is no program {server.command[0]} on this machine's PATH."
    if isinstance(first, PermissionError) and server.command:
        return f"{server.command[0]} may not be run (permission denied)."
    if isinstance(first, LinkLost):
        return _with_log("It ended the connection.", log)
    said = " ".join(str(first).split()) or type(first).__name__
    if server.remote and type(first).__name__ in _UNREACHED:
        return f"Nothing answers at {server.url}: {said}"[:LONGEST]
    return _with_log(said[:LONGEST].rstrip(".") + ".", log)


_UNREACHED = frozenset({"ConnectError", "ConnectTimeout", "ConnectionRefusedError"})


def _with_log(sentence: str, log: str) -> str:
    """*sentence*, and the last line that the program printed on its error stream."""
    last = next((line.strip() for line in reversed(log.splitlines()) if line.strip()), "")
    return f"{sentence} It said: {last[:LONGEST]}" if last else sentence
