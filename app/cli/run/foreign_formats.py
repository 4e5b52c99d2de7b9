"""The JSON lines of other programs, for tools that read them: those of ``opencode run --format
json`` and of ``claude -p --output-format stream-json``.

Unknown costs are 0 there, since their readers expect a number.
"""

import json
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO
from uuid import uuid4

from agent.records import events
from agent.records.blocks import SubtaskBlock
from agent.records.frozen import frozen
from agent.records.ids import new_id
from agent.records.json import Json, JsonObject
from agent.records.messages import (
    AssistantMessage,
    Completed,
    ErrorInfo,
    Failed,
    Finish,
    Part,
    ReasoningPart,
    RetryPart,
    Running,
    Session,
    StepFinishPart,
    StepStartPart,
    TextPart,
    ToolPart,
    UserMessage,
    is_open,
)
from agent.records.requests import CLAUDE_MODES
from agent.records.tool_facts import claude_name_of
from agent.records.usage import Usage
from agent.runtime.headless import HeadlessResult
from agent.runtime.runtime import Runtime
from agent.transfer import opencode_shapes as shapes
from app.text.sanitize import sanitize

Clock = Callable[[], float]

FORMAT_VERSION = "2.1.0"
"""The version of Claude Code whose lines are written; the SDKs look for it."""


class _ForeignLines:
    """The part that both formats share: parts of the model, each once it is complete. Notices go to
    *err*, since the formats have no line for them."""

    def __init__(self, out: TextIO, err: TextIO, clock: Clock) -> None:
        self._out = out
        self._err = err
        self._clock = clock
        self._session = ""
        self._written: set[str] = set()
        self._users: set[str] = set()
        self._errors: list[ErrorInfo] = []

    def take(self, event: events.Event) -> None:
        match event:
            case events.MessageUpdated(message=UserMessage(id=message_id)):
                self._users.add(message_id)
            case events.MessageUpdated(message=AssistantMessage() as message):
                if self._first(message.id):
                    self._step_started(message)
            case events.PartUpdated(part=TextPart() | ReasoningPart() as part):
                users = part.message_id in self._users or getattr(part, "synthetic", False)
                if part.ended is not None and part.text and not users and self._first(part.id):
                    self._text(part)
            case events.PartUpdated(part=ToolPart() as part):
                if part.message_id not in self._users:
                    self._tool(part)
            case events.PartUpdated(part=StepFinishPart() as part):
                if self._first(part.id):
                    self._step_finished(part)
            case _:
                self._take_state(event)

    def _take_state(self, event: events.Event) -> None:
        """Take an event that is no part of a message."""
        match event:
            case events.ResponseEnded() as ended:
                self._response_ended(ended)
            case events.PartRemoved(part_id=part_id):
                self._removed(part_id)
            case events.SessionError(error=error):
                self._errors.append(error)
                self._error(error)
            case events.Notice(message=message):
                self._tell(message)
            case events.PartUpdated(part=RetryPart(change=change) as part) if change:
                self._tell(f"{change} {part.error.message}")
            case _:
                pass

    def _tell(self, sentence: str) -> None:
        """Write *sentence* to *err*, if that can be written."""
        with suppress(OSError):
            self._err.write(sanitize(sentence) + "\n")

    def _first(self, key: str) -> bool:
        """Return whether *key* comes for the first time."""
        known = key in self._written
        self._written.add(key)
        return not known

    def write(self, record: JsonObject) -> None:
        """Write *record* as a line."""
        self._out.write(json.dumps(record) + "\n")
        self._out.flush()

    def _step_started(self, message: AssistantMessage) -> None:
        raise NotImplementedError

    def _text(self, part: TextPart | ReasoningPart) -> None:
        raise NotImplementedError

    def _tool(self, part: ToolPart) -> None:
        raise NotImplementedError

    def _step_finished(self, part: StepFinishPart) -> None:
        raise NotImplementedError

    def _response_ended(self, ended: events.ResponseEnded) -> None:
        """Write nothing: most lines have no usage."""

    def _removed(self, part_id: str) -> None:
        """Write nothing: it was discarded for another attempt."""

    def _error(self, error: ErrorInfo) -> None:
        """Write nothing until the end."""


class OpencodeLines(_ForeignLines):
    """Writes the lines of ``opencode run --format json``: those of sub-agents are not among them,
    reasoning with *thinking* only."""

    def __init__(
        self, out: TextIO, err: TextIO, *, thinking: bool = False, clock: Clock = time.time
    ) -> None:
        super().__init__(out, err, clock)
        self._thinking = thinking

    def start(self, session: Session, model: str) -> None:
        self._session = session.id

    def end(self, ending: HeadlessResult) -> None:
        error = ending.error
        if error is None and ending.outcome == "cancelled":
            error = ErrorInfo("cancelled", "Interrupted.")
        if error is not None and error not in self._errors:
            self._error(error)

    def _step_started(self, message: AssistantMessage) -> None:
        own = StepStartPart(id=new_id("prt"), session_id=message.session_id, message_id=message.id)
        self._part("step_start", own)

    def _text(self, part: TextPart | ReasoningPart) -> None:
        if part.type == "text" or self._thinking:
            self._part(part.type, part)

    def _tool(self, part: ToolPart) -> None:
        if isinstance(part.state, Completed | Failed) and self._first(part.id):
            self._part("tool_use", part)

    def _step_finished(self, part: StepFinishPart) -> None:
        self._part("step_finish", part)

    def _error(self, error: ErrorInfo) -> None:
        # Some readers look for the message beside the name.
        self._send("error", error=shapes.error_shape(error) | {"message": error.message})

    def _part(self, kind: str, part: Part) -> None:
        if part.session_id == self._session:
            self._send(kind, part=shapes.part_shape(part))

    def _send(self, kind: str, **facts: Json) -> None:
        stamp = int(self._clock() * 1000)
        self.write({"type": kind, "timestamp": stamp, "sessionID": self._session, **facts})


@frozen
class _Line:
    """A line that waits for the end of its response."""

    session_id: str
    message_id: str
    part_id: str
    facts: JsonObject


_STOP_REASONS: dict[Finish | None, str] = {
    "stop": "end_turn",
    "tool-calls": "tool_use",
    "length": "max_tokens",
    "paused": "pause_turn",
    "content-filter": "refusal",
}
"""The Anthropic API's names of the reasons for which a response ends."""


class _PartialMessages:
    """Responses as the Anthropic API streams them, made of the changes of their parts: one block
    after the other, and each delta between the start and the end of its block.

    *send* takes a session and an event of its response.
    """

    def __init__(self, send: Callable[[str, JsonObject], None]) -> None:
        self._send = send
        self._counts: dict[str, int] = {}
        """The blocks so far of each message that has begun and not ended."""
        self._open: dict[str, str] = {}
        """The part of its open block, by message."""

    def begin_block(self, part: Part, message: JsonObject, block: JsonObject) -> None:
        """Begin the block of *part*, the first one of *message* with the message itself."""
        key = part.message_id
        if key not in self._counts:
            self._counts[key] = 0
            self._send(part.session_id, {"type": "message_start", "message": message})
        self.end_block(part.session_id, key)
        self._open[key] = part.id
        index = self._counts[key]
        event: JsonObject = {"type": "content_block_start", "index": index, "content_block": block}
        self._send(part.session_id, event)

    def add(self, delta: events.PartDelta, change: JsonObject) -> None:
        """Add to the open block. What comes after its end is in the complete line only."""
        if self._open.get(delta.message_id) == delta.part_id:
            event: JsonObject = {"type": "content_block_delta", "delta": change}
            event["index"] = self._counts[delta.message_id]
            self._send(delta.session_id, event)

    def end_block(self, session_id: str, message_id: str, part_id: str | None = None) -> None:
        """End the open block, with *part_id* only if it is that of this part."""
        if message_id in self._open and part_id in {None, self._open[message_id]}:
            del self._open[message_id]
            index = self._counts[message_id]
            self._send(session_id, {"type": "content_block_stop", "index": index})
            self._counts[message_id] += 1

    def end(self, ended: events.ResponseEnded) -> None:
        if self._counts.pop(ended.message_id, None) is not None:
            reason = _STOP_REASONS.get(ended.finish, ended.finish)
            delta: JsonObject = {"stop_reason": reason, "stop_sequence": None}
            usage = _claude_usage(ended.usage or Usage())
            event: JsonObject = {"type": "message_delta", "delta": delta, "usage": usage}
            self._send(ended.session_id, event)
            self._send(ended.session_id, {"type": "message_stop"})

    def discard(self, message_id: str) -> None:
        """Forget the response so far: another attempt begins the message anew."""
        self._counts.pop(message_id, None)
        self._open.pop(message_id, None)


class ClaudeLines(_ForeignLines):
    """Writes the lines of ``claude -p --output-format stream-json``, or with *only_result* the last
    of them. Lines of sub-agents name the call that started them. A run that could not begin has no
    runtime, and only a result.

    Each line of a response has its usage, so all wait for the end of the response, which is the
    first moment at which most providers tell it.
    """

    def __init__(
        self,
        out: TextIO,
        err: TextIO,
        runtime: Runtime | None,
        *,
        deltas: bool = False,
        only_result: bool = False,
        clock: Clock = time.time,
    ) -> None:
        super().__init__(out, err, clock)
        self._runtime = runtime
        self._reasoning: set[str] = set()
        self._partial = _PartialMessages(self._send_partial) if deltas else None
        self._only_result = only_result
        self._messages: dict[str, AssistantMessage] = {}
        self._usage: dict[str, Usage] = defaultdict(Usage)
        self._costs: dict[str, float] = defaultdict(float)
        self._calls: dict[str, str] = {}
        self._ended: dict[str, JsonObject] = {}
        """The usage of each response that has ended, by message."""
        self._held: dict[str, list[_Line]] = defaultdict(list)
        """The lines of those that have not."""
        self._total = 0.0
        self._begin()

    def _begin(self) -> None:
        """Begin a turn: its result line has figures of its own; those by model and the cost are of
        the whole run."""
        self._started = self._clock()
        self._response_time = 0.0
        self._messages.clear()
        self._denied: list[Json] = []
        self._stop_reason = ""

    def start(self, session: Session, model: str) -> None:
        """Write the line at the begin of a turn."""
        self._begin()
        self._session = session.id
        runtime = self._runtime
        assert runtime is not None, "a run that began has one"
        offered = runtime.agents.offered_tools(session.agent, runtime.registry.names_for(model))
        tools: list[Json] = [self.tool_name(name) for name in sorted(offered)]
        agents: list[Json] = [one.name for one in runtime.agents.subagents()]
        self._send(
            session.id,
            type="system",
            subtype="init",
            cwd=session.directory,
            tools=tools,
            mcp_servers=self.servers(),
            model=model,
            permissionMode=CLAUDE_MODES[runtime.permissions.mode],
            apiKeySource="none",
            slash_commands=[],
            agents=agents,
            output_style="default",
            claude_code_version=FORMAT_VERSION,
        )

    def end(self, ending: HeadlessResult) -> None:
        for message_id in tuple(self._held):
            self._release(message_id, None)
        subtype, spent = "success", int((self._clock() - self._started) * 1000)
        if ending.outcome == "limit_reached":
            subtype = "error_max_turns"
            if ending.error is not None and "$" in ending.error.message:
                subtype = "error_max_budget_usd"
        elif ending.outcome in {"failed", "cancelled"} or not ending.answer:
            subtype = "error_during_execution"
        failed = subtype != "success"
        error = ending.error.message if ending.error else "Interrupted."
        errors: JsonObject = {"errors": [error]} if failed else {}
        self._total += ending.cost or 0
        self._send(
            self._session,
            always=True,
            type="result",
            subtype=subtype,
            is_error=failed,
            duration_ms=spent,
            duration_api_ms=min(spent, int(self._response_time * 1000)),
            num_turns=sum(1 for m in self._messages.values() if m.session_id == self._session),
            result=ending.answer or (error if failed else ""),
            **errors,
            stop_reason=self._stop_reason or None,
            total_cost_usd=self._total,
            usage=_claude_usage(ending.usage or Usage()),
            modelUsage={
                model: {
                    "inputTokens": used.input - used.cache_read - used.cache_write,
                    "outputTokens": used.output,
                    "cacheReadInputTokens": used.cache_read,
                    "cacheCreationInputTokens": used.cache_write,
                    "webSearchRequests": 0,
                    "costUSD": self._costs[model],
                }
                for model, used in self._usage.items()
            },
            permission_denials=self._denied,
        )

    def _step_started(self, message: AssistantMessage) -> None:
        self._messages[message.id] = message

    def _text(self, part: TextPart | ReasoningPart) -> None:
        if isinstance(part, TextPart):
            self._said(part, {"type": "text", "text": part.text})
        else:
            self._said(part, {"type": "thinking", "thinking": part.text, "signature": ""})

    def _tool(self, part: ToolPart) -> None:
        state = part.state
        name = self.tool_name(part.tool)
        if not isinstance(state, Running | Completed | Failed):
            return
        for block in state.blocks:
            if isinstance(block, SubtaskBlock):
                self._calls[block.session_id] = part.id
        given = state.input or {}
        if self._first(part.id):
            self._said(part, {"type": "tool_use", "id": part.id, "name": name, "input": given})
        if isinstance(state, Running) or not self._first(f"{part.id} result"):
            return
        failed = isinstance(state, Failed)
        text = state.error if isinstance(state, Failed) else state.output
        if isinstance(state, Failed) and state.kind == "denied":
            self._denied.append({"tool_name": name, "tool_use_id": part.id, "tool_input": given})
        result: JsonObject = {"type": "tool_result", "tool_use_id": part.id, "content": text}
        content: list[Json] = [{**result, "is_error": failed}]
        message: JsonObject = {"role": "user", "content": content}
        self._add(part, {"type": "user", "message": message})

    def take(self, event: events.Event) -> None:
        if self._partial is not None:
            self._take_partial(self._partial, event)
        super().take(event)
        if self._partial is not None and isinstance(event, events.ResponseEnded):
            self._partial.end(event)

    def _take_partial(self, partial: _PartialMessages, event: events.Event) -> None:
        match event:
            case events.PartUpdated(part=TextPart() | ReasoningPart() | ToolPart() as part):
                message = self._messages.get(part.message_id)
                if message is not None and not is_open(part):
                    partial.end_block(part.session_id, part.message_id, part.id)
                elif message is not None and self._first(f"{part.id} block"):
                    usage = _claude_usage(Usage())
                    begun: JsonObject = {**self._message(message.id, []), "usage": usage}
                    partial.begin_block(part, begun, self._begun_block(part))
            case events.PartDelta(field="raw") as delta:
                partial.add(delta, {"type": "input_json_delta", "partial_json": delta.delta})
            case events.PartDelta() as delta:
                kind = "thinking" if delta.part_id in self._reasoning else "text"
                partial.add(delta, {"type": f"{kind}_delta", kind: delta.delta})
            case events.PartRemoved(message_id=message_id):
                partial.discard(message_id)
            case events.ResponseEnded(session_id=session_id, message_id=message_id):
                partial.end_block(session_id, message_id)
            case _:
                pass

    def _begun_block(self, part: TextPart | ReasoningPart | ToolPart) -> JsonObject:
        if isinstance(part, ToolPart):
            name = self.tool_name(part.tool)
            return {"type": "tool_use", "id": part.id, "name": name, "input": {}}
        if isinstance(part, TextPart):
            return {"type": "text", "text": ""}
        self._reasoning.add(part.id)
        return {"type": "thinking", "thinking": "", "signature": ""}

    def _send_partial(self, session_id: str, event: JsonObject) -> None:
        self._send(session_id, type="stream_event", event=event)

    def _response_ended(self, ended: events.ResponseEnded) -> None:
        self._release(ended.message_id, ended.usage)

    def _removed(self, part_id: str) -> None:
        for message_id, lines in self._held.items():
            self._held[message_id] = [line for line in lines if line.part_id != part_id]

    def _release(self, message_id: str, usage: Usage | None) -> None:
        """Write the lines of a response that has ended, or will not go on."""
        self._ended[message_id] = _claude_usage(usage or Usage())
        for line in self._held.pop(message_id, ()):
            self._add(line, line.facts)

    def _add(self, part: "Part | _Line", facts: JsonObject) -> None:
        """Write a line of a response, now or at its end."""
        usage = self._ended.get(part.message_id)
        if usage is None:
            key = part.part_id if isinstance(part, _Line) else part.id
            self._held[part.message_id].append(_Line(part.session_id, part.message_id, key, facts))
            return
        message = facts["message"]
        if facts["type"] == "assistant" and isinstance(message, dict):
            facts = {**facts, "message": {**message, "usage": usage}}
        if not self._only_result:
            self._write(part.session_id, facts)

    def _step_finished(self, part: StepFinishPart) -> None:
        self._release(part.message_id, part.usage)
        message = self._messages.get(part.message_id)
        if message is None:
            return
        self._response_time += max(0.0, self._clock() - message.created)
        self._usage[message.model] += part.usage or Usage()
        self._costs[message.model] += part.cost or 0
        if part.session_id == self._session:
            self._stop_reason = _STOP_REASONS.get(part.finish, part.finish or "")

    def _said(self, part: TextPart | ReasoningPart | ToolPart, block: JsonObject) -> None:
        said = self._message(part.message_id, [block])
        self._add(part, {"type": "assistant", "message": said})

    def _message(self, message_id: str, content: list[Json]) -> JsonObject:
        message = self._messages.get(message_id)
        return {
            "id": message_id,
            "type": "message",
            "role": "assistant",
            "model": message.model if message else "",
            "content": content,
            "stop_reason": None,
            "stop_sequence": None,
        }

    def servers(self) -> list[Json]:
        """Return the MCP servers with their states."""
        statuses = self._runtime.mcp.statuses() if self._runtime else ()
        return [{"name": one.server.name, "status": one.state} for one in statuses]

    def tool_name(self, tool: str) -> str:
        """Return Claude Code's name for *tool*."""
        for status in self._runtime.mcp.statuses() if self._runtime else ():
            for name, definition in status.tools:
                if name == tool:
                    return f"mcp__{status.server.name}__{definition.name}"
        return claude_name_of(tool) or tool

    def _send(self, session_id: str, *, always: bool = False, **facts: Json) -> None:
        if always or not self._only_result:
            self._write(session_id, facts)

    def _write(self, session_id: str, facts: JsonObject) -> None:
        caller = self._calls.get(session_id)
        ids: JsonObject = {"session_id": self._session, "uuid": str(uuid4())}
        if facts["type"] not in {"system", "result"}:
            ids["parent_tool_use_id"] = caller
        self.write({**facts, **ids})


def _claude_usage(used: Usage) -> JsonObject:
    return {
        "input_tokens": used.input - used.cache_read - used.cache_write,
        "cache_creation_input_tokens": used.cache_write,
        "cache_read_input_tokens": used.cache_read,
        "output_tokens": used.output,
    }
