"""The ``plan_exit`` tool: the plan agent proposes to carry out its plan, the user decides."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from pydantic import Field

from agent.records.blocks import ToolLabel
from agent.records.errors import PermissionRejected, ToolError
from agent.records.frozen import frozen
from agent.records.ids import new_id
from agent.records.requests import PermissionNeed, PermissionReply, Question, QuestionOption
from agent.records.tool_facts import PLAN_AGENT, ToolFacts
from agent.tools.core.questions import QuestionService
from agent.tools.core.tool import BaseTool, Plan, Result, ToolContext, ToolSpec
from agent.tools.core.tool_args import ToolArgs
from agent.tools.files.paths import resolve_path, show_path

"""The agent whose mode the tool ends."""

HandOverPlan = Callable[[str, str, bool], Awaitable[None]]
"""Lets another agent continue in a session (its id) with a text as the user's next message; with
*True* edits are accepted from then on."""

CARRY_OUT_OPTION = QuestionOption("Carry it out", "Edits and commands ask as usual")
ACCEPT_EDITS_OPTION = QuestionOption(
    "Carry it out and accept edits", "Edits in the project no longer ask"
)
KEEP_PLANNING_OPTION = QuestionOption(
    "Keep planning", "Say what is missing, or continue by yourself"
)

AGREED = "The user agreed. Plan mode is over; their next message hands the plan to you."
CHANGE = "The user does not want the plan carried out yet. They say: {text}"
CARRY_OUT = "Carry out the plan."
CARRY_OUT_FILE = "Carry out the plan in {file}."
NOT_PLANNING = "Plan mode is not on. Continue with what you were asked to do."


class PlanExitArgs(ToolArgs):
    """Arguments of ``plan_exit``."""

    file: str = Field(default="", description="Path of the plan file, if the plan is in one")


@frozen
class ExitPlan:
    question: Question
    file: str


class PlanExitTool(BaseTool):
    """Asks through *questions*; an accepted plan goes to *hand_over*."""

    spec = ToolSpec(name="plan_exit", verb="Plan", aliases=("exit_plan_mode",))
    facts = ToolFacts(
        action="allow", for_subagents=False, only_agent=PLAN_AGENT, needs_answer="choice"
    )
    args = PlanExitArgs

    def __init__(self, questions: QuestionService, hand_over: HandOverPlan) -> None:
        self._questions = questions
        self._hand_over = hand_over

    async def prepare(self, args: PlanExitArgs, ctx: ToolContext) -> Plan[ExitPlan]:
        # It is still offered to every agent: the tools of requests must not change.
        if ctx.agent != PLAN_AGENT or ctx.callers:
            raise ToolError(NOT_PLANNING)
        file = _shown(args.file, ctx)
        question = Question(
            id=new_id("que"),
            session_id=ctx.session_id,
            root_id=ctx.root_id,
            header="Plan",
            text=f"Carry out the plan in {file}?" if file else "Carry out the plan?",
            options=(CARRY_OUT_OPTION, ACCEPT_EDITS_OPTION, KEEP_PLANNING_OPTION),
            agent=ctx.agent,
            message_id=ctx.message_id,
            call_id=ctx.call_id,
        )
        return Plan(
            label=ToolLabel("Plan", file or "ready"),
            payload=ExitPlan(question, file),
            needs=(PermissionNeed("plan_exit", "*", always="*", default_action="allow"),),
            heading="Let the agent propose to leave plan mode?",
            writes=(),
        )

    async def execute(
        self, plan: Plan[ExitPlan], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        answer = await self._questions.ask(plan.payload.question, ctx.on_request)
        agreed = next(
            (o for o in (CARRY_OUT_OPTION, ACCEPT_EDITS_OPTION) if o.label in answer.labels), None
        )
        if agreed is not None:
            file = plan.payload.file
            text = CARRY_OUT_FILE.format(file=file) if file else CARRY_OUT
            if answer.text:
                text = f"{text} {answer.text}"
            await self._hand_over(ctx.session_id, text, agreed is ACCEPT_EDITS_OPTION)
            return Result(AGREED, label=ToolLabel("Plan", file or "ready", "agreed"))
        if answer.dismissed or not answer.text:
            raise PermissionRejected("The user wants to keep planning.")
        return Result(CHANGE.format(text=answer.text), label=ToolLabel("Plan", "to be changed"))


def _shown(file: str, ctx: ToolContext) -> str:
    """Return the plan file for display, "" without one. Raises ``ToolError`` if it is missing."""
    if not file.strip():
        return ""
    target = resolve_path(file.strip(), ctx)
    if not Path(target.real).is_file():
        raise ToolError(
            f"There is no file {target.shown}. Write the plan there first, or omit `file`."
        )
    return show_path(target.path, ctx)
