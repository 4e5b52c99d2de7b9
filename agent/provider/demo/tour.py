"""The guided tour: its next stage, and the conditions for starting it.

Stages whose tools are not offered are skipped.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import replace

from agent.provider.client import (
    ModelRequest,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StepFinish,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from agent.provider.demo.conversation import (
    Call,
    CompletedCall,
    Conversation,
    Reply,
    count_entries,
    count_matches,
    count_phrase,
    failure_sentence,
    file_paths,
    read_conversation,
)
from agent.provider.demo.responses import CONNECT, INTRODUCTION, respond, todo_items
from agent.provider.demo.user_requests import Continue, Tour, parse_request
from agent.records.frozen import frozen

SCRATCH_FILE = "opencode-py-demo.txt"
"""The scratch file, in the opened folder; the last stage offers to remove it."""


@frozen
class TourProgress:
    """The progress of a tour."""

    conversation: Conversation
    completed_calls: tuple[CompletedCall, ...]
    previous_calls: tuple[CompletedCall, ...]

    def last_call(self, stage: str) -> CompletedCall | None:
        """Return the call of *stage*, None before it was made."""
        return next(
            (call for call in reversed(self.completed_calls) if stage_of(call) == stage), None
        )

    def succeeded(self, stage: str) -> bool:
        call = self.last_call(stage)
        return call is not None and not call.failed


def stage_of(call: CompletedCall) -> str:
    """Return the stage that makes *call*."""
    match call.tool:
        case "bash":
            return "remove" if call.argument("command").startswith("rm ") else "command"
        case "read" if call.argument("file_path") == SCRATCH_FILE:
            return "read again"
        case "todowrite":
            items = call.input.get("todos")
            states = [i.get("status") for i in items if isinstance(i, dict)] if isinstance(
                items, list
            ) else []  # fmt: skip
            if all(state in {"completed", "cancelled"} for state in states):
                return "tidy"
            return "plan" if all(state == "pending" for state in states) else "mark"
        case name:
            return name


_TEXT = "The first line.\nThis word is plain.\nThe last line.\n"
_OLD, _NEW = "This word is plain.", "This word is changed."
_LOOP = f'for n in 1 2 3; do echo "line $n" | tee -a {SCRATCH_FILE}; sleep 0.5; done'
_REMOVE = f"rm {SCRATCH_FILE}"

# The to-do list: the text of an item, its stage, and the tools that it needs.
_PLAN = (
    ("Write a scratch file", "write", ("write",)),
    ("Change one line of it", "edit", ("write", "edit")),
    ("Run a command", "command", ("bash",)),
    ("Clean up", "remove", ("write", "bash")),
)


@frozen
class Stage:
    """One stage of the tour."""

    name: str
    tools: tuple[str, ...]
    build: Callable[[TourProgress], Reply]
    is_possible: Callable[[TourProgress], bool] = lambda _: True


def _list_folder(_: TourProgress) -> Reply:
    return Reply(
        "**Reasoning** came first, above this text. What follows is a **tool call**: a row that "
        "shows what is being done and, at its right, the result. "
        "First I list this folder.",
        (Call("list", {}),),
    )


def _read(progress: TourProgress) -> Reply:
    listing = progress.last_call("list")
    found = file_paths(listing.output) if listing is not None and not listing.failed else []
    text = _outcome(progress)
    if listing is not None and not listing.failed:
        number = count_entries(listing.output)
        text = f"The folder shows {count_phrase(number, 'entry', 'entries')}."
    readme = next((name for name in found if name.lower().startswith("readme")), None)
    path = readme or next((name for name in found if name != SCRATCH_FILE), ".")
    shown = "this folder itself" if path == "." else f"`{path}`"
    arguments = {"file_path": path} if path == "." else {"file_path": path, "limit": 40}
    return Reply(
        f"{text} Now I **read** {shown}. Reading inside the project needs no permission.",
        (Call("read", dict(arguments)),),
    )


def _search(progress: TourProgress) -> Reply:
    read = progress.last_call("read")
    word = _find_word(read.output) if read is not None and not read.failed else "the"
    calls = [Call("grep", {"pattern": word})]
    text = f"From there I take the word `{word}` and **search** the folder for it."
    if progress.conversation.has_tools("glob"):
        calls.append(Call("glob", {"pattern": "**/*.md"}))
        text += (
            " At the same time I look for Markdown files: calls that only read run side by side."
        )
    return Reply(f"{_outcome(progress)} {text}".strip(), tuple(calls))


def _plan(progress: TourProgress) -> Reply:
    grep = progress.last_call("grep")
    text = _outcome(progress)
    if grep is not None and not grep.failed:
        number = count_matches(grep.output)
        text = f"The search gave {count_phrase(number, 'match', 'matches')}. {text}".strip()
    listing = progress.last_call("list")
    there = listing is not None and SCRATCH_FILE in listing.output
    calls = [
        Call(
            "todowrite", {"todos": todo_items(*((item, "pending") for item, _ in _items(progress)))}
        )
    ]
    if there and progress.conversation.has_tools("read"):
        calls.append(Call("read", {"file_path": SCRATCH_FILE}))
    return Reply(f"{text} For the next steps I keep a **to-do list**.".strip(), tuple(calls))


def _write(progress: TourProgress) -> Reply:
    return Reply(
        "Now a **change**. I want to create a scratch file, and you are asked first: the dialog "
        "shows exactly what would be written. Allow it once, for the whole session, or reject "
        "it with a comment for me.",
        (*_mark(progress, "write"), Call("write", {"file_path": SCRATCH_FILE, "content": _TEXT})),
    )


def _edit(progress: TourProgress) -> Reply:
    return Reply(
        f"{_outcome(progress)} Next I **edit** one line. The dialog shows a diff, and what you "
        "see there is exactly what is done.".strip(),
        (
            *_mark(progress, "edit"),
            Call("edit", {"file_path": SCRATCH_FILE, "old_string": _OLD, "new_string": _NEW}),
        ),
    )


def _command(progress: TourProgress) -> Reply:
    command = _LOOP if progress.succeeded("write") else "date"
    return Reply(
        f"{_outcome(progress)} Now a **command**. Commands that are proven to only read run "
        "without asking; for others the dialog shows each part and why it asks. The output is "
        "shown while it runs.".strip(),
        (*_mark(progress, "command"), Call("bash", {"command": command})),
    )


def _remove(progress: TourProgress) -> Reply:
    return Reply(
        f"{_outcome(progress)} Last, I offer to **remove** `{SCRATCH_FILE}` again. "
        "Reject it if you want to keep the file.".strip(),
        (*_mark(progress, "remove"), Call("bash", {"command": _REMOVE})),
    )


def _tidy(progress: TourProgress) -> Reply:
    items = [
        (item, "completed" if progress.succeeded(stage) else "cancelled")
        for item, stage in _items(progress)
    ]
    return Reply(
        f"{_outcome(progress)} The to-do list is up to date again.".strip(),
        (Call("todowrite", {"todos": todo_items(*items)}),),
    )


STAGES: tuple[Stage, ...] = (
    Stage("list", ("list",), _list_folder),
    Stage("read", ("read",), _read),
    Stage("grep", ("grep",), _search),
    Stage("plan", ("todowrite",), _plan),
    Stage("write", ("write",), _write),
    Stage("edit", ("edit",), _edit, lambda progress: progress.succeeded("write")),
    Stage("command", ("bash",), _command),
    Stage("remove", ("bash",), _remove, lambda progress: progress.succeeded("write")),
    Stage("tidy", ("todowrite",), _tidy, lambda progress: progress.last_call("plan") is not None),
)


def _items(progress: TourProgress) -> list[tuple[str, str]]:
    """Return the to-do list's texts and stages for which all tools are offered."""
    return [
        (item, stage) for item, stage, tools in _PLAN if progress.conversation.has_tools(*tools)
    ]


def _mark(progress: TourProgress, stage: str) -> tuple[Call, ...]:
    """Return the call that marks *stage* as in progress on the to-do list, if there is a list."""
    if progress.last_call("plan") is None:
        return ()
    items = _items(progress)
    names = [name for _, name in items]

    def status(name: str) -> str:
        if names.index(name) < names.index(stage):
            return "completed" if progress.succeeded(name) else "cancelled"
        return "in_progress" if name == stage else "pending"

    return (
        Call("todowrite", {"todos": todo_items(*((item, status(name)) for item, name in items))}),
    )


def _outcome(progress: TourProgress) -> str:
    """Return a sentence about the previous step: that it is done, or why not."""
    failed = next((call for call in progress.previous_calls if call.failed), None)
    if failed is not None:
        return f"{failure_sentence(failed)} The tour continues without it."
    if not progress.previous_calls:
        return "The tour continues."
    match stage_of(progress.previous_calls[-1]):
        case "write" | "edit":
            return "That is done; the row keeps the diff."
        case "command":
            return "The command is done; its row keeps the last lines."
        case "remove":
            return "The scratch file is gone."
        case _:
            return ""


def _find_word(text: str) -> str:
    """Return a longer word of *text* (a numbered listing), which a search then finds."""
    found = re.findall(r"\b[A-Za-z]{5,14}\b", text)
    return found[0] if found else "the"


_REASONING = (
    "**Planning a tour**\n\nI start with what is harmless: looking around. Then a search, a to-do "
    "list, a change with a question, a command with a question, and cleaning up."
)


def tour_reply(conversation: Conversation) -> Reply:
    """Return the next stage of the tour that the newest message starts or continues.

    After the last stage that is the farewell.
    """
    progress = _progress(conversation)
    stage = _next_stage(progress)
    reply = stage.build(progress) if stage is not None else _farewell(progress)
    if progress.completed_calls:
        return reply
    text = f"{INTRODUCTION}\n\n{reply.text}" if conversation.is_first else reply.text
    return replace(reply, text=text, reasoning=_REASONING)


def is_due(conversation: Conversation) -> bool:
    """Return whether the tour is the response to the newest message: it was requested, or a
    stopped tour is continued."""
    match parse_request(conversation.text):
        case Tour():
            return True
        case Continue():
            return _tour_start(conversation) is not None
        case _:
            return False


def is_unfinished(conversation: Conversation) -> bool:
    """Return whether a tour was started before the newest message and has stages left."""
    begun = any(
        one.steps and isinstance(parse_request(one.text), Tour) for one in conversation.exchanges
    )
    return begun and _next_stage(_progress(conversation)) is not None


def _tour_start(conversation: Conversation) -> int | None:
    """Return the index of the exchange that started the newest tour."""
    places = [
        i
        for i, one in enumerate(conversation.exchanges)
        if isinstance(parse_request(one.text), Tour)
    ]
    return places[-1] if places else None


def _progress(conversation: Conversation) -> TourProgress:
    start = _tour_start(conversation) or 0
    exchanges = [
        one
        for one in conversation.exchanges[start:]
        if isinstance(parse_request(one.text), Tour | Continue)
    ]
    steps = [step for one in exchanges for step in one.steps]
    return TourProgress(
        conversation,
        completed_calls=tuple(call for step in steps for call in step),
        previous_calls=steps[-1] if steps else (),
    )


def _next_stage(progress: TourProgress) -> Stage | None:
    return next(
        (
            stage
            for stage in STAGES
            if progress.conversation.has_tools(*stage.tools)
            and progress.last_call(stage.name) is None
            and stage.is_possible(progress)
        ),
        None,
    )


def _farewell(progress: TourProgress) -> Reply:
    start = "That was the tour." if progress.completed_calls else "No tools are offered to me here."
    more = "`help` lists what else I understand."
    return Reply(f"{start} Three things to know:\n\n{CONNECT}\n\n{more}")


# The demo model's client: it streams the events of a step in small pieces, at a readable pace.

PIECE_SECONDS = 0.008
"""Seconds between two pieces: about 120 words a second, quick to read along and to stop."""

_PIECE = re.compile(r"\s*\S{1,12}|\s+")
_INPUT_PIECE = 12


class DemoClient:
    """A ``ModelClient`` without a model. *pace* is the time between pieces in seconds."""

    def __init__(self, *, pace: float = PIECE_SECONDS) -> None:
        self._pace = pace

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Stream the response, which depends on *request* alone. Usage is never reported."""
        reply = reply_to(read_conversation(request))
        if reply.reasoning:
            yield ReasoningStart()
            async for piece in self._paced(_PIECE.findall(reply.reasoning)):
                yield ReasoningDelta(piece)
            yield ReasoningEnd()
        if reply.text:
            yield TextStart()
            async for piece in self._paced(_PIECE.findall(reply.text)):
                yield TextDelta(piece)
            yield TextEnd()
        for index, call in enumerate(reply.calls):
            # Unique in the session while its history only grows; the loop handles other cases.
            call_id = f"demo_{len(request.turns)}_{index}"
            key = str(index)
            arguments = json.dumps(call.input, ensure_ascii=False)
            yield ToolInputStart(key, call.tool, call_id)
            async for piece in self._paced(_split(arguments)):
                yield ToolInputDelta(key, piece)
            yield ToolInputEnd(key)
            yield ToolCall(key, call.tool, arguments, call_id)
        yield StepFinish("tool-calls" if reply.calls else "stop", raw="demo")

    async def _paced(self, pieces: list[str]) -> AsyncIterator[str]:
        for piece in pieces:
            yield piece
            await asyncio.sleep(self._pace)


def reply_to(conversation: Conversation) -> Reply:
    """Return the demo model's next text and calls."""
    if is_due(conversation):
        return tour_reply(conversation)
    reply = respond(parse_request(conversation.text), conversation)
    parts = [INTRODUCTION, reply.text] if conversation.is_first else [reply.text]
    if not reply.calls and is_unfinished(conversation):
        parts.append("`continue` continues the tour.")
    return Reply("\n\n".join(part for part in parts if part), reply.calls, reply.reasoning)


def _split(text: str) -> list[str]:
    starts = range(0, len(text), _INPUT_PIECE)
    return [text[start : start + _INPUT_PIECE] for start in starts]
