"""Mentioned files, read by the ``read`` tool itself.

So a folder, an image or a notebook comes out as it does for the model, and the file counts as read.
"""

from dataclasses import replace

from agent.files import FileTracker
from agent.permission.service import PermissionService
from agent.provider.client import ModelInfo
from agent.records.blocks import Block
from agent.records.errors import PermissionRejected, ToolError
from agent.records.ids import new_id
from agent.records.messages import FilePart, MessageWithParts, Part, Session, TextPart
from agent.records.requests import PermissionNeed, PermissionReply
from agent.session.api import Mention
from agent.tools.core.tool import ToolContext
from agent.tools.registry import Registry

HEADING = "Send this file to the model?"

ATTACHED = '<attached path="{path}">\n{text}\n</attached>'


class MentionReader:
    """Reads the files that prompts mention. The user named them, so permission is asked only for
    those that can contain secrets: their content leaves the machine with the prompt."""

    def __init__(
        self, registry: Registry, files: FileTracker, permissions: PermissionService
    ) -> None:
        self._registry = registry
        self._files = files
        self._permissions = permissions

    async def with_content(
        self,
        item: MessageWithParts,
        mentions: tuple[Mention, ...],
        session: Session,
        model: ModelInfo,
    ) -> MessageWithParts:
        """Return *item* with the content of its *mentions*. Raises ``ToolError`` for one that
        cannot be read."""
        parts: list[Part] = list(item.parts)
        for mention in mentions:
            parts += await self._read(mention, item, session, model)
        return MessageWithParts(item.message, tuple(parts))

    async def _read(
        self, mention: Mention, item: MessageWithParts, session: Session, model: ModelInfo
    ) -> list[Part]:
        message = item.message
        tool = self._registry.find("read_mcp_resource" if mention.server else "read")
        if tool is None and mention.server:
            raise ToolError(f"The MCP server {mention.server} is not connected: see /mcp.")
        if tool is None:
            raise ToolError("Files cannot be attached: the read tool is turned off.")
        context = ToolContext(
            session_id=session.id,
            root_id=session.id,
            message_id=message.id,
            call_id=new_id("cal"),
            agent=session.agent,
            directory=session.directory,
            project=session.project,
            files=self._files,
            progress=_ignore,
            ask=_asked_already,
            vision=model.vision,
            documents=model.documents,
        )
        given: dict[str, object] = {"file_path": mention.path}
        if mention.server:
            given = {"server": mention.server, "uri": mention.path}
        if mention.first is not None:
            given["offset"] = mention.first
            if mention.last is not None:
                given["limit"] = max(1, mention.last - mention.first + 1)
        plan = await tool.prepare(tool.args(**given), context)
        await self._ask_permission(mention, plan.needs, context)
        result = await tool.execute(plan, None, context)
        text = TextPart(
            id=new_id("prt"),
            session_id=session.id,
            message_id=message.id,
            text=ATTACHED.format(path=mention.path, text=result.output),
            started=message.created,
            ended=message.created,
            synthetic=True,
        )
        files: list[FilePart] = [replace(f, message_id=message.id) for f in result.files]
        return [text, *files]

    async def _ask_permission(
        self, mention: Mention, needs: tuple[PermissionNeed, ...], context: ToolContext
    ) -> None:
        asker = context.asking("read")
        reads = tuple(need for need in needs if need.permission == "read")
        try:
            if mention.server:  # the user named it; a deny still applies
                await self._permissions.raise_if_denied(asker, reads)
            else:
                await self._permissions.ask(asker, reads, HEADING)
        except PermissionRejected as error:
            why = error.message if error.by_rule else "it was not allowed."
            raise ToolError(f"{mention.path} is not attached: {why}") from error


def _ignore(text: str) -> None:
    """Ignore the progress of reading a file."""


async def _asked_already(
    needs: tuple[PermissionNeed, ...], heading: str, blocks: tuple[Block, ...] = (), /
) -> PermissionReply:
    return PermissionReply("once")
