"""Whether the user trusts a project, asked once and bound to what it can run (spec 4, M9).

The answers are kept in the user's data folder by the project's real path. "Trusted" holds
for as long as every file that can run something is the one that was shown; "refused" until
something that can run is added or changed. A nested repository or a worktree has a path of
its own, so it inherits nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from agent.config.private_file import PrivateFile, objects_in
from agent.permission.trust.project_files import ProjectFindings
from agent.records.json import Json, JsonObject

TrustAnswer = Literal["trust", "refuse", "later"]
"""What the user may say. "later" is remembered for this start only."""

TrustStatus = Literal["nothing", "trusted", "refused", "open"]
"""*nothing* lies there to trust; *open*: the user has not said, or something changed since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustQuestion:
    """*folder* is the project's root as people read it. *changed* names files that run
    something else than when the user last answered; () when they were never asked."""

    folder: str
    found: ProjectFindings
    changed: tuple[str, ...] = ()


AskTrust = Callable[[TrustQuestion], Awaitable[TrustAnswer]]


@dataclass(frozen=True, slots=True)
class SavedAnswer:
    """What the user said of a folder: *hashes* by file, as they were then."""

    trusted: bool
    hashes: Mapping[str, str]

    def covers(self, found: ProjectFindings) -> bool:
        return not self.changed(found)

    def changed(self, found: ProjectFindings) -> tuple[str, ...]:
        """The files that run something that was not there when this was said."""
        return tuple(name for name, hash_ in found.hashes.items() if self.hashes.get(name) != hash_)


def _answers(whole: JsonObject) -> dict[str, SavedAnswer]:
    """The answers by folder, without those that can't be read: they trust nobody."""
    return {
        folder: SavedAnswer(entry.get("trusted") is True, hashes)
        for folder, entry in objects_in(whole, "folders").items()
        if (hashes := _hashes(entry.get("hashes"))) is not None
    }


def _hashes(value: Json) -> dict[str, str] | None:
    if not isinstance(value, dict):
        return None
    return {name: text for name, text in value.items() if isinstance(text, str)}


class TrustStore:
    """The answers, in ``trust.json`` of the *data* folder (mode 0600)."""

    def __init__(self, data: Path) -> None:
        self._file = PrivateFile(data / "trust.json", "What you said of this folder")

    def load(self, project: Path) -> SavedAnswer | None:
        """What was said of the *project* (its real path); None for nothing that can be read."""
        return _answers(self._file.read()).get(str(project))

    def save(self, project: Path, answer: SavedAnswer) -> None:
        """Remember *answer*. Of files that it does not name, what was said before stays: they
        belong to other folders of the project. Raises ``StoreUnavailable``."""
        with self._file.edit() as whole:
            before = _answers(whole).get(str(project))
            if before is not None and before.trusted == answer.trusted:
                answer = replace(answer, hashes={**before.hashes, **answer.hashes})
            kept: JsonObject = {"trusted": answer.trusted, "hashes": dict(answer.hashes)}
            whole["folders"] = {**objects_in(whole, "folders"), str(project): kept}


@dataclass(frozen=True, slots=True)
class Trust:
    """Where a project stands. *project* is its real path, *folder* that path as people read
    it; *look* reads what the project holds, *found* is what it held then."""

    store: TrustStore
    project: Path
    folder: str
    scan: Callable[[], ProjectFindings]
    found: ProjectFindings

    @property
    def status(self) -> TrustStatus:
        """By what was found and what the user said."""
        answer = self.store.load(self.project)
        if answer is not None and answer.covers(self.found):
            return "trusted" if answer.trusted else "refused"
        return "open" if self.found else "nothing"

    @property
    def trusted(self) -> bool:
        return self.status == "trusted"

    async def refreshed(self) -> "Trust":
        """The same project with what it holds now."""
        return replace(self, found=await asyncio.to_thread(self.scan))

    def question(self) -> TrustQuestion:
        answer = self.store.load(self.project)
        changed = answer.changed(self.found) if answer is not None else ()
        return TrustQuestion(folder=self.folder, found=self.found, changed=changed)

    def save_answer(self, answer: TrustAnswer) -> None:
        """Remember the user's *answer* to what was found. Raises ``StoreUnavailable``."""
        if answer != "later":
            self.store.save(self.project, SavedAnswer(answer == "trust", dict(self.found.hashes)))

    def trust_own_file(self) -> None:
        """The user writes the first thing here that steers the agent: nothing to ask about
        lay here, so that is trusted as theirs. Raises ``StoreUnavailable``."""
        if self.status == "nothing":
            self.save_answer("trust")


MAX_QUESTIONS = 3
"""How often it is asked anew in a row when the files change while the question is open."""


async def resolve_trust(trust: Trust, ask: AskTrust | None) -> Trust:
    """Where the project stands, after asking if it must be asked.

    The files are read once more after the answer, which is for what was shown. Without
    anybody to *ask* nothing is trusted that was not before (M11).
    """
    for _ in range(MAX_QUESTIONS):
        if ask is None or trust.status != "open":
            break
        answer = await ask(trust.question())
        shown, trust = trust, await trust.refreshed()
        if trust.found.hashes == shown.found.hashes:
            trust.save_answer(answer)
            break
    return trust
