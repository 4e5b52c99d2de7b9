"""What a session goes on with when another agent takes it over: that agent's own model, or the
one from before an agent that had its own."""

from dataclasses import replace

from agent.agents import AgentInfo, Agents
from agent.records.messages import Session, UserMessage
from agent.store.store import Store


class TakingOver:
    """Says what agents take over. It knows what was chosen before one with a model of its own came,
    also where no prompt was sent with that."""

    def __init__(self, agents: Agents, store: Store) -> None:
        self._agents = agents
        self._store = store
        self._left: dict[str, tuple[str | None, str | None]] = {}

    async def __call__(self, session: Session, name: str) -> Session:
        """*session* with the agent *name*. What the agent leaves open stays as it is; the model
        that the agent before brought along goes with it, unless another was chosen meanwhile."""
        if name == session.agent:
            return session
        before, after = self._agents.find(session.agent), self._agents.find(name)
        model, effort = session.model, session.effort
        if before is not None and not _has_own(before):
            self._left[session.id] = (model, effort)
            if after is not None and _brought(after, session):
                del self._left[session.id]  # whoever calls has given it the new one's already
        elif before is not None and _brought(before, session):
            model, effort = self._left.get(session.id) or await self._last(session)
        if after is not None and _has_own(after):
            model, effort = after.model or model, after.effort
        return replace(session, agent=name, model=model, effort=effort)

    async def _last(self, session: Session) -> tuple[str | None, str | None]:
        """The model and effort that were last used with an agent that has none of its own; None,
        the default, where there was none."""
        for item in reversed(await self._store.since_summary(session.id)):
            message = item.message
            if not isinstance(message, UserMessage) or message.synthetic:
                continue
            agent = self._agents.find(message.agent)
            if agent is not None and not _has_own(agent):
                return message.model, message.effort
        return None, None


def _has_own(agent: AgentInfo) -> bool:
    return agent.model is not None or agent.effort is not None


def _brought(agent: AgentInfo, session: Session) -> bool:
    """Whether *session* has what it has from *agent*."""
    own_model = agent.model is None or agent.model == session.model
    return _has_own(agent) and own_model and agent.effort in {None, session.effort}
