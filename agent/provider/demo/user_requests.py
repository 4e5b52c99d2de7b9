"""The requests that users can type to the demo model, and their parser."""

import re
from typing import TypeAlias

from agent.records.frozen import frozen

LONG_ANSWER_WORDS = 600
"""The words of a long response: at the default pace there is time to stop it."""

MAX_WORDS = 20_000


@frozen
class Tour:
    """The guided tour."""


@frozen
class Unknown:
    """A message that is no request which the demo follows."""


@frozen
class Continue:
    pass


@frozen
class SmallTalk:
    """A message without a request."""


@frozen
class Help:
    pass


@frozen
class ListFolder:
    path: str = ""


@frozen
class ReadFile:
    """A request to read a file; *first* and *last* are line numbers from 1, 0 for none."""

    path: str
    first: int = 0
    last: int = 0


@frozen
class Search:
    """A request to search for the regular expression *pattern*."""

    pattern: str
    shown: str
    path: str = ""


@frozen
class FindFiles:
    pattern: str
    path: str = ""


@frozen
class RunCommand:
    command: str


@frozen
class CreateFile:
    path: str
    text: str


@frozen
class Replace:
    old: str
    new: str
    path: str
    everywhere: bool = False


@frozen
class WriteTodos:
    items: tuple[str, ...]


@frozen
class AskAgent:
    agent: str
    prompt: str


@frozen
class Think:
    about: str


@frozen
class Stream:
    words: int


UserRequest: TypeAlias = (
    Tour
    | Unknown
    | Continue
    | SmallTalk
    | Help
    | ListFolder
    | ReadFile
    | Search
    | FindFiles
    | RunCommand
    | CreateFile
    | Replace
    | WriteTodos
    | AskAgent
    | Think
    | Stream
)

# A name or text: in quotes of some kind, or (name) one word / (text) as few as fit.
_NAME = r"""(?:"[^"\n]+"|'[^'\n]+'|`[^`\n]+`|[^\s"'`]+)"""
_TEXT = r"""(?:"[^"]*"|'[^']*'|`[^`]*`|.+?)"""

_PATTERNS = {
    "tour": r"(?:start |take |show |give )?(?:me )?(?:the |a )?tour|show me around",
    "go_on": r"continue|go on|carry on|next",
    "small_talk": r"thanks|thank you|thx|ok|okay|good|great|nice|yes|no|bye|stop",
    "help": r"help|\?|what can (?:you|i) do",
    "stream": r"stream (?P<count>\d{1,9}) words?",
    "long": r"(?:write|give|tell)(?: me)? a (?:very )?long (?:answer|text|story)",
    "todo": r"todos?(?: list)?(?::\s*|\s+)(?P<items>.+)",
    "think": r"think(?: hard)?(?: (?:about|of|over))?(?:\s+(?P<about>.+))?",
    "agent": r"ask (?:a |an |the )?(?P<agent>sub-?agent|explore|general)(?: agent)?(?:,? to)?:?"
    r"\s+(?P<prompt>.+)",
    "replace": rf"(?:replace|change) (?P<all>all )?(?P<old>{_TEXT}) (?:with|to|by) "
    rf"(?P<new>{_TEXT}) in (?:the )?(?:file )?(?P<path>{_NAME})",
    "create": r"(?:create|write|make) (?:a )?(?:new )?(?:file )?(?:named |called )?"
    rf"(?P<path>{_NAME})(?: (?:with|containing|saying) (?:the )?(?:text |content )?"
    r"(?P<text>.*))?",
    "list": r"(?:list|ls)(?: (?:the |all )?(?:files|folder|directory))?(?: (?:in|of|at))?"
    rf"(?: (?P<path>{_NAME}))?",
    "read": rf"(?:read|open|cat|show) (?:the )?(?:file )?(?P<path>{_NAME})"
    r"(?:,? (?:from )?lines? (?P<first>\d{1,7})(?:\s*(?:-|–|to)\s*(?P<last>\d{1,7}))?)?",
    "find": rf"(?:find|glob) (?:all )?(?:files? )?(?:named |matching )?(?P<pattern>{_NAME})"
    rf"(?: (?:in|under) (?P<path>{_NAME}))?",
    "grep": rf"grep (?P<pattern>{_TEXT})(?: in (?P<path>{_NAME}))?",
    "search": rf"(?:search|look) (?:for )?(?P<text>{_TEXT})(?: in (?P<path>{_NAME}))?",
    "run": r"(?:run|execute|\$|!)\s*(?:the command )?(?P<command>.+)",
}

_COMPILED = {
    name: re.compile(rf"(?:please )?(?:{pattern})", re.IGNORECASE | re.DOTALL)
    for name, pattern in _PATTERNS.items()
}


def parse_request(text: str) -> UserRequest:
    """Return the request in *text*, ``Unknown`` where it is none of the known ones."""
    text = text.strip()
    bare = text.rstrip(" .?!") or text
    for name, pattern in _COMPILED.items():
        # What is written or run keeps its last characters.
        whole = name in {"create", "run"}
        match = pattern.fullmatch(text if whole else bare)
        if match is not None:
            request = _request(name, {key: value or "" for key, value in match.groupdict().items()})
            if request is not None:
                return request
    return Unknown()


def is_request(text: str) -> bool:
    """Return whether *text* is a request that the demo follows."""
    return not isinstance(parse_request(text), Unknown)


def _request(name: str, groups: dict[str, str]) -> UserRequest | None:
    match name:
        case "tour" | "go_on" | "small_talk" | "help" | "stream" | "long" | "think":
            return _toolless_request(name, groups)
        case "agent":
            named = groups["agent"].lower()
            return AskAgent(named if named == "explore" else "general", groups["prompt"])
        case "run":
            return RunCommand(strip_quotes(groups["command"]))
        case "todo":
            items = [item.strip(" -*\t") for item in re.split(r"[,;\n]", groups["items"])]
            return WriteTodos(tuple(item for item in items if item))
        case _:
            return _file_request(name, groups)


def _toolless_request(name: str, groups: dict[str, str]) -> UserRequest:
    """Return a request that needs no tool, or the tour."""
    match name:
        case "tour":
            return Tour()
        case "go_on":
            return Continue()
        case "small_talk":
            return SmallTalk()
        case "help":
            return Help()
        case "stream":
            return Stream(min(int(groups["count"]), MAX_WORDS))
        case "long":
            return Stream(LONG_ANSWER_WORDS)
        case _:
            return Think(groups["about"])


def _file_request(name: str, groups: dict[str, str]) -> UserRequest | None:
    path = strip_quotes(groups["path"])
    match name:
        case "replace":
            old, new = strip_quotes(groups["old"]), strip_quotes(groups["new"])
            return Replace(old, new, path, everywhere=bool(groups["all"]))
        case "create":
            # "write poem" names no file, "write poem.txt" and "create x with y" do.
            named = groups["text"] or "." in path or "/" in path
            return CreateFile(path, strip_quotes(groups["text"])) if named else None
        case "list":
            return ListFolder(path)
        case "read":
            return ReadFile(path, int(groups["first"] or 0), int(groups["last"] or 0))
        case "find":
            pattern = strip_quotes(groups["pattern"])
            if not any(char in pattern for char in "*?./"):
                return None
            return FindFiles(pattern if "/" in pattern else f"**/{pattern}", path)
        case "grep":
            pattern = strip_quotes(groups["pattern"])
            return Search(pattern, pattern, path)
        case _:
            words = strip_quotes(groups["text"])
            # Escape only what is special in every dialect, so that the pattern stays readable.
            return Search(re.sub(r"([\\.^$*+?{}\[\]|()])", r"\\\1", words), words, path)


def strip_quotes(text: str) -> str:
    """Return *text* without one pair of quotes or backticks around it."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`":
        return text[1:-1]
    return text
