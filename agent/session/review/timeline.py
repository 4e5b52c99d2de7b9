"""The timeline of a session: turns and their steps, with usage and outcome."""

from collections.abc import Iterator, Sequence

from agent.records.blocks import DiffBlock
from agent.records.decisions import explain_decision
from agent.records.frozen import frozen
from agent.records.labels import label_of
from agent.records.messages import (
    AssistantMessage,
    CompactionPart,
    Completed,
    Failed,
    MessageWithParts,
    Part,
    Pending,
    ReasoningPart,
    ReportPart,
    StepFinishPart,
    SyntheticPart,
    TextPart,
    ToolPart,
    Usage,
    UserMessage,
)

QUESTION = "question"
"""The tool that asks the user."""


@frozen
class TimelineStep:
    """One model response with its calls."""

    message: AssistantMessage
    parts: tuple[Part, ...]

    @property
    def seconds(self) -> float | None:
        """Seconds from start to end, tools included; None while it runs."""
        done = self.message.completed
        return None if done is None else max(0.0, done - self.message.created)

    @property
    def tools(self) -> tuple[ToolPart, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolPart))

    @property
    def failures(self) -> int:
        """The number of failed calls, plus the step's own error."""
        return sum(is_failed(part) for part in self.tools) + (
            self.message.error is not None and not self.message.interrupted
        )


@frozen
class TimelineTurn:
    """One turn."""

    prompts: tuple[MessageWithParts, ...]
    """The user's messages, the first of which started the turn; none where the program did."""
    steps: tuple[TimelineStep, ...]
    synthetic: tuple[MessageWithParts, ...]
    """The program's messages with content for users."""
    messages: tuple[MessageWithParts, ...]
    """All of these, oldest first."""

    @property
    def first_id(self) -> str:
        return self.messages[0].message.id

    @property
    def text(self) -> str:
        """The first prompt, or else the message that started the turn."""
        if self.prompts:
            return user_text(self.prompts[0])
        lines = [synthetic_line(part) for item in self.synthetic for part in item.parts]
        return next((line for line in lines if line), "The agent continued")

    @property
    def started(self) -> float:
        steps = [step.message.created for step in self.steps]
        prompts = [item.message.created for item in self.prompts]
        # A report is created when it is made, and can be queued for long.
        return min([*prompts, *steps] or [item.message.created for item in self.synthetic])

    @property
    def seconds(self) -> float | None:
        """Seconds from its first message to the end of its last step, None while it runs."""
        ends = [step.message.completed for step in self.steps]
        if not ends or None in ends:
            return None
        return max(0.0, max(end for end in ends if end is not None) - self.started)

    @property
    def usage(self) -> Usage:
        return sum((step.message.usage or Usage() for step in self.steps), Usage())

    @property
    def cost(self) -> float | None:
        """US dollars of the steps with a known cost, None without any."""
        known = [step.message.cost for step in self.steps if step.message.cost is not None]
        return sum(known) if known else None

    @property
    def failures(self) -> int:
        return sum(step.failures for step in self.steps)

    @property
    def cache_misses(self) -> int:
        """The number of steps that missed the provider's cache."""
        parts = (part for step in self.steps for part in step.parts)
        return sum(isinstance(p, StepFinishPart) and p.cache_miss is not None for p in parts)

    @property
    def cancelled(self) -> bool:
        return bool(self.steps) and self.steps[-1].message.interrupted


def timeline(messages: Sequence[MessageWithParts]) -> tuple[TimelineTurn, ...]:
    """Return the turns of *messages* (oldest first), without queued messages."""
    return tuple(_turns(messages))


def _turns(messages: Sequence[MessageWithParts]) -> Iterator[TimelineTurn]:
    groups: dict[str, list[MessageWithParts]] = {}
    for item in messages:
        own = item.message.role == "assistant" or not item.message.synthetic
        if item.message.turn_id is not None and (
            own or any(isinstance(part, SyntheticPart) for part in item.parts)
        ):
            groups.setdefault(item.message.turn_id, []).append(item)
    for group in groups.values():
        asked = [item for item in group if isinstance(item.message, UserMessage)]
        yield TimelineTurn(
            prompts=tuple(item for item in asked if not _is_synthetic(item)),
            steps=tuple(
                TimelineStep(item.message, item.parts)
                for item in group
                if isinstance(item.message, AssistantMessage)
            ),
            synthetic=tuple(item for item in asked if _is_synthetic(item)),
            messages=tuple(group),
        )


def user_text(item: MessageWithParts) -> str:
    """Return the text of a message without the program's additions."""
    texts = (p.text for p in item.parts if isinstance(p, TextPart) and not p.synthetic)
    return "\n".join(text for text in texts if text.strip()).strip()


def synthetic_line(part: Part) -> str:
    """Return a part of a synthetic message in one line, "" if users see nothing of it."""
    match part:
        case ReportPart():
            return part.headline
        case CompactionPart():
            return "Earlier messages were summarized"
        case ToolPart(state=state):
            return f"! {'' if isinstance(state, Pending) else state.label.object}".strip()
        case _:
            return ""


def is_failed(part: ToolPart) -> bool:
    return isinstance(part.state, Failed) and part.state.kind != "aborted"


def is_edit(part: ToolPart) -> bool:
    """Return whether the call changed files, or would have."""
    state = part.state
    return not isinstance(state, Pending) and any(isinstance(b, DiffBlock) for b in state.blocks)


def is_question(part: ToolPart) -> bool:
    """Return whether the call asked the user or needed a permission request, or was rejected."""
    denied = isinstance(part.state, Failed) and part.state.kind == "denied"
    was_asked = any(one.question or one.answer == "reject" for one in part.decisions)
    return part.tool == QUESTION or denied or was_asked


def decision_lines(part: ToolPart) -> tuple[str, ...]:
    """Return the decisions on a call and, for a question, its answer."""
    decided = tuple(explain_decision(one) for one in part.decisions)
    own = result_text(part).strip() if part.tool == QUESTION else ""
    return (*decided, own) if own else decided


def result_text(part: ToolPart) -> str:
    """Return the result of a call as the model read it; "" while it runs."""
    match part.state:
        case Completed(output=output):
            return output
        case Failed(error=error, output=output):
            return f"{error}\n{output}".strip()
        case _:
            return ""


def find_text(messages: Sequence[MessageWithParts], typed: str) -> list[tuple[str, str]]:
    """Return message and part ids of the parts that contain *typed*, ignoring case, oldest
    first."""
    wanted = typed.casefold().strip()
    if not wanted:
        return []
    return [
        (item.message.id, part.id)
        for item in messages
        for part in item.parts
        if isinstance(part, SyntheticPart) or not _is_synthetic(item)
        if wanted in _searchable_text(part).casefold()
    ]


def _is_synthetic(item: MessageWithParts) -> bool:
    return isinstance(item.message, UserMessage) and item.message.synthetic


def _searchable_text(part: Part) -> str:
    match part:
        case TextPart(text=text, synthetic=False):
            return text
        case ToolPart():
            return f"{label_of(part).verb} {label_of(part).object}\n{result_text(part)}"
        case ReasoningPart(text=text):
            return text
        case ReportPart():
            return f"{part.headline}\n{part.body}"
        case CompactionPart(summary=text):
            return text
        case _:
            return ""
