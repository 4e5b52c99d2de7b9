"""The hooks of sessions and turns: start and end, prompts, stops, compactions, notifications.

The engine that runs hooks is ``agent.hooks``; the hooks of tool calls are in
``agent.tools.core.call_hooks``, those of model requests in ``agent.session.prompt.request_hooks``.
"""

import asyncio
import json
import logging
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from agent.bus import Bus, Subscription
from agent.hooks.records import HookAnswer, HookCall, HookEvent
from agent.hooks.service import Hooks
from agent.records.blocks import TodoItem
from agent.records.errors import PromptRefused, SessionNotFound, StoreError
from agent.records.events import (
    Event,
    PermissionAsked,
    QuestionAsked,
    SessionDeleted,
    SessionIdle,
    TodoUpdated,
)
from agent.records.json import Json, JsonObject
from agent.records.messages import (
    AssistantMessage,
    Completed,
    Failed,
    MessageWithParts,
    Pending,
    ReasoningPart,
    Session,
    TextPart,
    ToolPart,
)
from agent.records.reminders import reminder
from agent.records.requests import CLAUDE_MODES, PermissionMode
from agent.records.tool_facts import claude_name_of
from agent.redact import without_known_secrets
from agent.session.api import PromptInput
from agent.store.store import Store

_FREQUENT = frozenset(
    {"PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "PreRequest"}
)
"""Events of single calls."""

log = logging.getLogger(__name__)

BLOCKED = "A hook refused this prompt: {reason}"
NO_SUMMARY = "A hook refused the summary: {reason}"
NO_REASON = "no reason given"
CONTINUE = "A hook that the user configured wants you to continue: {reason}"
CONTEXT = "A hook that the user configured adds:\n{context}"


class SessionHooks:
    """The hooks of an opened folder for the events of sessions."""

    def __init__(
        self,
        hooks: Hooks,
        bus: Bus,
        store: Store,
        directory: str,
        transcripts: Path,
        mode: Callable[[], PermissionMode],
    ) -> None:
        """*transcripts* is a folder for the messages of sessions, which programs can read; *mode*
        returns the permission mode."""
        self._mode = mode
        self._hooks = hooks
        self._transcripts = transcripts
        self._done: dict[str, frozenset[str]] = {}
        hooks.session_facts = self._facts
        self._bus = bus
        self._store = store
        self._directory = directory
        self._begun: dict[str, Session] = {}
        self._begun_children: set[str] = set()
        self._objected: dict[str, str] = {}
        self._following: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[object]] = set()

    def start(self) -> None:
        """Follow the events that trigger hooks on notifications and on the end of sessions."""
        if self._hooks.all and self._following is None:
            subscription = self._bus.subscribe(_triggers_hooks)
            self._following = asyncio.create_task(self._follow(subscription), name="hooks")

    @property
    def any(self) -> bool:
        """True if there are hooks."""
        return bool(self._hooks.all)

    async def close(self) -> None:
        """Run the end hooks of the sessions that were used."""
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait([self._following])
        for task in self._tasks:
            task.cancel()
        begun, self._begun = list(self._begun.values()), {}
        await asyncio.gather(*(self._end(session, "exit") for session in begun))
        await self._hooks.close()

    async def prompted(self, session: Session, prompt: PromptInput) -> PromptInput:
        """Return *prompt* with the context that hooks add. Raises ``PromptRefused`` if one
        refuses."""
        if not self._hooks.all:
            return prompt
        if session.parent_id is not None:
            return await self._task_given(session, prompt)
        contexts: list[str] = []
        if session.id not in self._begun:
            self._begun[session.id] = session
            source = "resume" if session.turns else "startup"
            started = await self._run_hooks("SessionStart", session.id, {"source": source}, source)
            contexts.append(started.context)
        answer = await self._run_hooks(
            "UserPromptSubmit", session.id, {"prompt": prompt.visible_text}
        )
        reason = answer.stop if answer.stop is not None else answer.reason
        if answer.decision == "deny" or answer.stop is not None:
            raise PromptRefused(BLOCKED.format(reason=reason or NO_REASON))
        contexts.append(answer.context)
        return _with_context(prompt, *contexts)

    async def _task_given(self, child: Session, prompt: PromptInput) -> PromptInput:
        """Return the *prompt* of a sub-agent with the context that hooks add to its first one."""
        if child.turns or child.id in self._begun_children:
            return prompt
        self._begun_children.add(child.id)
        kind = prompt.agent or child.agent
        details: JsonObject = {"agent_id": child.id, "agent_type": kind}
        answer = await self._run_hooks("SubagentStart", child.parent_id or child.id, details, kind)
        return _with_context(prompt, answer.context)

    async def stopping(self, message: AssistantMessage) -> str | None:
        """Return why the turn that ends with *message* must continue, None if no hook objects."""
        if not self._hooks.all:
            return None
        session = await self._store.session(message.session_id)
        event: HookEvent = "Stop" if session.parent_id is None else "SubagentStop"
        again = self._objected.get(session.id) == message.turn_id
        details: JsonObject = {"agent": message.agent, "stop_hook_active": again}
        about = ""
        if event == "SubagentStop":
            about = message.agent
            details |= {"agent_id": session.id, "agent_type": message.agent}
        answer = await self._run_hooks(event, session.id, details, about)
        if answer.decision != "deny" or answer.stop is not None:
            return None
        self._objected[session.id] = message.turn_id
        return reminder(CONTINUE.format(reason=answer.reason or NO_REASON))

    async def compacting(
        self, session_id: str, *, auto: bool, focus: str, template: str
    ) -> tuple[str, str]:
        """Return the focus of a summary, with what hooks add, and its template: *template*, or the
        one that a hook puts in its place.

        Raises ``PromptRefused`` for a compaction that the user requested and a hook refuses;
        an automatic compaction is never refused.
        """
        trigger = "auto" if auto else "manual"
        details: JsonObject = {
            "trigger": trigger,
            "custom_instructions": focus,
            "template": template,
        }
        answer = await self._run_hooks("PreCompact", session_id, details, trigger)
        if answer.decision == "deny" and not auto:
            raise PromptRefused(NO_SUMMARY.format(reason=answer.reason or NO_REASON))
        other = (answer.input or {}).get("template")
        kept = other.strip() if isinstance(other, str) and other.strip() else template
        return "\n".join(part for part in (focus, answer.context) if part), kept

    async def _follow(self, subscription: Subscription) -> None:
        with subscription:
            async for event in subscription:
                work = self._work(event)
                if work is not None:  # in a task, so that a slow hook blocks nothing
                    task = asyncio.ensure_future(work)
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)

    def _work(self, event: Event) -> Awaitable[object] | None:
        match event:
            case PermissionAsked(request=request):
                message = f"opencode-py asks about {request.tool}: {request.heading}"
                return self._notify(request.session_id, message, "permission_prompt")
            case QuestionAsked(question=question):
                return self._notify(question.session_id, "opencode-py has a question", "question")
            case SessionIdle(session_id=session_id) if session_id in self._begun:
                return self._notify(
                    session_id, "opencode-py is waiting for your input", "idle_prompt"
                )
            case SessionDeleted(session_id=session_id) if session_id in self._begun:
                return self._end(self._begun.pop(session_id), "deleted")
            case TodoUpdated(session_id=session_id, items=items):
                return self._tasks_completed(session_id, items)
            case _:
                return None

    async def _tasks_completed(self, session_id: str, items: Sequence[TodoItem]) -> None:
        """Run the hooks for the to-dos that are newly completed."""
        before = self._done.get(session_id, frozenset())
        done = {str(at): item.content for at, item in enumerate(items, 1) if _is_done(item)}
        self._done[session_id] = frozenset(done.values())
        for number, content in done.items():
            if content not in before:
                details: JsonObject = {"task_id": number, "task_subject": content}
                await self._run_hooks("TaskCompleted", session_id, details)

    async def _facts(self, call: HookCall) -> JsonObject:
        """Return what programs are told of a session: its messages as a file, written anew except
        for calls of tools, of which a turn can have hundreds; and its mode."""
        path = self._transcripts / f"{call.session_id}.jsonl"
        try:
            session = await self._store.session(call.session_id)
            if call.event not in _FREQUENT or not path.exists():
                messages = await self._store.messages(session.id)
                await asyncio.to_thread(write_transcript, path, messages, session.directory)
        except (SessionNotFound, StoreError, OSError) as error:
            log.warning("no transcript for a hook: %s", error)
            return {}
        mode = "plan" if session.agent == "plan" else CLAUDE_MODES[self._mode()]
        return {"transcript_path": str(path), "permission_mode": mode}

    def _notify(self, session_id: str, message: str, kind: str) -> Awaitable[object]:
        details: JsonObject = {"message": message, "notification_type": kind}
        return self._run_hooks("Notification", session_id, details, kind)

    async def _end(self, session: Session, reason: str) -> None:
        await self._run_hooks("SessionEnd", session.id, {"reason": reason}, reason)

    async def _run_hooks(
        self, event: HookEvent, session_id: str, details: JsonObject, about: str = ""
    ) -> HookAnswer:
        call = HookCall(
            event=event,
            session_id=session_id,
            directory=self._directory,
            about=about,
            details=details,
        )
        return await self._hooks.run(call)


def _triggers_hooks(event: Event) -> bool:
    followed = PermissionAsked | QuestionAsked | SessionIdle | SessionDeleted | TodoUpdated
    return isinstance(event, followed)


def _is_done(item: TodoItem) -> bool:
    return item.status == "completed"


def _with_context(prompt: PromptInput, *contexts: str) -> PromptInput:
    added = "\n".join(each for each in contexts if each)
    return replace(prompt, context=reminder(CONTEXT.format(context=added))) if added else prompt


# The messages of a session as JSON lines in Claude Code's form, which hooks read.


def write_transcript(path: Path, messages: Sequence[MessageWithParts], directory: str) -> None:
    """Write *messages* of a session in *directory* to *path*, readable by the user alone. Raises
    ``OSError``."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        for item in messages:
            for line in _lines(item, directory):
                file.write(without_known_secrets(json.dumps(line)) + "\n")


def _lines(item: MessageWithParts, directory: str) -> Iterator[JsonObject]:
    """Yield the lines of a message: its content, and then the results of its calls."""
    message = item.message
    content: list[Json] = []
    results: list[Json] = []
    for part in item.parts:
        match part:
            case TextPart(synthetic=False, text=text) if text:
                content.append({"type": "text", "text": text})
            case ReasoningPart(text=text) if text:
                content.append({"type": "thinking", "thinking": text})
            case ToolPart(state=state) if not isinstance(state, Pending):
                name = claude_name_of(part.tool) or part.tool
                call: JsonObject = {"type": "tool_use", "id": part.call_id, "name": name}
                content.append({**call, "input": state.input or {}})
                if isinstance(state, Completed | Failed):
                    failed = isinstance(state, Failed)
                    output = state.error if isinstance(state, Failed) else state.output
                    result: JsonObject = {"type": "tool_result", "tool_use_id": part.call_id}
                    results.append({**result, "content": output, "is_error": failed})
            case _:
                pass
    common: JsonObject = {
        "sessionId": message.session_id,
        "cwd": directory,
        "timestamp": datetime.fromtimestamp(message.created, UTC).isoformat(),
    }
    if content:
        sent: JsonObject = {"role": message.role, "content": content}
        if isinstance(message, AssistantMessage):
            sent["model"] = message.model
        yield {"type": message.role, "uuid": message.id, "message": sent, **common}
    if results:
        answer: JsonObject = {"role": "user", "content": results}
        yield {"type": "user", "uuid": f"{message.id}-results", "message": answer, **common}
