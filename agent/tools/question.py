"""The ``question`` tool: ask the user, with options or for an answer of their own."""

from pydantic import AliasChoices, Field

from agent.records.blocks import TableBlock, ToolLabel
from agent.records.errors import QUESTION_CLOSED, PermissionRejected
from agent.records.frozen import frozen
from agent.records.ids import new_id
from agent.records.requests import (
    PermissionNeed,
    PermissionReply,
    Question,
    QuestionOption,
    QuestionReply,
)
from agent.records.tool_facts import ToolFacts
from agent.tools.core.questions import QuestionService
from agent.tools.core.tool import BaseTool, Plan, Result, ToolContext, ToolSpec
from agent.tools.core.tool_args import ToolArgs

MAX_QUESTIONS = 6
MAX_OPTIONS = 12
MAX_HEADER = 40


class OptionArg(ToolArgs):
    """One option."""

    label: str = Field(min_length=1, description="One to five words")
    description: str = Field(default="", description="What choosing it means")


class QuestionArg(ToolArgs):
    """One question."""

    question: str = Field(
        min_length=1,
        validation_alias=AliasChoices("question", "text"),
    )
    header: str = Field(default="", description="Its subject in a few words")
    options: list[OptionArg] = Field(
        default=[], max_length=MAX_OPTIONS, description="Answers to choose from, the best first"
    )
    multiple: bool = Field(
        default=False,
        validation_alias=AliasChoices("multiple", "multiSelect", "multi_select"),
        description="True if several options may be chosen",
    )


class QuestionArgs(ToolArgs):
    """Arguments of ``question``."""

    questions: list[QuestionArg] = Field(
        min_length=1, max_length=MAX_QUESTIONS, description="The questions, asked one by one"
    )


@frozen
class QuestionPlan:
    questions: tuple[Question, ...]


class QuestionTool(BaseTool):
    """Asks through *service*."""

    spec = ToolSpec(
        name="question",
        verb="Ask",
        aliases=("ask_user", "ask_user_question", "ask_question", "ask_followup_question"),
        variables={"most": str(MAX_QUESTIONS)},
    )
    facts = ToolFacts(
        action="allow", claude_name="AskUserQuestion", for_subagents=False, needs_answer="text"
    )
    args = QuestionArgs

    def __init__(self, service: QuestionService) -> None:
        self._service = service

    async def prepare(self, args: QuestionArgs, ctx: ToolContext) -> Plan[QuestionPlan]:
        total = len(args.questions)
        questions = tuple(
            Question(
                id=new_id("que"),
                session_id=ctx.session_id,
                root_id=ctx.root_id,
                header=asked.header.strip()[:MAX_HEADER],
                text=asked.question.strip(),
                options=tuple(
                    QuestionOption(option.label.strip(), option.description.strip())
                    for option in asked.options
                ),
                multiple=asked.multiple,
                agent=ctx.agent,
                number=number,
                total=total,
                message_id=ctx.message_id,
                call_id=ctx.call_id,
            )
            for number, asked in enumerate(args.questions, 1)
        )
        return Plan(
            label=_label(questions),
            payload=QuestionPlan(questions),
            needs=(PermissionNeed("question", "*", always="*", default_action="allow"),),
            heading="Let the agent ask you something?",
            writes=(),
        )

    async def execute(
        self, plan: Plan[QuestionPlan], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        answers: list[tuple[Question, QuestionReply]] = []
        for question in plan.payload.questions:
            answer = await self._service.ask(question, ctx.on_request)
            if answer.dismissed:
                raise PermissionRejected(QUESTION_CLOSED)
            answers.append((question, answer))
        rows = tuple(
            (question.header or question.text, _short_answer(a)) for question, a in answers
        )
        return Result(
            "\n\n".join(_answer_text(question, answer) for question, answer in answers),
            label=_label(plan.payload.questions),
            blocks=(TableBlock(("question", "answer"), rows),),
        )


def _label(questions: tuple[Question, ...]) -> ToolLabel:
    first = questions[0]
    more = f"and {len(questions) - 1} more" if len(questions) > 1 else ""
    return ToolLabel("Ask", first.header or " ".join(first.text.split()), more)


def _short_answer(reply: QuestionReply) -> str:
    return ", ".join((*reply.labels, *([reply.text] if reply.text else [])))


def _answer_text(question: Question, reply: QuestionReply) -> str:
    """Return one question with its answer, for the model."""
    parts: list[str] = []
    if reply.labels:
        parts.append(", ".join(reply.labels))
    if reply.text:
        parts.append(f"in their own words: {reply.text}" if question.options else reply.text)
    return f"Question: {question.text}\nAnswer: {'; '.join(parts)}"
