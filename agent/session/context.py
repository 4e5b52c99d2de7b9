"""What fits into a model's window: estimates, limits, pruning (spec 2, C1 and C2)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.model import (
    AssistantMessage,
    Completed,
    FilePart,
    MessageWithParts,
    ReasoningPart,
    TextPart,
    ToolPart,
)
from agent.provider.client import ModelInfo
from agent.session.estimate import tokens
from agent.session.history import result_text

PICTURE_TOKENS = 1_600
"""What providers document for the largest picture that they take unscaled."""

PROTECTED = frozenset({"skill"})
"""Tools whose output is never pruned (C2)."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits in tokens. *usable* is the window less what is kept for the answer (C1)."""

    usable: int

    @classmethod
    def of(cls, model: ModelInfo) -> "Budget | None":
        """None for a model without known limits: it relies on the provider's own error."""
        if model.context_limit is None:
            return None
        window = model.context_limit
        reserved = min(20_000, model.output_limit or 20_000, window // 4)
        return cls(window - reserved)

    @property
    def kept_output(self) -> int:
        """Tool output that pruning leaves, newest first."""
        return min(40_000, self.usable * 40 // 100)

    @property
    def worth_pruning(self) -> int:
        return min(20_000, self.usable * 15 // 100)

    @property
    def tail(self) -> int:
        """Newest messages that compaction keeps as they are (C3)."""
        return min(max(self.usable // 4, 2_000), 8_000)


UNKNOWN = Budget(100_000)
"""What pruning and compaction reckon with after an overflow of a model without limits."""


def media_tokens(file: FilePart) -> int:
    """An estimate for an attachment: a picture costs what its size allows at most (Anthropic and
    OpenAI scale it to some 1.2 megapixels), a document by its pages, of some 50 KB each."""
    if file.data is None:
        return 0
    if file.mime.startswith("image/"):
        return PICTURE_TOKENS
    return max(PICTURE_TOKENS, len(file.data) // 40)


def result_tokens(state: Completed) -> int:
    return tokens(state.output) + sum(map(media_tokens, state.files))


def weight(item: MessageWithParts) -> int:
    """The estimated tokens of a message in a request."""
    total = 4
    for part in item.parts:
        match part:
            case TextPart() | ReasoningPart():
                total += tokens(part.text)
            case ToolPart(state=state):
                total += tokens(result_text(state)[0]) + tokens(str(state)[:200])
                if isinstance(state, Completed) and state.compacted is None:
                    total += sum(map(media_tokens, state.files))
            case FilePart():
                total += media_tokens(part)
            case _:
                pass
    return total


def used(messages: Sequence[MessageWithParts]) -> int:
    """Tokens of the last request and its answer, as reported; else as estimated (C1)."""
    for item in reversed(messages):
        message = item.message
        if isinstance(message, AssistantMessage) and message.usage is not None:
            return message.usage.input + message.usage.output
    return sum(weight(item) for item in messages)


def prunable(messages: Sequence[MessageWithParts], budget: Budget) -> tuple[ToolPart, ...]:
    """The old outputs to leave out, () when too little would be won (C2).

    Protected are the last two user turns, but of the running turn only its last ten steps.
    """
    protected = _protected_from(messages)
    kept = won = 0
    chosen: list[ToolPart] = []
    for index in range(len(messages) - 1, -1, -1):
        for part in reversed(messages[index].parts):
            if not isinstance(part, ToolPart) or not isinstance(part.state, Completed):
                continue
            if part.state.compacted is not None or part.tool in PROTECTED:
                continue
            size = result_tokens(part.state)
            if index >= protected or kept + size <= budget.kept_output:
                kept += size
            else:
                won += size
                chosen.append(part)
    return tuple(chosen) if won >= budget.worth_pruning else ()


def shorten(part: ToolPart, now: float) -> ToolPart:
    """*part* marked as pruned: the store keeps its output, a request shows its ends only."""
    if not isinstance(part.state, Completed):
        return part
    return replace(part, state=replace(part.state, compacted=now))


def _protected_from(messages: Sequence[MessageWithParts]) -> int:
    """The index from which on nothing is pruned."""
    turns = 0
    steps = 0
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index].message
        if isinstance(message, AssistantMessage):
            steps += 1
            if turns == 0 and steps > 10:
                return index + 1
        elif not message.synthetic and not message.steered:
            turns += 1
            if turns == 2:
                return index
    return 0
