"""The content of a client's prompt: text, files, sub-agents."""

from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from agent.records.messages import FilePart
from agent.runtime.runtime import Runtime
from agent.session.api import Mention, PromptInput, Subtask
from agent.session.prompt.mentions import agents_in, mentions_in, resources_in
from app.server.bodies import AgentInput, FileInput, PromptBody, SubtaskInput, TextInput
from app.server.errors import RequestError
from app.server.folders import resolved_inside


def prompt_of(body: PromptBody, runtime: Runtime) -> PromptInput:
    """Return the prompt in a request.

    Raises ``RequestError`` for what cannot be sent, ``AgentNotFound`` and ``ModelNotFound``.
    """
    if off := sorted(name for name, wanted in body.tools.items() if not wanted):
        raise RequestError(
            400, f"Tools are set by the agent: {', '.join(off)} cannot be turned off here."
        )
    texts: list[str] = []
    files: list[FilePart] = []
    mentions: list[Mention] = []
    agents: list[str] = []
    subtask: Subtask | None = None
    for part in body.parts:
        match part:
            case TextInput():
                texts.append(part.text)
            case FileInput():
                named = _named_file(part)
                files += [named] if isinstance(named, FilePart) else []
                mentions += [named] if isinstance(named, Mention) else []
            case AgentInput():
                agents.append(runtime.agents.get(part.name).name)
            case SubtaskInput():
                agent = runtime.agents.get(part.agent).name
                subtask = Subtask(agent, part.description, part.prompt)
    text = "\n".join(texts)
    known = [info.name for info in runtime.agents.subagents()]
    if body.agent is not None:
        runtime.agents.get(body.agent)
    if not text.strip() and subtask is None and not files and not mentions:
        raise RequestError(400, "The prompt is empty.")
    for mention in mentions:
        refuse_outside(mention, runtime)
    # A file outside the project that the text names is not attached: the agent asks to read it.
    typed = [
        mention
        for mention in mentions_in(text, runtime.directory)
        if mention.path not in _paths(mentions) and not _is_outside(mention, runtime)
    ]
    typed += resources_in(text, runtime.mcp.resource_uris())
    return PromptInput(
        text=text or (subtask.description if subtask is not None else ""),
        agent=body.agent,
        model=body.model.full_name if body.model is not None else None,
        effort=None if body.variant in {None, "default"} else body.variant,
        files=tuple(files),
        mentions=(*mentions, *typed),
        agents=tuple(dict.fromkeys((*agents, *agents_in(text, known)))),
        subtask=subtask,
        context=body.system,
        answered=not body.no_reply,
        delivery=body.delivery,
    )


def refuse_outside(mention: Mention, runtime: Runtime) -> None:
    """Raise ``RequestError`` for a file that clients may not read, links followed."""
    resolved_inside(runtime, mention.path)


def _is_outside(mention: Mention, runtime: Runtime) -> bool:
    try:
        resolved_inside(runtime, mention.path)
    except RequestError:
        return True
    return False


def _paths(mentions: list[Mention]) -> set[str]:
    return {mention.path for mention in mentions}


def _named_file(part: FileInput) -> FilePart | Mention:
    """Return a file's content, or the mention of a file on this machine with its lines."""
    if part.url.startswith("data:"):
        head, _, data = part.url.partition(",")
        if not head.endswith(";base64"):
            raise RequestError(400, "A data URL of a file has to be in base64.")
        return FilePart(id="", session_id="", message_id="", mime=part.mime, data=data)
    address = urlsplit(part.url)
    if address.scheme != "file":
        raise RequestError(400, f"Files are data: or file: URLs, not {address.scheme or 'paths'}.")
    lines = parse_qs(address.query)
    first, last = (_line(lines.get(key)) for key in ("start", "end"))
    return Mention(str(Path(unquote(address.path))), first, last)


def _line(values: list[str] | None) -> int | None:
    text = values[0] if values else ""
    return int(text) if text.isdecimal() and int(text) > 0 else None
