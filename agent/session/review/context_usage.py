"""Context usage: the content of the model's window, by source."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from agent.provider.client import ToolSchema
from agent.records.frozen import frozen
from agent.records.messages import (
    AssistantMessage,
    CacheMiss,
    MessageWithParts,
    StepFinishPart,
    ToolPart,
    UserMessage,
)
from agent.records.usage import Usage
from agent.session.context.budget import (
    Budget,
    MessageWeight,
    estimate_tokens,
    message_weight,
    output_tokens,
    schema_tokens,
)
from agent.session.context.conversation import Conversation
from agent.session.context.token_meter import StepSettings, TokenMeter
from agent.session.prompt.environment_block import block_sections, server_label, server_texts
from agent.session.repository import SessionRepository
from agent.session.subagents.subagents import lineage_of
from agent.session.turn.turn_services import TurnServices

SourceGroup = Literal["system", "tools", "messages", "output"]

MESSAGE_LABELS = {
    "user_text": "your messages",
    "responses": "responses",
    "reasoning": "reasoning",
    "calls": "tool calls",
    "files": "attached files",
    "summary": "summary and pins",
    "reminders": "reminders",
    "overhead": "message overhead",
}
"""Labels of the kinds of ``MessageWeight``; tool output is listed by tool."""

SECTION_LABELS = {"instructions": "instruction files", "skills": "skills"}
"""Sections of the session block with a line of their own; the others are summed up."""


@frozen
class ContextSource:
    """One source of *tokens*. Its *name* in group ``tools`` is a tool or an MCP server with all its
    tools, in ``output`` the tool of the results."""

    group: SourceGroup
    name: str
    tokens: int


@frozen
class ContextUsage:
    """The content of a model's window."""

    model: str
    used: int
    """Tokens of the next request, the sum of *sources*."""
    measured: bool
    """True if the provider reported *used*; otherwise it is estimated."""
    window: int | None
    """None where the model's limits are not known, as *reserved*."""
    reserved: int | None
    sources: tuple[ContextSource, ...]
    last: Usage | None = None
    """The usage of the newest step, None where there is none."""
    misses: tuple[CacheMiss, ...] = ()
    """The steps of the conversation that missed the cache, newest first."""

    @property
    def free(self) -> int | None:
        """Tokens left before the conversation is shortened."""
        if self.window is None or self.reserved is None:
            return None
        return max(0, self.window - self.reserved - self.used)

    def in_group(self, group: SourceGroup) -> tuple[ContextSource, ...]:
        """Return the sources of a group, the largest first."""
        chosen = [source for source in self.sources if source.group == group]
        return tuple(sorted(chosen, key=lambda source: -source.tokens))

    def total(self, group: SourceGroup) -> int:
        return sum(source.tokens for source in self.sources if source.group == group)


def measure_context(
    setting: StepSettings,
    conversation: Conversation,
    meter: TokenMeter,
    servers: Mapping[str, str],
) -> ContextUsage:
    """Return the content of *conversation*'s next request. Estimates by source are scaled so that
    they add up to the meter's total. *servers* are those of tools by their names."""
    estimated = [
        *_system_sources(setting),
        *_tool_sources(setting, servers),
        *_message_sources(conversation.visible),
    ]
    used, whole = meter.used_tokens(setting), sum(source.tokens for source in estimated)
    budget: Budget | None = meter.budget(setting)
    return ContextUsage(
        model=setting.model.full_name,
        used=used,
        measured=meter.reported_tokens(setting) is not None,
        window=budget.window if budget else None,
        reserved=budget.reserved if budget else None,
        sources=_scaled(estimated, used, whole),
        last=next(_usages(conversation.all), None),
        misses=tuple(_misses(conversation.all)),
    )


def _usages(messages: Sequence[MessageWithParts]) -> Iterator[Usage]:
    for item in reversed(messages):
        if isinstance(item.message, AssistantMessage) and item.message.usage is not None:
            yield item.message.usage


def _misses(messages: Sequence[MessageWithParts]) -> Iterator[CacheMiss]:
    for item in reversed(messages):
        for part in item.parts:
            if isinstance(part, StepFinishPart) and part.cache_miss is not None:
                yield part.cache_miss


def _system_sources(setting: StepSettings) -> Iterator[ContextSource]:
    head, block = setting.system
    yield ContextSource("system", "built-in instructions", estimate_tokens(head))
    sections = [(name, estimate_tokens(text)) for name, text in block_sections(block)]
    named = [(SECTION_LABELS[name], size) for name, size in sections if name in SECTION_LABELS]
    yield from (ContextSource("system", name, size) for name, size in named)
    # What servers say is counted with their tools.
    server_tokens = sum(estimate_tokens(text) for _, text in server_texts(block))
    rest = estimate_tokens(block) - sum(size for _, size in named) - server_tokens
    if rest > 0:
        yield ContextSource("system", "environment and mode", rest)


def _tool_sources(setting: StepSettings, servers: Mapping[str, str]) -> Iterator[ContextSource]:
    """Yield each built-in tool, and each server with all its tools and its instructions."""
    server_tokens = {
        server: estimate_tokens(text) for server, text in server_texts(setting.system[-1])
    }
    by_server: dict[str, list[ToolSchema]] = {}
    for tool in setting.tools:
        server = server_label(servers.get(tool.name, ""))
        if server:
            by_server.setdefault(server, []).append(tool)
        else:
            yield ContextSource("tools", tool.name, schema_tokens((tool,)))
    for server, tools in by_server.items():
        count = f"{len(tools)} tools" if len(tools) > 1 else "1 tool"
        size = schema_tokens(tools) + server_tokens.pop(server, 0)
        yield ContextSource("tools", f"{server} (MCP server, {count})", size)
    for server, size in server_tokens.items():
        yield ContextSource("tools", f"{server} (MCP server)", size)


def _message_sources(messages: Sequence[MessageWithParts]) -> Iterator[ContextSource]:
    total = MessageWeight()
    by_tool: dict[str, int] = {}
    for item in messages:
        total += message_weight(item)
        for part in item.parts:
            if isinstance(part, ToolPart):
                by_tool[part.tool] = by_tool.get(part.tool, 0) + output_tokens(part)
    kinds = (
        ContextSource("messages", word, getattr(total, kind))
        for kind, word in MESSAGE_LABELS.items()
    )
    yield from (source for source in kinds if source.tokens)
    yield from (ContextSource("output", tool, size) for tool, size in by_tool.items())


def _scaled(sources: Sequence[ContextSource], used: int, whole: int) -> tuple[ContextSource, ...]:
    """Return *sources* scaled to add up to *used*; the largest takes the rounding error."""
    factor = used / whole if whole else 0.0
    scaled = [ContextSource(s.group, s.name, round(s.tokens * factor)) for s in sources]
    if not scaled:
        return ()
    at = max(range(len(scaled)), key=lambda index: scaled[index].tokens)
    largest = scaled[at]
    off = used - sum(source.tokens for source in scaled)
    scaled[at] = ContextSource(largest.group, largest.name, largest.tokens + off)
    return tuple(scaled)


class ContextMeter:
    """Measures the context usage of the sessions of a folder."""

    def __init__(self, deps: TurnServices, folder: SessionRepository) -> None:
        self._deps = deps
        self._folder = folder

    async def measure(self, session_id: str | None, model: str, agent: str) -> ContextUsage:
        """Return the context of a next prompt to *agent* and *model* (``provider/model``) without
        the prompt itself; without a *session_id* in a new session.

        Raises ``SessionNotFound``, ``ModelNotFound`` or ``AgentNotFound``.
        """
        deps = self._deps
        if session_id is None:
            first, callers = Conversation([await self._first_message(agent, model)]), ()
            setting = deps.step_settings(agent, model, first, callers)
            conversation = Conversation()
        else:
            session = await deps.store.session(session_id)
            callers = (await lineage_of(deps.store, session)).callers
            stored = await deps.store.context_messages(session_id, before=session.undone_at)
            conversation = Conversation(item for item in stored if _is_sent(item))
            setting = deps.step_settings(agent, model, conversation, callers)
        meter = TokenMeter(
            session_id or "", conversation, deps.calibration, deps.compaction.reserved_tokens
        )
        servers = {tool.spec.name: tool.spec.server for tool in deps.registry}
        return await asyncio.to_thread(measure_context, setting, conversation, meter, servers)

    async def _first_message(self, agent: str, model: str) -> MessageWithParts:
        """Return the first message of a new session, with its context."""
        session = self._folder.draft(agent, model)
        message = UserMessage(
            id="", session_id=session.id, created=session.created, agent=agent, model=model
        )
        return await self._deps.system_prompt.with_session_block(
            session, MessageWithParts(message, ()), ()
        )


def _is_sent(item: MessageWithParts) -> bool:
    """Return whether a message is not queued."""
    return not isinstance(item.message, UserMessage) or item.message.turn_id is not None
