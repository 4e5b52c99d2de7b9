"""The tool that ends plan mode when the user agrees to the plan."""

from agent.agents import Agents
from agent.permission.service import PermissionService
from agent.session.api import PromptInput
from agent.session.service import SessionService
from agent.tools.core.questions import QuestionService
from agent.tools.plan_exit import PLAN_AGENT, PlanExitTool


def plan_tools(
    sessions: SessionService,
    questions: QuestionService,
    permissions: PermissionService,
    agents: Agents,
    default: str,
) -> tuple[PlanExitTool, ...]:
    """The tool by which plan mode is left: for the *default* agent, or the first in the order of
    Tab. () where there is no agent to carry a plan out."""
    names = [info.name for info in agents.primary() if info.name != PLAN_AGENT]
    worker = default if default in names else next(iter(names), None)
    if worker is None or agents.find(PLAN_AGENT) is None:
        return ()

    async def hand_over(session_id: str, text: str, accept: bool) -> None:
        if accept:
            permissions.mode = "accept edits"
        # Dequeued at the turn's next step, so that the worker continues at once.
        await sessions.prompt(session_id, PromptInput(text=text, agent=worker))

    return (PlanExitTool(questions, hand_over),)
