"""The ``skill`` tool: load the text of a skill."""

import asyncio
import difflib

from pydantic import AliasChoices, Field

from agent.config.markdown_files import FrontmatterError
from agent.files import printable
from agent.records.blocks import ToolLabel
from agent.records.errors import ToolError
from agent.records.frozen import frozen
from agent.records.requests import PermissionNeed, PermissionReply
from agent.records.tool_facts import ToolFacts
from agent.skills import Skill, Skills, sample_files
from agent.tools.core.tool import BaseTool, Plan, Result, ToolContext, ToolSpec
from agent.tools.core.tool_args import ToolArgs
from agent.tools.files.paths import show_path


class SkillArgs(ToolArgs):
    """Arguments of ``skill``."""

    name: str = Field(
        validation_alias=AliasChoices("name", "skill", "command"),
        description="The skill's name, as the system prompt lists it",
    )


@frozen
class SkillPlan:
    skill: Skill
    text: str


class SkillTool(BaseTool):
    """Loads skills."""

    spec = ToolSpec(
        name="skill", verb="Skill", aliases=("load_skill", "use_skill"), concurrent=True
    )
    facts = ToolFacts(action="allow", claude_name="Skill", in_claude_settings=True)
    args = SkillArgs

    def __init__(self, skills: Skills) -> None:
        self._skills = skills

    async def prepare(self, args: SkillArgs, ctx: ToolContext) -> Plan[SkillPlan]:
        name = args.name.strip().removeprefix("/")
        try:
            loaded = await asyncio.to_thread(self._skills.load, name)
        except (OSError, ValueError, FrontmatterError) as error:
            raise ToolError(f"The skill {name} cannot be read: {error}.") from None
        if loaded is None:
            raise ToolError(await asyncio.to_thread(self._unknown_skill, name))
        skill, text = loaded
        return Plan(
            label=ToolLabel("Skill", skill.name),
            payload=SkillPlan(skill, text),
            needs=(PermissionNeed("skill", skill.name, always=skill.name, default_action="allow"),),
            heading="Load this skill?",
        )

    async def execute(
        self, plan: Plan[SkillPlan], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        skill = plan.payload.skill
        files = [printable(name) for name in await asyncio.to_thread(sample_files, skill.folder)]
        lines = [f"Skill {skill.name}, in {show_path(str(skill.folder), ctx)}/"]
        if files:
            lines.append(f"Files beside it: {', '.join(files)}")
        return Result("\n".join([*lines, "", plan.payload.text]))

    def _unknown_skill(self, name: str) -> str:
        names = [s.name for s in self._skills.find().skills.values() if not s.hidden]
        near = difflib.get_close_matches(name, names, 3, 0.5)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        return f"There is no skill named {name[:64]!r}.{hint}"
