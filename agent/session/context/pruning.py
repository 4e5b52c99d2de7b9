"""Pruning: leaving old tool output out of requests."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from agent.records.messages import AssistantMessage, Completed, Failed, MessageWithParts, ToolPart
from agent.session.context.budget import Budget, estimate_tokens, output_tokens
from agent.session.context.request_turns import result_text

PROTECTED_TOOLS = frozenset({"skill"})
"""Tools whose output is never pruned; the settings can name more."""

PROTECTED_TURNS = 2
"""Turns whose output is protected: the running one and the one before it."""

PROTECTED_STEPS = 10
"""Steps of the running turn whose output is protected, when it has more."""

MIN_GAIN = 100
"""Tokens below which shortening an output is not worth it."""


def outputs_to_prune(
    messages: Sequence[MessageWithParts],
    budget: Budget,
    *,
    keep: AbstractSet[str] = PROTECTED_TOOLS,
    factor: float = 1.0,
) -> tuple[ToolPart, ...]:
    """Return the old outputs to leave out, () when that would save too little.

    Outputs of the tools in *keep* stay; *factor* converts estimated tokens to the model's.
    """
    protected = first_protected(messages)
    kept = won = 0.0
    full = False
    chosen: list[ToolPart] = []
    for index in range(len(messages) - 1, -1, -1):
        for part in reversed(messages[index].parts):
            if not isinstance(part, ToolPart) or not can_shorten(part, keep):
                continue
            size = output_tokens(part) * factor
            full = full or (index < protected and kept + size > budget.kept_output_tokens)
            if not full:
                kept += size
            elif (gain := tokens_saved(part) * factor) > 0:
                won += gain
                chosen.append(part)
    return tuple(chosen) if won >= budget.min_pruned_tokens else ()


def outputs_to_fit(
    messages: Sequence[MessageWithParts],
    max_tokens: float,
    *,
    keep: AbstractSet[str],
    factor: float,
) -> tuple[ToolPart, ...]:
    """Return the outputs to leave out, oldest first, so that the rest takes at most
    *max_tokens*."""
    parts = [part for part in _tool_parts(messages) if can_shorten(part, keep)]
    total = sum(output_tokens(part) for part in parts) * factor
    chosen: list[ToolPart] = []
    for part in parts:
        if total <= max_tokens:
            break
        if (gain := tokens_saved(part) * factor) > 0:
            chosen.append(part)
            total -= gain
    return tuple(chosen)


def can_shorten(part: ToolPart, keep: AbstractSet[str]) -> bool:
    """Return whether an output is complete and not protected."""
    state = part.state
    return (
        isinstance(state, Completed | Failed) and state.compacted is None and part.tool not in keep
    )


def tokens_saved(part: ToolPart) -> int:
    """Return the tokens saved by leaving an output out, 0 where that is not worth it."""
    gain = output_tokens(part) - estimate_tokens(result_text(shorten(part, 0.0, None))[0])
    return gain if gain >= MIN_GAIN else 0


def shorten(part: ToolPart, now: float, spill: str | None) -> ToolPart:
    """Return *part* marked as pruned at *now*: the store keeps its output, a request shows its ends
    only. *spill* is the file with the whole output, where there was none before."""
    state = part.state
    if not isinstance(state, Completed | Failed):
        return part
    return replace(part, state=replace(state, compacted=now, spill=state.spill or spill))


def first_protected(messages: Sequence[MessageWithParts]) -> int:
    """Return the index from which on nothing is pruned."""
    turns = steps = 0
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index].message
        if isinstance(message, AssistantMessage):
            steps += 1
            if turns == 0 and steps > PROTECTED_STEPS:
                return index + 1
        elif not message.synthetic and not message.steered:
            turns += 1
            if turns == PROTECTED_TURNS:
                return index
    return 0


def _tool_parts(messages: Sequence[MessageWithParts]) -> Iterator[ToolPart]:
    for item in messages:
        for part in item.parts:
            if isinstance(part, ToolPart):
                yield part
