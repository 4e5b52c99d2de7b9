"""The token meter: how full the model's window is, as reported, else as estimated."""

from agent.provider.client import ModelInfo, ToolSchema
from agent.records.frozen import frozen
from agent.records.messages import AssistantMessage, Usage, messages_before
from agent.session.context.budget import (
    DEFAULT_BUDGET,
    MIN_FACTOR,
    Budget,
    Calibration,
    WeightCache,
    estimate_tokens,
    schema_tokens,
)
from agent.session.context.conversation import Conversation


@frozen
class StepSettings:
    """The agent and model that the newest user message names, and the settings that follow."""

    agent: str
    model: ModelInfo
    effort: str | None
    system: tuple[str, ...]
    tools: tuple[ToolSchema, ...]
    max_steps: int | None = None
    temperature: float | None = None
    target_tokens: int | None = None
    auto_compact: bool = True


class TokenMeter:
    """Measures one session's *conversation*. *reserved* tokens of a window are kept for the
    response, None for the default."""

    def __init__(
        self,
        session_id: str,
        conversation: Conversation,
        calibration: Calibration,
        reserved: int | None,
    ) -> None:
        self._session_id = session_id
        self._conversation = conversation
        self._calibration = calibration
        self._reserved = reserved
        self._scales = WeightCache()
        self._overheads: dict[tuple[str, ...], int] = {}
        self._refused: int | None = None

    def budget(self, setting: StepSettings) -> Budget | None:
        """Return the limits of the step's model, None where they are not known."""
        return Budget.for_model(setting.model, self._reserved)

    def used_tokens(self, setting: StepSettings) -> int:
        """Return the tokens of the next request: the last step's report plus everything since; an
        estimate without a usable report."""
        whole = self.estimated_tokens(setting)
        reported = self.reported_tokens(setting)
        if reported is None:
            return round(self.factor(setting) * whole)
        # Some servers report only the part of a prompt that they had not cached.
        return max(reported, round(MIN_FACTOR * whole))

    def reported_tokens(self, setting: StepSettings) -> int | None:
        """Return the last step's report plus everything since. None if the report does not apply:
        it was another model's, or the conversation was shortened since."""
        visible, marker = self._conversation.visible, self._conversation.marker
        weights, pruned = self._scales.weights(visible), self._scales.pruned(visible)
        stale = messages_before(self._conversation.all, marker.message_id) if marker else ()
        ids = {item.message.id for item in stale}
        since = 0
        for item, weight in zip(reversed(visible), reversed(weights), strict=True):
            message = item.message
            if isinstance(message, AssistantMessage) and message.usage and message.usage.input:
                fits = message.model == setting.model.full_name and message.created >= pruned
                if not fits or message.id in ids:
                    return None
                later = round(self.factor(setting) * (since + weight.results))
                return message.usage.input + message.usage.output + later
            since += weight.total
        return None

    def estimated_tokens(self, setting: StepSettings) -> int:
        """Return the estimated tokens of the next request, before any correction."""
        return self.fixed_tokens(setting) + self._scales.total(self._conversation.visible)

    def calibrate(self, setting: StepSettings, estimated: int, usage: Usage | None) -> None:
        """Correct later estimates by the report for a request of *estimated* tokens."""
        if usage is not None:
            name = setting.model.full_name
            self._calibration.observe(self._session_id, name, estimated, usage.input)

    def note_refusal(self, setting: StepSettings) -> None:
        """Record that the provider refused the last request as too long."""
        self._refused = self.used_tokens(setting)

    def clear_refusal(self) -> None:
        """Forget the refusal: the conversation was shortened."""
        self._refused = None

    def factor(self, setting: StepSettings) -> float:
        """Return the factor from estimated tokens to the model's."""
        return self._calibration.factor(self._session_id, setting.model.full_name)

    def fixed_tokens(self, setting: StepSettings) -> int:
        """Return the estimated tokens of the system prompt and the tools."""
        key = (*setting.system, *(tool.name for tool in setting.tools))
        if key not in self._overheads:
            size = sum(map(estimate_tokens, setting.system)) + schema_tokens(setting.tools)
            self._overheads[key] = size
        return self._overheads[key]

    def effective_budget(self, setting: StepSettings) -> Budget:
        """Return the limits for shortening: the model's, or less after a refusal."""
        known = self.budget(setting)
        if self._refused is None:
            return known or DEFAULT_BUDGET
        return (known or Budget(self._refused, self._refused)).after_refusal(self._refused)
