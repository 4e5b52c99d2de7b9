"""Quirks of the order of turns: alternating roles, and the result that follows each call."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from agent.provider.client import (
    AssistantTurn,
    ModelRequest,
    ReasoningContent,
    TextContent,
    ToolCallContent,
    ToolResultContent,
    ToolTurn,
    Turn,
    UserTurn,
)
from agent.provider.quirks.structural_sharing import (
    map_results,
    replace_content,
    replace_turns,
    same_objects,
)
from agent.provider.quirks.target import Target

LOST_RESULT = "The result of this call was lost; it may or may not have run."
NO_OUTPUT = "(no output)"
CONTINUE_TEXT = "Go on."
"""The user text at the start or end of a conversation that has a model's turn there."""

ACKNOWLEDGEMENT = "I have the results."


def drop_empty_text(request: ModelRequest, target: Target) -> ModelRequest:
    """Anthropic and others refuse empty texts: "text content blocks must be non-empty"."""
    system = tuple(text for text in request.system if text.strip())
    turns: list[Turn] = []
    for turn in request.turns:
        match turn:
            case UserTurn():
                kept = tuple(c for c in turn.content if not _blank(c))
                turns += (
                    [turn if len(kept) == len(turn.content) else UserTurn(kept)] if kept else []
                )
            case AssistantTurn():
                kept = tuple(c for c in turn.content if not _blank(c))
                turns += [replace_content(turn, kept)] if kept else []
            case ToolTurn():
                turns.append(turn)
    return replace(replace_turns(request, turns), system=system)


def _blank(content: object) -> bool:
    return isinstance(content, TextContent) and not content.text.strip()


def drop_reasoning_only_turns(request: ModelRequest, target: Target) -> ModelRequest:
    """Providers refuse a message of reasoning alone. Anthropic: "the final block in an assistant
    message cannot be thinking"; in chat completions it has neither content nor calls."""
    turns = tuple(
        turn
        for turn in request.turns
        if not isinstance(turn, AssistantTurn)
        or any(not isinstance(content, ReasoningContent) for content in turn.content)
    )
    return replace(request, turns=turns)


def split_text_after_calls(request: ModelRequest, target: Target) -> ModelRequest:
    """Anthropic refuses text after calls: "tool_use ids were found without tool_result blocks
    immediately after". Split such a response in two, each with its results."""
    turns: list[Turn] = []
    for number, turn in enumerate(request.turns):
        if not isinstance(turn, AssistantTurn):
            turns.append(turn)
            continue
        after = request.turns[number + 1] if number + 1 < len(request.turns) else None
        results = after.content if isinstance(after, ToolTurn) else ()
        *early, last = _split(turn) if _continues_after_calls(turn) else (turn,)
        for piece in early:
            ids = {call.call_id for call in tool_calls_of(piece)}
            turns.append(piece)
            turns.append(ToolTurn(tuple(r for r in results if r.call_id in ids)))
        turns.append(last)
    return replace(request, turns=tuple(turns))


def _continues_after_calls(turn: AssistantTurn) -> bool:
    """Return whether anything but a call follows a call."""
    calls = [isinstance(content, ToolCallContent) for content in turn.content]
    return any(before and not after for before, after in pairwise(calls))


def _split(turn: AssistantTurn) -> list[AssistantTurn]:
    pieces: list[list[TextContent | ReasoningContent | ToolCallContent]] = [[]]
    for content in turn.content:
        after_call = bool(pieces[-1]) and isinstance(pieces[-1][-1], ToolCallContent)
        if after_call and not isinstance(content, ToolCallContent):
            pieces.append([])
        pieces[-1].append(content)
    return [replace(turn, content=tuple(piece)) for piece in pieces]


def pair_calls_with_results(request: ModelRequest, target: Target) -> ModelRequest:
    """All providers refuse calls without a result and results without a call: "no tool output found
    for function call", "tool result without its call". Each call gets one result right after its
    turn, in order; a sentence replaces a lost one."""
    return replace(request, turns=tuple(_with_results(request.turns)))


def _with_results(turns: Sequence[Turn]) -> Iterator[Turn]:
    waiting: list[ToolCallContent] = []
    for turn in turns:
        given = turn.content if isinstance(turn, ToolTurn) else ()
        if waiting:
            results = _results_for(waiting, given)
            same = isinstance(turn, ToolTurn) and same_objects(results, given)
            yield turn if same else ToolTurn(results)
            waiting = []
        if not isinstance(turn, ToolTurn):
            yield turn
            waiting = tool_calls_of(turn)
    if waiting:
        yield ToolTurn(_results_for(waiting, ()))


def tool_calls_of(turn: Turn) -> list[ToolCallContent]:
    """Return the calls of *turn*, in order."""
    if not isinstance(turn, AssistantTurn):
        return []
    return [content for content in turn.content if isinstance(content, ToolCallContent)]


def _results_for(
    calls: Sequence[ToolCallContent], given: Sequence[ToolResultContent]
) -> tuple[ToolResultContent, ...]:
    left = list(given)
    results: list[ToolResultContent] = []
    for call in calls:
        found = next((result for result in left if result.call_id == call.call_id), None)
        if found is None:
            results.append(ToolResultContent(call.call_id, call.name, LOST_RESULT, is_error=True))
            continue
        left.remove(found)
        results.append(found)
    return tuple(results)


def fill_empty_results(request: ModelRequest, target: Target) -> ModelRequest:
    """Providers refuse empty results, and models take one for a failure. Anthropic: "content cannot
    be empty if is_error is true"; Bedrock and Gemini refuse any empty result."""

    def filled(result: ToolResultContent) -> ToolResultContent:
        empty = not result.output or result.output.isspace()
        return replace(result, output=NO_OUTPUT) if empty else result

    return map_results(request, filled)


def start_with_user(request: ModelRequest, target: Target) -> ModelRequest:
    """Anthropic and many chat templates refuse a conversation that the model starts: "first message
    must use the user role"."""
    if not request.turns or isinstance(request.turns[0], UserTurn):
        return request
    return replace(request, turns=(UserTurn((TextContent(CONTINUE_TEXT),)), *request.turns))


def end_with_user(request: ModelRequest, target: Target) -> ModelRequest:
    """Providers refuse a conversation that ends with the model. Anthropic: "does not support
    assistant message prefill"; Mistral: "expected last role user or tool". Elsewhere the model
    would continue its last sentence."""
    if request.turns and not isinstance(request.turns[-1], AssistantTurn):
        return request
    return replace(request, turns=(*request.turns, UserTurn((TextContent(CONTINUE_TEXT),))))


def merge_same_roles(request: ModelRequest, target: Target) -> ModelRequest:
    """Anthropic and the chat templates of local models refuse two messages of one role in a row:
    "roles must alternate". Merge them; reasoning must come first, so drop that of the second."""
    turns: list[Turn] = []
    for turn in request.turns:
        before = turns[-1] if turns else None
        if isinstance(before, UserTurn) and isinstance(turn, UserTurn):
            turns[-1] = replace(before, content=(*before.content, *turn.content))
        elif isinstance(before, AssistantTurn) and isinstance(turn, AssistantTurn):
            more = (c for c in turn.content if not isinstance(c, ReasoningContent))
            turns[-1] = replace(before, content=(*before.content, *more))
        else:
            turns.append(turn)
    return replace(request, turns=tuple(turns))


def insert_reply_before_user(request: ModelRequest, target: Target) -> ModelRequest:
    """Mistral refuses a user message after results: "Unexpected role 'user' after role 'tool'"."""
    turns: list[Turn] = []
    for turn in request.turns:
        if isinstance(turn, UserTurn) and turns and isinstance(turns[-1], ToolTurn):
            turns.append(AssistantTurn((TextContent(ACKNOWLEDGEMENT),), request.model.full_name))
        turns.append(turn)
    return replace(request, turns=tuple(turns))
