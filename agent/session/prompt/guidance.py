"""Guidance of the agent in an opened folder: instruction files and skills."""

import asyncio
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Self

from agent.config.paths import Paths
from agent.config.settings_schema import Config
from agent.permission.trust.trust import Trust, TrustStatus
from agent.records.frozen import frozen
from agent.session.prompt.instructions import Instructions
from agent.skills import FoundSkills, Skills

if TYPE_CHECKING:  # loads the tools that change files
    from agent.session.prompt.instruction_editor import InstructionEditor


@frozen
class Guidance:
    """The instructions and skills of an opened folder."""

    instructions: Instructions
    skills: Skills
    _editor: "Callable[[], InstructionEditor]"

    @property
    def instruction_editor(self) -> "InstructionEditor":
        """Return what adds the lines that the user types after a ``#``."""
        return self._editor()

    @classmethod
    def for_folder(
        cls,
        directory: Path,
        trust: Trust,
        paths: Paths,
        env: Mapping[str, str],
        config: Config,
        is_worktree: Callable[[str], bool] = lambda _: False,
    ) -> Self:
        """Return the guidance in *directory*, by the settings. Whether the project is trusted is
        checked at each use. *is_worktree* returns whether a project is a worktree of this one."""

        def trusted() -> bool:
            return trust.trusted

        def standing(project: str) -> TrustStatus:
            # A session of another project can be open here; the user was not asked about that one.
            ours = project == str(trust.project) or is_worktree(project)
            return trust.status if ours else "refused"

        def editor() -> "InstructionEditor":
            from agent.session.prompt.instruction_editor import InstructionEditor  # see above

            return InstructionEditor(directory, trust.project, trust, config.instructions_mode)

        return cls(
            Instructions(
                paths, env, standing, entries=config.instructions, mode=config.instructions_mode
            ),
            Skills(directory, trust.project, paths, env, trusted, config.skills.paths),
            functools.cache(editor),
        )

    async def find_skills(self) -> FoundSkills:
        """Return the current skills."""
        return await asyncio.to_thread(self.skills.find)
