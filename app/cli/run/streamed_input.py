"""``run --input-format stream-json``: a program sends prompts and answers on standard input.

Its lines are those that Claude Code's SDKs write. Each message of the user is a turn, and each turn
ends with a result line. Control requests work both ways: the program starts, interrupts and sets
the conversation, and with ``--permission-prompt-tool stdio`` it is asked what a run refuses
otherwise. What cannot work here is refused with the reason.
"""

import asyncio
import json
from argparse import Namespace
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import aclosing
from dataclasses import replace
from uuid import uuid4

from agent.records.errors import OpencodePyError
from agent.records.events import Event, PermissionReplied, QuestionReplied
from agent.records.json import Json, JsonObject
from agent.records.messages import Completed, ErrorInfo, Failed, FilePart, Running, Session
from agent.records.requests import (
    CLAUDE_MODES,
    PermissionMode,
    PermissionReply,
    PermissionRequest,
    Question,
    QuestionReply,
)
from agent.runtime.headless import DONE, FAILED, NOBODY_TO_ASK, HeadlessResult, HeadlessRun
from app.cli.command_support import report
from app.cli.run.foreign_formats import ClaudeLines
from app.cli.run.prompt_input import prompt_of
from app.terminal.input_lines import InputLines

MODES: Mapping[str, PermissionMode] = {
    "dontAsk": "ask",
    **{name: mode for mode, name in CLAUDE_MODES.items()},
}

UNSUPPORTED: Mapping[str, str] = {
    "hooks": "write hooks into the settings",
    "agents": "write agents into the settings or into agents/ of a config folder",
    "sdkMcpServers": "start MCP servers as programs, and write them under mcp in the settings",
    "jsonSchema": "describe the form of the answer in the prompt",
    "systemPrompt": "write instructions into AGENTS.md or into the prompt of an agent",
    "appendSystemPrompt": "write instructions into AGENTS.md or into the prompt",
    "plugins": "put plugins into plugins/ of a config folder",
    "skills": "every skill can be used; deny rules limit them",
}
"""Fields of ``initialize`` that a conversation here cannot have, with the alternative."""

CHANGED_INPUT = (
    "The program that was asked changed the arguments of the call, which only works for commands. "
    "The call was not run."
)
DENIED = "The call was refused."

Reply = Callable[[JsonObject], Awaitable[None]]


class Refused(Exception):
    """A control request that cannot work. The text is the reason."""


class StreamedRun:
    """The turns that the program behind *lines* asks for, in one session."""

    def __init__(
        self,
        arguments: Namespace,
        headless: HeadlessRun,
        session: Session,
        lines: InputLines,
        writer: ClaudeLines,
    ) -> None:
        self._arguments = arguments
        self._headless = headless
        self._runtime = headless.runtime
        self._session = session
        self._lines = lines
        self._writer = writer
        self._prompts: asyncio.Queue[JsonObject | None] = asyncio.Queue()
        self._requests: dict[str, str] = {}
        """Ids of control requests that wait for a response, by what they are about."""
        self._replies: dict[str, Reply] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended = False
        self._interrupted = False
        if arguments.permission_prompt_tool:
            headless.asker = self

    async def run(self) -> int:
        """Run a turn for each message until the input has ended. Return the exit code: that of the
        last turn, where a refused call is none of its own since the result line has it."""
        self._spawn(self._read())
        code = DONE
        try:
            while (message := await self._prompts.get()) is not None:
                code = await self._turn(message)
        finally:
            for task in self._tasks:
                task.cancel()
        return code

    async def interrupt(self) -> None:
        """End the running turn."""
        self._interrupted = True
        await self._headless.stop(self._session)

    # Requests to the user, as a HeadlessRun passes them on.

    def ask(self, request: PermissionRequest) -> None:
        if self._ended:
            self._runtime.permissions.refuse(request.id, NOBODY_TO_ASK)
        elif request.id not in self._requests:
            self._requests[request.id] = str(uuid4())
            self._spawn(self._ask(request))

    def ask_question(self, question: Question) -> None:
        if self._ended or not question.options:
            self._runtime.questions.decline(question.id, NOBODY_TO_ASK)
        elif question.id not in self._requests:
            self._requests[question.id] = str(uuid4())
            options: list[Json] = [
                {"label": each.label, "description": each.description} for each in question.options
            ]
            given: JsonObject = {
                "question": question.text,
                "header": question.header,
                "options": options,
                "multiSelect": question.multiple,
            }
            self._send_request(
                question.id,
                lambda answer: self._question_answered(question, answer),
                {"tool_name": "AskUserQuestion", "tool_use_id": question.id},
                {"questions": [given]},
            )

    async def _ask(self, request: PermissionRequest) -> None:
        found = await self._runtime.store.message(request.message_id)
        parts = found.parts if found is not None else ()
        part = next((p for p in parts if getattr(p, "call_id", "") == request.call_id), None)
        state = getattr(part, "state", None)
        given = state.input if isinstance(state, Running | Completed | Failed) else None
        rules: list[Json] = [
            {"toolName": self._writer.tool_name(permission), "ruleContent": pattern}
            for permission, pattern in request.always
        ]
        suggestion: JsonObject = {
            "type": "addRules",
            "rules": rules,
            "behavior": "allow",
            "destination": "session",
        }
        asked = [one for one in request.needs if one.action == "ask"]
        facts: JsonObject = {
            "tool_name": self._writer.tool_name(request.tool),
            "tool_use_id": part.id if part is not None else request.call_id,
            "permission_suggestions": [suggestion] if rules else [],
            "blocked_path": None,
            "decision_reason": "; ".join(dict.fromkeys(one.reason for one in asked if one.reason)),
            "title": request.heading,
            "description": "; ".join(one.need.shown or one.need.pattern for one in asked),
        }
        if request.callers:
            facts["agent_id"] = request.session_id
        shown = given or {}
        self._send_request(
            request.id,
            lambda answer: self._permission_answered(request, shown, answer),
            facts,
            shown,
        )

    def _send_request(self, about: str, reply: Reply, facts: JsonObject, given: JsonObject) -> None:
        number = self._requests.get(about)
        if number is None:  # settled meanwhile
            return
        self._replies[number] = reply
        self._writer.write(
            {
                "type": "control_request",
                "request_id": number,
                "request": {"subtype": "can_use_tool", **facts, "input": given},
            }
        )

    async def _permission_answered(
        self, request: PermissionRequest, given: JsonObject, answer: JsonObject
    ) -> None:
        service = self._runtime.permissions
        if answer.get("behavior") != "allow":
            comment = str(answer.get("message") or "") or DENIED
            service.reply(request.id, PermissionReply("reject", comment, by="policy"))
            if answer.get("interrupt"):
                await self.interrupt()
            return
        changed, command = answer.get("updatedInput"), None
        if isinstance(changed, dict) and changed != given:
            rest = {**changed, "command": given.get("command")}
            command = changed.get("command")
            if request.tool != "bash" or rest != given or not isinstance(command, str):
                service.refuse(request.id, CHANGED_INPUT)
                return
        always = bool(answer.get("updatedPermissions")) and bool(request.always)
        service.reply(
            request.id,
            PermissionReply("always" if always else "once", edited_command=command, by="policy"),
        )

    async def _question_answered(self, question: Question, answer: JsonObject) -> None:
        given = answer.get("updatedInput")
        answers = given.get("answers") if isinstance(given, dict) else None
        text = answers.get(question.text) if isinstance(answers, dict) else None
        if answer.get("behavior") != "allow" or not isinstance(text, str):
            reason = answer.get("message")
            self._runtime.questions.decline(question.id, str(reason or NOBODY_TO_ASK))
            return
        chosen = text.split(", ") if question.multiple else [text]
        known = {option.label for option in question.options}
        reply = (
            QuestionReply(tuple(chosen)) if known.issuperset(chosen) else QuestionReply(text=text)
        )
        self._runtime.questions.reply(question.id, reply)

    # Lines of the program.

    async def _read(self) -> None:
        try:
            while (line := await self._lines.next()) is not None:
                try:
                    message: Json = json.loads(line)
                except ValueError:
                    message = None
                if isinstance(message, dict):
                    await self._take(message)
                else:
                    report("A line of standard input is not a JSON object and was ignored.")
        finally:
            self._ended = True
            self._prompts.put_nowait(None)
            self._headless.answer_pending()

    async def _take(self, message: JsonObject) -> None:
        request, response = message.get("request"), message.get("response")
        match message.get("type"):
            case "user":
                self._prompts.put_nowait(message)
            case "control_request" if isinstance(request, dict):
                await self._answer(str(message.get("request_id")), request)
            case "control_response" if isinstance(response, dict):
                reply = self._replies.pop(str(response.get("request_id")), None)
                answer = response.get("response")
                failed: JsonObject = {"message": str(response.get("error") or "")}
                if reply is not None:
                    await reply(answer if isinstance(answer, dict) else failed)
            case _:
                pass  # such as keep_alive, or the withdrawal of a request that is answered at once

    async def _answer(self, request_id: str, request: JsonObject) -> None:
        response: JsonObject = {"request_id": request_id}
        try:
            made = await self._control(request)
            response |= {"subtype": "success", "response": made}
        except Refused as error:
            response |= {"subtype": "error", "error": str(error)}
        except OpencodePyError as error:
            response |= {"subtype": "error", "error": error.message}
        self._writer.write({"type": "control_response", "response": response})

    async def _control(self, request: JsonObject) -> JsonObject:
        match request.get("subtype"):
            case "initialize":
                return await self._initialize(request)
            case "interrupt":
                await self.interrupt()
            case "set_model":
                name = request.get("model")
                if isinstance(name, str):
                    self._runtime.catalog.model(name)
                self._arguments.model = name if isinstance(name, str) else None
            case "set_permission_mode":
                mode = str(request.get("mode"))
                if mode != "plan" and mode not in MODES:
                    raise Refused(f"There is no permission mode {mode} here.")
                self._arguments.agent = "plan" if mode == "plan" else None
                self._runtime.permissions.mode = MODES.get(mode, "ask")
            case "mcp_status":
                return {"mcpServers": self._writer.servers()}
            case other:
                raise Refused(f"opencode-py has no control request {other}.")
        return {}

    async def _initialize(self, request: JsonObject) -> JsonObject:
        for name, instead in UNSUPPORTED.items():
            if request.get(name) not in (None, [], [""], {}, ""):
                raise Refused(f"{name} cannot be passed to opencode-py: {instead}.")
        commands = await self._runtime.commands.all()
        model = self._runtime.catalog.default_model()
        return {
            "commands": [
                {"name": each.name, "description": each.description, "argumentHint": each.hint}
                for each in commands
            ],
            "agents": [
                {"name": each.name, "description": each.description}
                for each in self._runtime.agents.subagents()
            ],
            "output_style": "default",
            "available_output_styles": ["default"],
            "models": [{"value": model, "displayName": model, "description": ""}],
            "account": {},
        }

    async def _turn(self, message: JsonObject) -> int:
        self._interrupted = False
        run = replace(self._headless, refused=[], result=None)
        self._headless = run
        model = self._arguments.model or self._session.model
        self._writer.start(self._session, model or self._runtime.catalog.default_model())
        content = message.get("message")
        try:
            text, files = _content(content.get("content") if isinstance(content, dict) else None)
            prompt = await prompt_of(self._arguments, text, "", run, self._session)
            prompt = replace(prompt, files=(*prompt.files, *files))
            async with aclosing(run.run(self._session, prompt)) as events:
                async for event in events:
                    self._withdraw(event)
                    self._writer.take(event)
            ending = run.result or _failed("closed", "The run was interrupted.")
        except OpencodePyError as error:
            ending = _failed(type(error).__name__, error.message)
        self._writer.end(ending)
        if self._interrupted or ending.outcome in {"completed", "rejected"}:
            return DONE
        return ending.exit_code or FAILED

    def _withdraw(self, event: Event) -> None:
        """Withdraw the question about a request that is settled without the program's answer."""
        match event:
            case PermissionReplied(request_id=about) | QuestionReplied(question_id=about):
                number = self._requests.pop(about, "")
                if self._replies.pop(number, None) is not None:
                    self._writer.write({"type": "control_cancel_request", "request_id": number})
            case _:
                pass

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _content(content: Json) -> tuple[str, tuple[FilePart, ...]]:
    """Return the text and the files of a message's content.

    Raises ``OpencodePyError`` for a block that cannot be sent.
    """
    if isinstance(content, str):
        return content, ()
    texts: list[str] = []
    files: list[FilePart] = []
    for block in _objects(content):
        source = block.get("source")
        if block.get("type") == "text":
            texts.append(str(block.get("text") or ""))
        elif isinstance(source, dict) and source.get("type") == "base64":
            mime, data = str(source.get("media_type")), str(source.get("data"))
            files.append(FilePart(id="", session_id="", message_id="", mime=mime, data=data))
        else:
            raise OpencodePyError(f"A block of the kind {block.get('type')} cannot be sent.")
    return "\n".join(texts), tuple(files)


def _objects(content: Json) -> Iterable[JsonObject]:
    return (each for each in content if isinstance(each, dict)) if isinstance(content, list) else ()


def _failed(kind: str, message: str) -> HeadlessResult:
    error = ErrorInfo(kind, message)
    return HeadlessResult("failed", "", error, refused=(), usage=None, cost=None)
