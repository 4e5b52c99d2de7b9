"""A session as a timeline: turns and their steps, with what each took and how it went."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.records.blocks import DiffBlock
from agent.records.decisions import explain_decision
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
    SyntheticPart,
    TextPart,
    ToolPart,
    Usage,
    UserMessage,
)

QUESTION = "question"
"""The tool that asks the user."""


@dataclass(frozen=True, slots=True)
class TimelineStep:
    """One model response with its calls."""

    message: AssistantMessage
    parts: tuple[Part, ...]

    @property
    def seconds(self) -> float | None:
        """From its start to its end, tools included; None while it runs."""
        done = self.message.completed
        return None if done is None else max(0.0, done - self.message.created)

    @property
    def tools(self) -> tuple[ToolPart, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolPart))

    @property
    def failures(self) -> int:
        """Calls that failed, and the step's own error."""
        return sum(is_failed(part) for part in self.tools) + (
            self.message.error is not None and not self.message.interrupted
        )


@dataclass(frozen=True, slots=True)
class TimelineTurn:
    """What one prompt led to. *prompts* are the user's messages, the first of which began it;
    there is none where the harness did. *told* are those messages of the harness that people see
    something of."""

    prompts: tuple[MessageWithParts, ...]
    steps: tuple[TimelineStep, ...]
    synthetic: tuple[MessageWithParts, ...] = ()

    @property
    def messages(self) -> tuple[MessageWithParts, ...]:
        own = (MessageWithParts(step.message, step.parts) for step in self.steps)
        return tuple(
            sorted((*self.prompts, *self.synthetic, *own), key=lambda item: item.message.id)
        )

    @property
    def first_id(self) -> str:
        return self.messages[0].message.id

    @property
    def text(self) -> str:
        """What was asked, or else what began it."""
        if self.prompts:
            return user_text(self.prompts[0])
        told = [synthetic_line(part) for item in self.synthetic for part in item.parts]
        return next((words for words in told if words), "The agent went on")

    @property
    def started(self) -> float:
        steps = [step.message.created for step in self.steps]
        prompts = [item.message.created for item in self.prompts]
        # A report is from when it was made, and may have waited long.
        return min([*prompts, *steps] or [item.message.created for item in self.synthetic])

    @property
    def seconds(self) -> float | None:
        """From its first message to the end of its last step, None while it runs."""
        ends = [step.message.completed for step in self.steps]
        if not ends or None in ends:
            return None
        return max(0.0, max(end for end in ends if end is not None) - self.started)

    @property
    def usage(self) -> Usage:
        return sum((step.message.usage or Usage() for step in self.steps), Usage())

    @property
    def cost(self) -> float | None:
        """US dollars of the steps whose cost is known, None where none is."""
        known = [step.message.cost for step in self.steps if step.message.cost is not None]
        return sum(known) if known else None

    @property
    def failures(self) -> int:
        return sum(step.failures for step in self.steps)

    @property
    def cancelled(self) -> bool:
        return bool(self.steps) and self.steps[-1].message.interrupted


def timeline(messages: Sequence[MessageWithParts]) -> tuple[TimelineTurn, ...]:
    """The turns of *messages* (oldest first). What waits in the queue is left out."""
    return tuple(_turns(messages))


def _turns(messages: Sequence[MessageWithParts]) -> Iterator[TimelineTurn]:
    groups: dict[
        str, tuple[list[MessageWithParts], list[TimelineStep], list[MessageWithParts]]
    ] = {}
    for item in messages:
        message = item.message
        if message.turn_id is None:
            continue
        prompts, steps, told = groups.setdefault(message.turn_id, ([], [], []))
        if isinstance(message, AssistantMessage):
            steps.append(TimelineStep(message, item.parts))
        elif not message.synthetic:
            prompts.append(item)
        elif any(isinstance(part, SyntheticPart) for part in item.parts):
            told.append(item)
    for prompts, steps, told in groups.values():
        if prompts or steps or told:
            yield TimelineTurn(tuple(prompts), tuple(steps), tuple(told))


def user_text(item: MessageWithParts) -> str:
    """What was written in a message, without what the harness added."""
    texts = (p.text for p in item.parts if isinstance(p, TextPart) and not p.synthetic)
    return "\n".join(text for text in texts if text.strip()).strip()


def synthetic_line(part: Part) -> str:
    """A part of a message of the harness on one line, "" for what people see nothing of."""
    match part:
        case ReportPart():
            return part.headline
        case CompactionPart():
            return "Earlier messages were summarised"
        case ToolPart(state=state):
            return f"! {'' if isinstance(state, Pending) else state.label.object}".strip()
        case _:
            return ""


def is_failed(part: ToolPart) -> bool:
    return isinstance(part.state, Failed) and part.state.kind != "aborted"


def is_edit(part: ToolPart) -> bool:
    """Whether the call changed files, or was to."""
    state = part.state
    return not isinstance(state, Pending) and any(isinstance(b, DiffBlock) for b in state.blocks)


def is_question(part: ToolPart) -> bool:
    """Whether the user was asked by it or about it, or would have been; or it was refused."""
    denied = isinstance(part.state, Failed) and part.state.kind == "denied"
    asked = any(one.question or one.answer == "reject" for one in part.decisions)
    return part.tool == QUESTION or denied or asked


def decision_lines(part: ToolPart) -> tuple[str, ...]:
    """How the questions of a call and about it were answered, and what else decided on it."""
    decided = tuple(explain_decision(one) for one in part.decisions)
    own = result_text(part).strip() if part.tool == QUESTION else ""
    return (*decided, own) if own else decided


def result_text(part: ToolPart) -> str:
    """What a call ended with, as the model read it; "" while it runs."""
    match part.state:
        case Completed(output=output):
            return output
        case Failed(error=error, output=output):
            return f"{error}\n{output}".strip()
        case _:
            return ""


def find_text(messages: Sequence[MessageWithParts], typed: str) -> list[tuple[str, str]]:
    """Message and part ids of what holds *typed*, whatever its case, oldest first."""
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
