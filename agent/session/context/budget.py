"""What fits into a model's window: limits, and what each message takes of it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields

from agent.provider.client import ModelInfo, ToolSchema
from agent.records.context_parts import ContextPart
from agent.records.messages import (
    AssistantMessage,
    CompactionPart,
    Completed,
    Failed,
    FilePart,
    MessageWithParts,
    ReasoningPart,
    TextPart,
    ToolPart,
)
from agent.session.context.estimate import estimate_tokens
from agent.session.context.request_turns import input_of, result_text

MAX_RESERVED = 20_000
"""Tokens of the window that are kept for the answer at most, unless the settings say more."""

IMAGE_TOKENS = 1_600
"""What providers document for the largest picture that they take unscaled."""

MESSAGE_OVERHEAD = 4
"""Tokens that a message takes beside its content."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits in tokens. *window* is what a prompt may have (the input limit, else the context
    limit), *reserved* what is kept of it for the answer."""

    window: int
    reserved: int

    @classmethod
    def for_model(cls, model: ModelInfo, reserved: int | None = None) -> "Budget | None":
        """None for a model without known limits: it relies on the provider's own error.

        *reserved* is what the settings say, None for the rule; a quarter stays usable always.
        """
        window = model.input_limit or model.context_limit
        if window is None:
            return None
        if reserved is None:
            reserved = min(MAX_RESERVED, model.output_limit or MAX_RESERVED, window // 4)
        return cls(window, min(reserved, window * 3 // 4))

    def after_refusal(self, refused: int) -> "Budget":
        """The budget when a prompt of *refused* tokens did not fit, whatever the limits say."""
        window = min(self.window, refused)
        return Budget(window, min(self.reserved, window // 4))

    @property
    def usable(self) -> int:
        """At or above this a conversation is made shorter before the next step."""
        return self.window - self.reserved

    @property
    def kept_output_tokens(self) -> int:
        """Tool output that pruning leaves, newest first."""
        return min(40_000, self.usable * 40 // 100)

    @property
    def min_pruned_tokens(self) -> int:
        """Less than this is not worth another beginning of the prompt."""
        return min(20_000, self.usable * 15 // 100)

    @property
    def tail_tokens(self) -> int:
        """Newest messages that compaction keeps as they are."""
        return min(max(self.usable // 4, 2_000), 8_000)

    @property
    def pin_tokens(self) -> int:
        """What is pinned takes this much at most."""
        return self.usable // 5


DEFAULT_BUDGET = Budget(100_000, 20_000)
"""What pruning and compaction reckon with where neither a limit nor a refusal is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageWeight:
    """Estimated tokens of messages, by what they are for. *words* is what the user wrote, *told*
    what the harness added, *summary* summaries with what is pinned, *results* the tool output
    with its files, *files* what the user attached; *pruned* is when an output among them was
    last left out (seconds since the epoch)."""

    user_text: int = 0
    reminders: int = 0
    summary: int = 0
    responses: int = 0
    reasoning: int = 0
    calls: int = 0
    results: int = 0
    files: int = 0
    overhead: int = 0
    pruned: float = 0.0

    def __add__(self, other: "MessageWeight") -> "MessageWeight":
        counts = {name: getattr(self, name) + getattr(other, name) for name in _COUNTS}
        return MessageWeight(**counts, pruned=max(self.pruned, other.pruned))

    @property
    def total(self) -> int:
        return sum(getattr(self, name) for name in _COUNTS)


_COUNTS = tuple(field.name for field in fields(MessageWeight) if field.name != "pruned")


class WeightCache:
    """Weighs the messages of one conversation. A list that only grew is not looked through
    again, and a message is weighed once as long as it stays the same object."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[MessageWithParts, MessageWeight]] = {}
        self._list: Sequence[MessageWithParts] = ()
        self._weights: list[MessageWeight] = []
        self._total = 0
        self._pruned = 0.0

    def weights(self, messages: Sequence[MessageWithParts]) -> Sequence[MessageWeight]:
        """The weights of *messages*, a list that nobody changes but at its end."""
        if messages is not self._list or len(messages) < len(self._weights):
            self._list, self._weights, self._total, self._pruned = messages, [], 0, 0.0
        for item in messages[len(self._weights) :]:
            weighed = self._weight(item)
            self._weights.append(weighed)
            self._total += weighed.total
            self._pruned = max(self._pruned, weighed.pruned)
        return self._weights

    def total(self, messages: Sequence[MessageWithParts]) -> int:
        self.weights(messages)
        return self._total

    def pruned(self, messages: Sequence[MessageWithParts]) -> float:
        """When an output among *messages* was last left out (seconds since the epoch)."""
        self.weights(messages)
        return self._pruned

    def _weight(self, item: MessageWithParts) -> MessageWeight:
        known = self._known.get(item.message.id)
        if known is None or known[0] is not item:
            known = self._known[item.message.id] = (item, message_weight(item))
        return known[1]


def message_weight(item: MessageWithParts) -> MessageWeight:
    """What a message takes in a request."""
    total = MessageWeight(overhead=MESSAGE_OVERHEAD)
    users = not isinstance(item.message, AssistantMessage)
    harness = not isinstance(item.message, AssistantMessage) and item.message.synthetic
    for part in item.parts:
        match part:
            case TextPart() if part.ignored:
                pass
            case TextPart() if users and (part.synthetic or harness):
                total += MessageWeight(reminders=estimate_tokens(part.text))
            case TextPart():
                size = estimate_tokens(part.text)
                total += MessageWeight(user_text=size) if users else MessageWeight(responses=size)
            case ContextPart():
                total += MessageWeight(reminders=estimate_tokens(part.reminder))
            case ReasoningPart():
                total += MessageWeight(reasoning=estimate_tokens(part.text))
            case CompactionPart():
                total += MessageWeight(
                    summary=estimate_tokens(part.pins) + estimate_tokens(part.summary)
                )
            case ToolPart():
                total += _call_weight(part)
            case FilePart():
                total += MessageWeight(files=media_tokens(part))
            case _:
                pass
    return total


def _call_weight(part: ToolPart) -> MessageWeight:
    state = part.state
    pruned = state.compacted if isinstance(state, Completed | Failed) else None
    given = json.dumps(input_of(state) or {}, ensure_ascii=False)
    return MessageWeight(
        calls=MESSAGE_OVERHEAD + estimate_tokens(part.tool) + estimate_tokens(given),
        results=output_tokens(part),
        pruned=pruned or 0.0,
    )


def output_tokens(part: ToolPart) -> int:
    """What the output of a call takes as it is sent, with its files."""
    size = estimate_tokens(result_text(part)[0])
    if isinstance(part.state, Completed) and part.state.compacted is None:
        size += sum(map(media_tokens, part.state.files))
    return size


def media_tokens(file: FilePart) -> int:
    """An estimate for an attachment: a picture costs what its size allows at most (Anthropic and
    OpenAI scale it to some 1.2 megapixels), a document by its pages, of some 50 KB each."""
    if file.data is None:
        return 0
    if file.mime.startswith("image/"):
        return IMAGE_TOKENS
    return max(IMAGE_TOKENS, len(file.data) // 40)


def schema_tokens(tools: Sequence[ToolSchema]) -> int:
    """What the descriptions of *tools* take."""
    return sum(
        MESSAGE_OVERHEAD
        + estimate_tokens(f"{tool.name}\n{tool.description}\n{json.dumps(tool.parameters)}")
        for tool in tools
    )
