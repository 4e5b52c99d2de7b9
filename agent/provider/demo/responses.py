"""The demo model's responses to user requests: its calls, and its texts about their results."""

import re

from agent.provider.demo.conversation import (
    Call,
    CompletedCall,
    Conversation,
    Reply,
    count_entries,
    count_matches,
    count_phrase,
    failure_sentence,
)
from agent.provider.demo.user_requests import (
    AskAgent,
    Continue,
    CreateFile,
    FindFiles,
    Help,
    ListFolder,
    ReadFile,
    Replace,
    RunCommand,
    Search,
    SmallTalk,
    Stream,
    Think,
    Tour,
    Unknown,
    UserRequest,
    WriteTodos,
)
from agent.records.json import Json

INTRODUCTION = (
    "I am demo/offline: a small script, not a language model. "
    "I understand a few simple requests, and nothing leaves this machine."
)

HELP = """\
I understand these requests, and use the same tools as a real model:

- `list` or `list src`
- `read README.md` or `read README.md lines 1-20`
- `search for main in src`, `grep def .*main`
- `find *.py`
- `run git status`
- `create notes.txt with some text`
- `replace old with new in notes.txt`
- `todo first thing, second thing`
- `ask a sub-agent to list src`
- `think about anything`
- `write a long answer` or `stream 300 words`, to try stopping me
- `tour` for a two-minute tour

esc or ctrl+c stops me at any time. The conversation is saved: `opencode-py --continue` resumes it.
`/connect` connects a language model."""

CONNECT = """\
- **Stop**: esc or ctrl+c while I work. Work done so far is kept, and you can ask again right away.
- **Resume**: every session is saved. `opencode-py --continue` opens the newest one.
- **Connect a model**: `/connect` takes a provider's key or the address of your own server. \
A key in the environment, such as `ANTHROPIC_API_KEY`, is used too."""

_SENTENCES = (
    "This text is as long as you asked and says little, so that there is time to stop it.",
    "Press esc or ctrl+c now to stop it at once; the text so far stays.",
    "A stopped response is marked as interrupted, and you can send the next request right away.",
    "While text arrives you can scroll up, and the view stays where it is.",
    "The text comes in small pieces, as from a real model.",
    "Each piece is saved within a quarter of a second, so a crash loses next to nothing.",
    "You can type the next request while I write; it is queued until I am done.",
    "A real model would use this space for something better.",
)


def long_text(words: int) -> str:
    """Return a text of exactly *words* words, in paragraphs of four sentences."""
    pieces: list[str] = []
    count = sentence = 0
    while count < words:
        taken = _SENTENCES[sentence % len(_SENTENCES)].split()[: words - count]
        count += len(taken)
        sentence += 1
        pieces.append(" ".join(taken) + ("\n\n" if sentence % 4 == 0 else " "))
    return "".join(pieces).rstrip()


def thinking_text(about: str) -> str:
    """Return reasoning about *about*, which says honestly how little it is."""
    subject = about.rstrip(" .?!") or "nothing in particular"
    return (
        f"**Thinking about {subject}**\n\n"
        f"I was asked to think about {subject}. I am a script, so these thoughts were written "
        "in advance; a real model would work out an answer here, step by step.\n\n"
        "First it would ask what is known and what is not. Then it would look for what could be "
        "checked: a file to read, a test to run. It would weigh a few approaches and drop those "
        "that only move the problem elsewhere.\n\n"
        "At the end it would choose, and say how sure it is. Reasoning looks like this; "
        "it folds to one line when it is done and can be unfolded again."
    )


ToolRequest = (
    ListFolder
    | ReadFile
    | Search
    | FindFiles
    | RunCommand
    | CreateFile
    | Replace
    | WriteTodos
    | AskAgent
)
"""Requests that need a tool."""

_EXIT_CODE = re.compile(r"^\W*Exit code (\d+)", re.MULTILINE)


def respond(request: UserRequest, conversation: Conversation) -> Reply:
    """Return the next step for *request*; an unknown request gets the list of known ones."""
    match request:
        case SmallTalk():
            return Reply("All right. `help` lists what I understand, `tour` shows everything.")
        case Help():
            return Reply(HELP)
        case Stream():
            return Reply(long_text(request.words))
        case Think():
            return Reply(
                "That was reasoning. It folds to one line and can be opened again. "
                "I have no opinion of my own to add.",
                reasoning=thinking_text(request.about),
            )
        case Continue():
            return Reply("Nothing to continue. `help` lists what I understand.")
        case Tour() | Unknown():
            return Reply(f"I do not understand that request.\n\n{HELP}")
        case _:
            return _act(request, conversation)


def _act(request: ToolRequest, conversation: Conversation) -> Reply:
    call = _next_call(request, conversation)
    if call is None:
        return Reply(_summary(request, conversation.completed_calls))
    if not conversation.has_tools(call.tool):
        if not conversation.tools:
            return Reply("No tools are offered to me in this step, so I stop here.")
        return Reply(
            f"That needs the tool `{call.tool}`, which is not offered here. "
            "The current agent may not have it; `help` lists what else I understand."
        )
    opening = "" if conversation.completed_calls else _opening(request)
    return Reply(
        opening,
        (call,),
        reasoning="" if conversation.completed_calls else _reasoning(request, call),
    )


def _next_call(request: ToolRequest, conversation: Conversation) -> Call | None:
    """Return the next call, None when the request is done or cannot continue."""
    done = conversation.completed_calls
    match request:
        case CreateFile():
            return _create_call(request, done)
        case Replace():
            return _replace_call(request, conversation)
        case _:
            return None if done else _only_call(request)


def _only_call(
    request: ListFolder | ReadFile | Search | FindFiles | RunCommand | WriteTodos | AskAgent,
) -> Call:
    match request:
        case ListFolder():
            return Call("list", _with({}, "path", request.path))
        case ReadFile():
            arguments: dict[str, Json] = {"file_path": request.path}
            if request.first:
                arguments["offset"] = request.first
            if request.last >= request.first > 0:
                arguments["limit"] = request.last - request.first + 1
            return Call("read", arguments)
        case Search():
            return Call("grep", _with({"pattern": request.pattern}, "path", request.path))
        case FindFiles():
            return Call("glob", _with({"pattern": request.pattern}, "path", request.path))
        case RunCommand():
            return Call("bash", {"command": request.command})
        case WriteTodos():
            return Call(
                "todowrite", {"todos": todo_items(*((i, "pending") for i in request.items))}
            )
        case AskAgent():
            return Call(
                "task",
                {
                    "description": " ".join(request.prompt.split()[:5]),
                    "prompt": request.prompt,
                    "subagent_type": request.agent,
                },
            )


def _create_call(request: CreateFile, done: tuple[CompletedCall, ...]) -> Call | None:
    write = Call("write", {"file_path": request.path, "content": request.text + "\n"})
    if not done:
        return write
    # An existing file has to be read before it is overwritten.
    if len(done) == 1 and done[0].failed and "read" in done[0].output.lower():
        return Call("read", {"file_path": request.path})
    if len(done) == 2 and not done[1].failed:
        return write
    return None


def _replace_call(request: Replace, conversation: Conversation) -> Call | None:
    done = conversation.completed_calls
    if not done:
        return Call("read", {"file_path": request.path})
    if len(done) == 1 and not done[0].failed:
        edit: dict[str, Json] = {
            "file_path": request.path,
            "old_string": request.old,
            "new_string": request.new,
        }
        if request.everywhere and conversation.accepts_argument("edit", "replace_all"):
            edit["replace_all"] = True
        return Call("edit", edit)
    return None


def todo_items(*items: tuple[str, str]) -> list[Json]:
    """Return todo items from texts and statuses."""
    return [
        {"content": content, "status": status, "priority": "medium"} for content, status in items
    ]


def _with(arguments: dict[str, Json], name: str, value: str) -> dict[str, Json]:
    return {**arguments, name: value} if value else arguments


def _reasoning(request: ToolRequest, call: Call) -> str:
    several_calls = isinstance(request, CreateFile | Replace)
    plan = "This may take more than one step" if several_calls else "One call is enough"
    return f"I know this request. {plan}: first `{call.tool}`."


def _opening(request: ToolRequest) -> str:
    match request:
        case ListFolder():
            return f"I list {f'`{request.path}`' if request.path else 'this folder'}."
        case ReadFile():
            return f"I read `{request.path}`."
        case Search():
            return f"I search for `{request.shown}`."
        case FindFiles():
            return f"I look for files like `{request.pattern}`."
        case RunCommand():
            return "I run that. You are asked first unless it only reads."
        case CreateFile():
            return f"I create `{request.path}`. You see the change before it is made."
        case Replace():
            return f"I read `{request.path}` first, then make the change."
        case WriteTodos():
            return "I put that on the to-do list."
        case AskAgent():
            return f"I give that to the agent `{request.agent}`."


def _summary(request: ToolRequest, done: tuple[CompletedCall, ...]) -> str:
    last = done[-1]
    if last.failed:
        return " ".join(filter(None, (failure_sentence(last), _advice(request, last))))
    match request:
        case ListFolder():
            found = count_entries(last.output)
            return f"The folder shows {count_phrase(found, 'entry', 'entries')}."
        case ReadFile():
            return f"That is `{request.path}`. A real model would now explain or change it."
        case Search():
            found = count_matches(last.output)
            return f"I found {count_phrase(found, 'match', 'matches')} for `{request.shown}`."
        case FindFiles():
            found = count_matches(last.output)
            return f"I found {count_phrase(found, 'file', 'files')}."
        case RunCommand():
            code = _EXIT_CODE.search(last.output)
            ended = f"ended with exit code {code[1]}" if code else "is done"
            return f"The command {ended}; its output is above."
        case CreateFile():
            return f"`{request.path}` is written. `replace … with … in {request.path}` changes it."
        case Replace():
            return f"The change in `{request.path}` is made."
        case WriteTodos():
            return f"The list has {count_phrase(len(request.items), 'item', 'items')}."
        case AskAgent():
            return "The agent is done; its report is above."


def _advice(request: ToolRequest, last: CompletedCall) -> str:
    text = last.output.lower()
    if isinstance(request, Replace) and " places" in text:
        return "`replace all … with … in …` changes every place."
    if isinstance(request, RunCommand) and "output" in text:
        return "Its output is above."
    return ""
