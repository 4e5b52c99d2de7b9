"""The changes that a server describes, for a review that cannot revert parts of them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from agent.records.errors import NothingToDo
from agent.records.frozen import frozen
from agent.records.json import Json
from agent.records.messages import AssistantMessage, MessageWithParts
from agent.session.review.changes import ReviewedChanges
from agent.session.review.reviewed_file import ReviewedFile
from agent.session.undo import ChangeReader
from agent.store.store import Store
from agent.tools.files.unified_diff import parse_unified_diff
from agent.transfer.opencode_records import dicts_of, text_of
from app.remote.connection import Connection

NO_BASE = "On a server, changes can be compared only with the main branch: use /review branch."

NO_PULL_REQUESTS = "A server cannot show pull requests. Use /review where the server runs."


@frozen
class RemoteChanges:
    """The uncommitted changes and the branch of the server's project."""

    connection: Connection

    async def working_tree(self) -> ReviewedChanges:
        return ReviewedChanges("the working tree", await self._files("git"))

    async def branch(self, base: str) -> ReviewedChanges:
        if base:
            raise NothingToDo(NO_BASE)
        return ReviewedChanges("the changes since the main branch", await self._files("branch"))

    async def pull_request(self, number: str) -> ReviewedChanges:
        raise NothingToDo(NO_PULL_REQUESTS)

    async def _files(self, mode: str) -> tuple[ReviewedFile, ...]:
        return tuple(_reviewed(await self.connection.get("/vcs/diff", mode=mode)))


class RemoteChangeReader(ChangeReader):
    """The changes of turns, as the server has them."""

    def __init__(self, store: Store, connection: Connection) -> None:
        self._store = store
        self._connection = connection

    async def files(
        self, messages: Sequence[MessageWithParts], until: str | None = None
    ) -> tuple[ReviewedFile, ...]:
        """Return the changes of the prompts in *messages*: of all together where the server knows
        them, else of each."""
        prompts = list(dict.fromkeys(map(_prompt_id, messages)))
        if not prompts:
            return ()
        path = f"/session/{messages[0].message.session_id}/diff"
        found: list[ReviewedFile] = []
        if len(prompts) > 1:
            found += _reviewed(await self._connection.get(path))
        if not found:
            for prompt in prompts:
                found += _reviewed(await self._connection.get(path, messageID=prompt))
        return tuple(sorted(found, key=lambda file: file.block.path))


def _prompt_id(item: MessageWithParts) -> str:
    message = item.message
    return message.parent_id if isinstance(message, AssistantMessage) else message.id


def _reviewed(listed: Json) -> Iterable[ReviewedFile]:
    """Yield the files of a list of changes."""
    changes = {"added": "create", "deleted": "delete"}
    for each in dicts_of(listed):
        path, status = text_of(each.get("file")), text_of(each.get("status"))
        for parsed in parse_unified_diff(text_of(each.get("patch")), path):
            change = changes.get(status, parsed.block.change)
            yield ReviewedFile(replace(parsed.block, path=path, change=change))
