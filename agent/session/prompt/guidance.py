"""Guidance of the agent in an opened folder: instruction files and skills."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from agent.config.model import Config
from agent.config.paths import Paths
from agent.permission.trust.trust import Trust, TrustStatus
from agent.session.prompt.instructions import Instructions
from agent.session.prompt.remember import InstructionEditor
from agent.skills import FoundSkills, Skills


@dataclass(frozen=True, slots=True)
class Guidance:
    """The instructions and skills of an opened folder. *instruction_editor* adds the lines that the
    user types after a ``#``."""

    instructions: Instructions
    skills: Skills
    instruction_editor: InstructionEditor

    @classmethod
    def for_folder(
        cls, directory: Path, trust: Trust, paths: Paths, env: Mapping[str, str], config: Config
    ) -> Self:
        """Return the guidance in *directory*, by the settings. Whether the project is trusted is
        checked at each use."""

        def trusted() -> bool:
            return trust.trusted

        def standing(project: str) -> TrustStatus:
            # A session of another project can be open here; the user was not asked about that one.
            return trust.status if project == str(trust.project) else "refused"

        mode = config.instructions_mode
        return cls(
            Instructions(paths, env, standing, entries=config.instructions, mode=mode),
            Skills(directory, trust.project, paths, env, trusted, config.skills.paths),
            InstructionEditor(directory, trust.project, trust, mode),
        )

    async def find_skills(self) -> FoundSkills:
        """Return the current skills."""
        return await asyncio.to_thread(self.skills.find)
