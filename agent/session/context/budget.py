"""Token budgets of models, and the estimated size of texts and messages."""

import json
from collections.abc import Sequence
from dataclasses import fields

from agent.provider.client import ModelInfo, ToolSchema
from agent.records.context_parts import ContextPart
from agent.records.frozen import frozen
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
from agent.records.patterns import lazy_pattern
from agent.session.context.request_turns import input_of, result_text

# Token estimates need no tokenizer's data. The shape of a text nearly decides its tokens:
# tokenizers split at the same places, where letters, digits and marks meet, and differ in how they
# cut long words. The weights below were fitted by least squares to some 700 files of prose, code,
# logs and tables as OpenAI's ``o200k_base`` counts them; half of those are met within 4 %, 95 %
# within 12 %. Other tokenizers differ by a factor that hardly changes within a session, which
# ``Calibration`` learns from the reported usage.
_LETTERS = lazy_pattern(r"[A-Z]?[a-z]+|[A-Z]+")
_DIGITS = lazy_pattern(r"[0-9]{1,3}")
_WORDS = lazy_pattern(r"[A-Za-z0-9]+")
_MARKS = lazy_pattern(r"[!-/:-@\[-`{-~]+")
_RULES = lazy_pattern(r"([!-/:-@\[-`{-~])\1{4,}")
_BLANKS = lazy_pattern(r"\n[ \t]*|[ \t]{2,}|\t")
_EAST_ASIAN = lazy_pattern(r"[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")
_HANGUL = lazy_pattern(r"[\u1100-\u11ff\uac00-\ud7af]")
_FOREIGN = lazy_pattern(r"[^\x00-\x7f]")
_FOREIGN_LETTERS = lazy_pattern(r"[^\W\d_\x00-\x7f]")

SLICE_COUNT = 10
SLICE_SIZE = 20_000
"""Characters of a slice: of a text longer than all slices together only these are counted."""

MIN_CACHED_LENGTH = 100
"""Characters from which on an estimate is worth caching."""

MAX_CACHED = 8_192
"""Number of cached estimates."""

MIN_FACTOR, MAX_FACTOR = 0.5, 2.5
"""No tokenizer is further from the estimate than this; a report that is, was made up."""


cached_estimates: dict[tuple[int, int], int] = {}


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of *text*. Some 80 ns a character, and a hundredth of that where the
    estimate is cached: each turn weighs its session anew."""
    if len(text) < MIN_CACHED_LENGTH:
        return _estimate(text)
    # The texts themselves are not kept. A collision is all but impossible, and the result is an
    # estimate anyway.
    key = len(text), hash(text)
    found = cached_estimates.get(key)
    if found is None:
        found = _estimate(text)
        if len(cached_estimates) >= MAX_CACHED:
            cached_estimates.clear()
        cached_estimates[key] = found
    return found


def _estimate(text: str) -> int:
    if len(text) <= SLICE_COUNT * SLICE_SIZE:
        return round(_tokens(text))
    step = len(text) // SLICE_COUNT
    seen = sum(_tokens(text[at : at + SLICE_SIZE]) for at in range(0, step * SLICE_COUNT, step))
    return round(seen * len(text) / (SLICE_COUNT * SLICE_SIZE))


def _tokens(text: str) -> float:
    letters = _LETTERS.findall(text)
    digits = len(_DIGITS.findall(text))
    marks = _MARKS.findall(text)
    # Pieces of one word, as in camelCase or a digest, are no words of the tokenizer's.
    inner = len(letters) + digits - len(_WORDS.findall(text))
    drawn = sum(len(run.group()) - 4 for run in _RULES.finditer(text))  # ---- and ====
    total = (
        0.74 * len(letters)
        + 0.055 * sum(map(len, letters))
        + 1.05 * digits
        + 0.235 * inner
        + 0.44 * len(marks)
        + 0.30 * sum(map(len, marks))
        - 0.18 * drawn
        + 0.97 * len(_BLANKS.findall(text))
    )
    return total if text.isascii() else total + _non_ascii_tokens(text)


def _non_ascii_tokens(text: str) -> float:
    """Estimate the tokens outside ASCII, between older and newer tokenizers."""
    east_asian = len(_EAST_ASIAN.findall(text))
    hangul = len(_HANGUL.findall(text))
    others = len(_FOREIGN_LETTERS.findall(text)) - hangul
    others -= sum(character.isalpha() for character in _EAST_ASIAN.findall(text))
    signs = len(_FOREIGN.findall(text)) - east_asian - hangul - others
    return 0.78 * east_asian + 0.9 * hangul + 0.4 * others + 0.8 * signs


class Calibration:
    """Correction factors of the estimates by session and model, from the providers' last reports;
    kept as long as the program runs."""

    def __init__(self) -> None:
        self._factors: dict[tuple[str, str], float] = {}

    def observe(self, session_id: str, model: str, estimated: int, reported: int) -> None:
        """Record that a prompt of *estimated* tokens had *reported* ones."""
        if estimated > 0 and reported > 0:
            factor = min(MAX_FACTOR, max(MIN_FACTOR, reported / estimated))
            self._factors[session_id, model] = factor

    def factor(self, session_id: str, model: str) -> float:
        """Return the factor; 1.0 before anything was reported for that session and model."""
        return self._factors.get((session_id, model), 1.0)


MAX_RESERVED = 20_000
"""Tokens of the window that are reserved for the response at most, unless the settings say more."""

IMAGE_TOKENS = 1_600
"""Tokens of the largest image that providers accept without scaling, as they document it."""

MESSAGE_OVERHEAD = 4
"""Tokens that a message takes in addition to its content."""


@frozen
class Budget:
    """Token limits of a model."""

    window: int
    """Tokens that a prompt can have: the input limit, else the context limit."""
    reserved: int
    """Tokens of the window that are reserved for the response."""

    @classmethod
    def for_model(cls, model: ModelInfo, reserved: int | None = None) -> "Budget | None":
        """Return the budget of *model*; None without known limits: then the provider's own error
        decides.

        *reserved* comes from the settings, None for the default; a quarter of the window always
        stays usable.
        """
        window = model.input_limit or model.context_limit
        if window is None:
            return None
        if reserved is None:
            reserved = min(MAX_RESERVED, model.output_limit or MAX_RESERVED, window // 4)
        return cls(window, min(reserved, window * 3 // 4))

    def after_refusal(self, refused: int) -> "Budget":
        """Return the budget after a prompt of *refused* tokens did not fit, whatever the limits
        say."""
        window = min(self.window, refused)
        return Budget(window, min(self.reserved, window // 4))

    @property
    def usable(self) -> int:
        """Tokens from which on a conversation is shortened before the next step."""
        return self.window - self.reserved

    @property
    def kept_output_tokens(self) -> int:
        """Tokens of tool output that pruning keeps, newest first."""
        return min(40_000, self.usable * 40 // 100)

    @property
    def min_pruned_tokens(self) -> int:
        """Tokens that pruning must save at least: less is not worth another start of the prompt,
        which the provider has cached."""
        return min(20_000, self.usable * 15 // 100)

    @property
    def tail_tokens(self) -> int:
        """Tokens of the newest messages that compaction keeps as they are."""
        return min(max(self.usable // 4, 2_000), 8_000)

    @property
    def pin_tokens(self) -> int:
        """Tokens of pinned text at most."""
        return self.usable // 5


DEFAULT_BUDGET = Budget(100_000, 20_000)
"""Used by pruning and compaction where neither a limit nor a refusal is known."""


@frozen(kw_only=True)
class MessageWeight:
    """Estimated tokens of messages, by purpose."""

    user_text: int = 0
    reminders: int = 0
    """Text that the program added."""
    summary: int = 0
    """Summaries with the pinned text."""
    responses: int = 0
    reasoning: int = 0
    calls: int = 0
    results: int = 0
    """Tool output with its files."""
    files: int = 0
    """Files that the user attached."""
    overhead: int = 0
    pruned: float = 0.0
    """When an output among them was last pruned (seconds since the epoch)."""

    def __add__(self, other: "MessageWeight") -> "MessageWeight":
        counts = {name: getattr(self, name) + getattr(other, name) for name in _COUNTS}
        return MessageWeight(**counts, pruned=max(self.pruned, other.pruned))

    @property
    def total(self) -> int:
        return sum(getattr(self, name) for name in _COUNTS)


_COUNTS = tuple(field.name for field in fields(MessageWeight) if field.name != "pruned")


class WeightCache:
    """The weights of one conversation's messages. A list that only grew is not read again, and a
    message is weighed once as long as it stays the same object."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[MessageWithParts, MessageWeight]] = {}
        self._list: Sequence[MessageWithParts] = ()
        self._weights: list[MessageWeight] = []
        self._total = 0
        self._pruned = 0.0

    def weights(self, messages: Sequence[MessageWithParts]) -> Sequence[MessageWeight]:
        """Return the weights of *messages*, a list that is changed only at its end."""
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
        """Return when an output among *messages* was last pruned (seconds since the epoch)."""
        self.weights(messages)
        return self._pruned

    def _weight(self, item: MessageWithParts) -> MessageWeight:
        known = self._known.get(item.message.id)
        if known is None or known[0] is not item:
            known = self._known[item.message.id] = (item, message_weight(item))
        return known[1]


def message_weight(item: MessageWithParts) -> MessageWeight:
    """Return the size of a message in a request."""
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
                total += MessageWeight(files=media_tokens(part), pruned=part.omitted or 0.0)
            case _:
                pass
    return total


def _call_weight(part: ToolPart) -> MessageWeight:
    state = part.state
    pruned = state.compacted if isinstance(state, Completed | Failed) else None
    files = state.files if isinstance(state, Completed) else ()
    omitted = max((file.omitted or 0.0 for file in files), default=0.0)
    given = json.dumps(input_of(state) or {}, ensure_ascii=False)
    return MessageWeight(
        calls=MESSAGE_OVERHEAD + estimate_tokens(part.tool) + estimate_tokens(given),
        results=output_tokens(part),
        pruned=max(pruned or 0.0, omitted),
    )


def output_tokens(part: ToolPart) -> int:
    """Return the size of a call's output as it is sent, with its files."""
    size = estimate_tokens(result_text(part)[0])
    if isinstance(part.state, Completed) and part.state.compacted is None:
        size += sum(map(media_tokens, part.state.files))
    return size


def media_tokens(file: FilePart) -> int:
    """Estimate an attachment: an image costs at most its scaled size (Anthropic and OpenAI scale to
    some 1.2 megapixels), a document its pages, of some 50 KB each."""
    if file.data is None or file.omitted is not None:
        return 0
    if file.mime.startswith("image/"):
        return IMAGE_TOKENS
    return max(IMAGE_TOKENS, len(file.data) // 40)


def schema_tokens(tools: Sequence[ToolSchema]) -> int:
    """Return the size of the descriptions of *tools*."""
    return sum(
        MESSAGE_OVERHEAD
        + estimate_tokens(f"{tool.name}\n{tool.description}\n{json.dumps(tool.parameters)}")
        for tool in tools
    )
