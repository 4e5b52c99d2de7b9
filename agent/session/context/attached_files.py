"""Attached files that are no longer sent after a provider refused their number or size."""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import replace

from agent.records.errors import FileLimit
from agent.records.messages import Completed, FilePart, MessageWithParts, ToolPart
from agent.session.context.compaction_markers import first_unanswered
from agent.tools.files.media import examine

MIN_REQUEST_SHARE = 1_000_000
"""Characters of attached files below which they cannot be why a request is too large."""

_Holder = FilePart | ToolPart


def omit_files(
    messages: Sequence[MessageWithParts], limit: FileLimit, now: float, *, everything: bool = False
) -> tuple[list[_Holder], int]:
    """Return the parts of *messages* with files marked as omitted, and the number of these files.

    The oldest files are omitted, or those that exceed the size that *limit* names; *everything*
    omits all. Nothing is returned if no attached file can be the reason for the refusal. Blocks.
    """
    attached = [
        (part, file)
        for part, file in _attached(messages)
        if not limit.images_only or file.mime.startswith("image/")
    ]
    files = [file for _, file in attached]
    # The last step's results are new too: the model has not responded to them.
    new = sum(1 for _ in _attached(messages[max(0, first_unanswered(messages) - 1) :]))
    omitted = files if everything else _chosen(files, limit, new)
    marked = {id(file): replace(file, omitted=now) for file in omitted}
    changed: dict[int, _Holder] = {id(p): p for p, file in attached if id(file) in marked}
    return [_with_files(part, marked) for part in changed.values()], len(marked)


def _attached(messages: Sequence[MessageWithParts]) -> Iterator[tuple[_Holder, FilePart]]:
    """Yield the files that are sent, oldest first, each with the part that contains it."""
    for item in messages:
        for part in item.parts:
            match part:
                case FilePart():
                    yield from ((part, file) for file in (part,) if _is_sent(file))
                case ToolPart(state=Completed(compacted=None) as state):
                    yield from ((part, file) for file in state.files if _is_sent(file))
                case _:
                    pass


def _is_sent(file: FilePart) -> bool:
    return file.data is not None and file.omitted is None


def _chosen(files: Sequence[FilePart], limit: FileLimit, new: int) -> Sequence[FilePart]:
    """Return the files to omit. *new* is the number of files that the model has not seen yet."""
    if limit.whole_request and sum(len(file.data or "") for file in files) < MIN_REQUEST_SHARE:
        return ()
    if large := [file for file in files if _exceeds(file, limit)]:
        return large
    kept = len(files) // 2
    if limit.count is not None:
        # Some room, so that the next image does not exceed the limit again.
        kept = min(limit.count, max(1, limit.count * 3 // 4, new), len(files) - 1)
    return files[: len(files) - max(0, kept)]


def _exceeds(file: FilePart, limit: FileLimit) -> bool:
    data = file.data or ""
    if limit.size is not None and len(data) > limit.size:
        return True
    if limit.pixels is None:
        return False
    try:
        media = examine(base64.b64decode(data))
    except ValueError:
        return True
    return max(media.width, media.height) > limit.pixels


def _with_files(part: _Holder, marked: dict[int, FilePart]) -> _Holder:
    if isinstance(part, FilePart):
        return marked[id(part)]
    assert isinstance(part.state, Completed)  # only these have files
    files = tuple(marked.get(id(file), file) for file in part.state.files)
    return replace(part, state=replace(part.state, files=files))
