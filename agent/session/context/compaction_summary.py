"""Summaries of the older part of a session, requested from a model."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from agent.provider.client import (
    ModelClient,
    ModelInfo,
    ModelRequest,
    TextContent,
    Turn,
    UserTurn,
    complete,
)
from agent.records.context_parts import ContextPart
from agent.records.errors import ProviderError, ProviderErrorKind
from agent.records.frozen import frozen
from agent.records.json import Json
from agent.records.messages import (
    Completed,
    Failed,
    FilePart,
    MessageWithParts,
    Part,
    TextPart,
    ToolPart,
    Usage,
)
from agent.session.context.budget import Budget, estimate_tokens, message_weight
from agent.session.context.compaction_markers import file_placeholder
from agent.session.context.request_turns import request_turns

MAX_OUTPUT = 8_192
"""Tokens of a summary at most, the reasoning of a reasoning model included."""

MESSAGE_SHARES = (1.0, 0.5, 0.25)
"""Share of the messages that each attempt takes, newest first; their number is that of attempts."""

OUTPUT_CHARS = (2_000, 800, 300)
"""Characters of a tool's output or of one argument that each attempt shows."""

REQUEST = "Summarize the conversation above, in the sections of your instructions."
FOCUS = " The user asks you to preserve this above all: {focus}"
EARLIER = "A summary of what came before. Include what still matters of it in yours:\n\n{summary}"
LEFT_OUT = "[{count} older messages are omitted here: they did not fit.]"
TOO_LONG = (
    "The conversation could not be compacted: even its newest part does not fit the window of "
    "{model}. Nothing was lost. Choose a model with a larger window and run /compact."
)


@frozen
class Summary:
    """A summary. *usage* is None where the provider did not report it."""

    text: str
    usage: Usage | None


@frozen(kw_only=True)
class Summarizer:
    """A model with the *prompt* (the sections of a summary)."""

    client: ModelClient
    model: ModelInfo
    prompt: str
    session_id: str
    """Sent with the request."""
    focus: str = ""
    """The user's wish for what to preserve."""
    factor: float = 1.0
    """The factor from estimated tokens to the model's."""

    async def summarize(self, messages: Sequence[MessageWithParts], earlier: str = "") -> Summary:
        """Return the summary of *messages* and of an *earlier* summary.

        Raises ``ProviderError`` when the model gives none: of kind overflow after the last attempt.
        """
        for share, chars in zip(MESSAGE_SHARES, OUTPUT_CHARS, strict=True):
            taken = messages[-max(1, round(len(messages) * share)) :] if messages else ()
            shown = [_simplify(item, chars) for item in taken]
            shown = shown[self._first_fitting(shown) :]
            try:
                return await self._request_summary(shown, len(messages) - len(shown), earlier)
            except ProviderError as error:
                if error.kind is not ProviderErrorKind.OVERFLOW:
                    raise
        sentence = TOO_LONG.format(model=self.model.full_name)
        raise ProviderError(ProviderErrorKind.OVERFLOW, sentence)

    def _first_fitting(self, messages: Sequence[MessageWithParts]) -> int:
        """Return the index from which on *messages* fit the window, as far as it is known."""
        budget = Budget.for_model(self.model)
        if budget is None:
            return 0
        room = budget.usable / self.factor - estimate_tokens(self.prompt)
        for index in range(len(messages) - 1, -1, -1):
            room -= message_weight(messages[index]).total
            if room < 0:
                return min(index + 1, len(messages) - 1)
        return 0

    async def _request_summary(
        self, messages: Sequence[MessageWithParts], left_out: int, earlier: str
    ) -> Summary:
        notes: list[str] = []
        if earlier:
            notes.append(EARLIER.format(summary=earlier))
        if left_out:
            notes.append(LEFT_OUT.format(count=left_out))
        before: tuple[Turn, ...] = (UserTurn((TextContent("\n\n".join(notes)),)),) if notes else ()
        focus = FOCUS.format(focus=self.focus) if self.focus else ""
        request = ModelRequest(
            model=self.model,
            system=(self.prompt,),
            turns=(*before, *request_turns(messages), UserTurn((TextContent(REQUEST + focus),))),
            max_output=min(MAX_OUTPUT, self.model.output_limit or MAX_OUTPUT),
            session_id=self.session_id,
        )
        answer = await complete(self.client, request, "summary")
        return Summary(answer.text, answer.usage)


def _simplify(item: MessageWithParts, chars: int) -> MessageWithParts:
    """Return *item* for the summary request: files described, long outputs and arguments cut."""
    return replace(item, parts=tuple(_simplified_parts(item, chars)))


def _simplified_parts(item: MessageWithParts, chars: int) -> Iterator[Part]:
    for part in item.parts:
        match part:
            case FilePart() if part.data is not None:
                yield file_placeholder(part)
            case TextPart(mark="compaction_continue") | ContextPart():
                pass
            case ToolPart(state=Completed() as state):
                short = replace(
                    state,
                    output=cut_middle(state.output, chars)
                    if state.compacted is None
                    else state.output,
                    files=(),
                    input={key: _cut_json(value, chars) for key, value in state.input.items()},
                )
                yield replace(part, state=short)
            case ToolPart(state=Failed() as state):
                given = state.input or {}
                short = replace(
                    state,
                    error=cut_middle(state.error, chars),
                    output=cut_middle(state.output, chars)
                    if state.compacted is None
                    else state.output,
                    input={key: _cut_json(value, chars) for key, value in given.items()},
                )
                yield replace(part, state=short)
            case _:
                yield part


def _cut_json(value: Json, chars: int) -> Json:
    match value:
        case str():
            return cut_middle(value, chars)
        case list():
            return [_cut_json(each, chars) for each in value]
        case dict():
            return {key: _cut_json(each, chars) for key, each in value.items()}
        case _:
            return value


def cut_middle(text: str, chars: int) -> str:
    """Return *text* with its middle left out, so that some *chars* characters stay."""
    if len(text) <= chars:
        return text
    half = chars // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} characters …]\n{text[-half:]}"
