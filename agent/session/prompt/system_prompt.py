"""The system prompt: its two blocks, and reminders of changes.

The sent context is recorded in the history itself (``ContextPart``), so it is the same after a
restart, in a fork and for every request: nothing ahead of the history ever changes.
"""

import asyncio
import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from agent.agents import AgentInfo, Agents, lineage
from agent.bus import Bus
from agent.permission.rules import deciding_rule
from agent.process import SpillStore
from agent.provider.client import ModelInfo
from agent.records.context_parts import ContextPart
from agent.records.events import Notice
from agent.records.ids import new_id
from agent.records.messages import MessageWithParts, Session, UserMessage
from agent.session.context.conversation import Conversation
from agent.session.context.pins import late_pins
from agent.session.prompt.environment_block import (
    FILE_TOPIC,
    MODE_TEMPLATES,
    PINNED_TOPIC,
    SERVER_TOPIC,
    Environment,
    iso_date,
    read_git_state,
)
from agent.session.prompt.guidance import Guidance
from agent.session.prompt.instructions import Instruction
from agent.session.prompt.templates import system_head
from agent.skills import skill_list
from agent.store import queries
from agent.store.store import Store
from agent.tools.registry import NOT_CONNECTED, Registry


class SystemPrompt:
    """Builds the system prompt and reminders. Built once; each history records its own context."""

    def __init__(
        self,
        *,
        agents: Agents,
        guidance: Guidance,
        bus: Bus,
        store: Store,
        registry: Registry,
        spills: SpillStore,
        prompts: Mapping[str, str],
        attended: bool = True,
        now: Callable[[], dt.datetime] = lambda: dt.datetime.now().astimezone(),
    ) -> None:
        """*prompts* are the user's own heads by model family; *spills* keeps pinned texts that
        are too long to be sent whole; *attended* is false if no user can answer; *now* returns
        the local time."""
        self._agents = agents
        self._guidance = guidance
        self._bus = bus
        self._store = store
        self._registry = registry
        self._spills = spills
        self._prompts = prompts
        self._attended = attended
        self._now = now
        self._notified: set[str] = set()

    def head(self, agent: AgentInfo, model: ModelInfo) -> str:
        """Return the static block for a model and an agent."""
        return system_head(model.wire_id or model.id, agent.prompt, self._prompts)

    async def add_context(
        self,
        session: Session,
        newest: UserMessage,
        conversation: Conversation,
        callers: tuple[str, ...],
    ) -> None:
        """Add the context to *conversation* that goes with its *newest* message, which was not sent
        yet: the session block where there is none, else a reminder of later changes."""
        context = conversation.context
        if session_block(context):
            if newest.synthetic:
                return
            now = await self._environment(session, newest, callers, fresh=False)
            now = replace(now, pinned=await self._pinned(session, conversation))
            topics = known_facts(context)
            reminder = now.reminder(topics)
            part = _context_part(newest, now, reminder=reminder, known=topics) if reminder else None
        else:
            now = await self._environment(session, newest, callers, fresh=True)
            part = _context_part(newest, now, block=now.session_block())
        if part is None:
            return
        await self._store.save(part)
        conversation.replace_all(
            [
                _with_part(item, part) if item.message.id == newest.id else item
                for item in conversation.all
            ]
        )

    async def with_session_block(
        self, session: Session, marker: MessageWithParts, callers: tuple[str, ...]
    ) -> MessageWithParts:
        """Return *marker*, where the history begins anew, with a session block of the present."""
        message = marker.message
        assert isinstance(message, UserMessage)  # a marker always is one
        now = await self._environment(session, message, callers, fresh=True)
        pinned = await self._store.read(
            queries.pinned_ids, session.id
        )  # the marker itself holds them
        now = replace(now, pinned=dict.fromkeys(sorted(pinned), ""))
        return _with_part(marker, _context_part(message, now, block=now.session_block()))

    async def nested_instructions(
        self,
        session: Session,
        conversation: Conversation,
        touched: Iterable[str],
        claimed: set[str],
    ) -> tuple[Instruction, ...]:
        """Return the instructions of deeper folders for a call that *touched* files (real paths),
        each once: without those in the session block, those that *conversation* shows, and those
        *claimed* by an earlier call of the step."""
        topics = known_facts(conversation.context)
        known = {topic.removeprefix(FILE_TOPIC) for topic in topics if topic.startswith(FILE_TOPIC)}
        shown = claimed.union(conversation.attached_instructions)
        found: list[Instruction] = []
        for path in touched:
            collected = await self._guidance.instructions.nested(
                path, session.directory, session.project, frozenset(known)
            )
            self._notify(collected.notes)
            for each in collected.files:
                if each.fingerprint not in shown:
                    shown.add(each.fingerprint)
                    claimed.add(each.fingerprint)
                    found.append(each)
        return tuple(found)

    async def _environment(
        self, session: Session, newest: UserMessage, callers: tuple[str, ...], *, fresh: bool
    ) -> Environment:
        """Return the present environment; with *fresh*, the addresses of instructions are requested
        again and the newest commits are read."""
        agent = newest.agent
        collected, repository, skills = await asyncio.gather(
            self._guidance.instructions.collect(session.directory, session.project, fetch=fresh),
            read_git_state(session.directory, history=fresh),
            self._skills(agent, callers),
        )
        self._notify(collected.notes)
        return Environment(
            directory=session.directory,
            project=session.project,
            date=iso_date(self._now()),
            git=repository,
            model=newest.model,
            mode=MODE_TEMPLATES.get(agent, ""),
            skills=skills,
            instructions=collected.files,
            server_instructions=self._server_instructions(agent, callers),
            attended=self._attended,
        )

    async def _pinned(self, session: Session, conversation: Conversation) -> Mapping[str, str]:
        """Return the pinned messages of a *conversation* that was compacted."""
        if conversation.marker is None:
            return {}
        pinned = await self._store.read(queries.pinned_ids, session.id)
        topics = known_facts(conversation.context)
        known = {
            topic.removeprefix(PINNED_TOPIC) for topic in topics if topic.startswith(PINNED_TOPIC)
        }
        known |= {item.message.id for item in conversation.visible}
        read = [await self._store.message(each) for each in sorted(pinned - known)]
        found = [item for item in read if item is not None]
        said = await asyncio.to_thread(late_pins, found, self._spills.save_or_explain)
        return {each: said.get(each, "") for each in sorted(pinned)}

    def _server_instructions(self, agent: str, callers: tuple[str, ...]) -> dict[str, str]:
        """Return the instructions of the servers that offer the agent a tool, and a text on those
        that failed."""
        registry = self._registry
        offered = self._agents.offered_tools(agent, registry.names, callers)
        heard = {tool.spec.server for tool in registry if tool.spec.name in offered}
        return {
            server: text
            for server, text in registry.server_instructions.items()
            if server in heard or text == NOT_CONNECTED
        }

    async def _skills(self, agent: str, callers: tuple[str, ...]) -> str:
        """Return the list of skills that the agent can load."""
        found = await self._guidance.find_skills()
        self._notify(found.notes)
        agents = self._agents
        if "skill" not in agents.offered_tools(agent, ("skill",), callers):
            return ""
        sets = [agents.rules(name, child=child) for name, child in lineage(agent, callers)]

        def denied(name: str) -> bool:
            ruling = (deciding_rule("skill", name, rules, trusted=True) for rules in sets)
            return any(rule is not None and rule.action == "deny" for rule in ruling)

        return skill_list(s for s in found.skills.values() if not denied(s.name))

    def _notify(self, notes: Iterable[str]) -> None:
        """Publish each note once for as long as the program runs."""
        for note in notes:
            if note not in self._notified:
                self._notified.add(note)
                self._bus.publish(Notice(note))


def _context_part(
    message: UserMessage,
    now: Environment,
    *,
    block: str | None = None,
    reminder: str = "",
    known: Mapping[str, str] | None = None,
) -> ContextPart:
    # What a server said is not said again when it comes back after a while.
    heard = {topic: fact for topic, fact in (known or {}).items() if topic.startswith(SERVER_TOPIC)}
    return ContextPart(
        id=new_id("prt"),
        session_id=message.session_id,
        message_id=message.id,
        block=block,
        reminder=reminder,
        facts=heard | now.facts(),
    )


def _with_part(item: MessageWithParts, part: ContextPart) -> MessageWithParts:
    return MessageWithParts(item.message, (*item.parts, part))


def session_block(context: Sequence[ContextPart]) -> str:
    """Return the session block of the system prompt that is in force, "" without one."""
    return next((part.block for part in reversed(context) if part.block is not None), "")


def known_facts(context: Sequence[ContextPart]) -> Mapping[str, str]:
    """Return the facts that the model knows of the environment, by topic."""
    return context[-1].facts if context else {}


def useful_tools(tools: Iterable[str], context: Sequence[ContextPart]) -> tuple[str, ...]:
    """Return *tools* without the one that loads skills where the model knows of no skill."""
    skills = known_facts(context).get("skills")
    return tuple(tool for tool in tools if tool != "skill" or skills)
