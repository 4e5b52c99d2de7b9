"""The system prompt: a static head and the session's own rest (spec 2, C9; spec 6, I1, I2)."""

import datetime as dt
import platform
import shutil
from importlib.resources import files

from agent.agents import Agents
from agent.git import git
from agent.model import Session

STATUS_LINES = 20
"""Lines of ``git status`` that the environment block carries at most."""


def head(agent_prompt: str | None = None) -> str:
    """The static block: who the agent is and how it works."""
    text = files("agent.prompts").joinpath("default.txt").read_text(encoding="utf-8").strip()
    return f"{text}\n\n{agent_prompt.strip()}" if agent_prompt else text


async def rest(directory: str, project: str, *, now: dt.datetime) -> str:
    """The session's block, taken once: where it works and what that place is (I2)."""
    repository = await _git_lines(directory)
    lines = [
        f"Working directory: {directory}",
        f"Project root: {project}",
        f"Git repository: {'yes' if repository else 'no'}",
        *repository,
        f"Platform: {platform.system().lower()} {platform.release()}",
        f"Shell: {'bash' if shutil.which('bash') else 'sh'}",
        f"Date: {now:%Y-%m-%d}",
    ]
    return "<environment>\n" + "\n".join(lines) + "\n</environment>"


async def _git_lines(directory: str) -> list[str]:
    status = await git(directory, "status", "--short", "--branch", "--untracked-files=normal")
    if status is None:
        return []
    branch, *changed = status.splitlines() or ["## unknown"]
    shown = changed[:STATUS_LINES]
    more = len(changed) - len(shown)
    lines = [f"Branch: {branch.removeprefix('## ')}"]
    if shown:
        lines.append("Changed files:")
        lines += [f"  {line}" for line in shown]
    if more > 0:
        lines.append(f"  … and {more} more")
    return lines


class SystemPrompts:
    """The two blocks of each session and agent, taken once: what stands ahead of the history
    never changes (spec 2, C9)."""

    def __init__(self, agents: Agents) -> None:
        self._agents = agents
        self._blocks: dict[tuple[str, str], tuple[str, str]] = {}

    async def __call__(self, session: Session, agent: str) -> tuple[str, str]:
        key = (session.id, agent)
        if key not in self._blocks:
            now = dt.datetime.now().astimezone()
            place = await rest(session.directory, session.project, now=now)
            self._blocks[key] = (head(self._agents.get(agent).prompt), place)
        return self._blocks[key]
