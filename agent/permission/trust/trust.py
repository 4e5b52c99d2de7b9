"""Trust in a project: the user is asked once, and the answer is bound to what it can run.

The answers are stored in the user's data folder by the project's real path. "Trusted" is valid as
long as every file that can run something is the one that was shown; "refused" until something
that can run is added or changed. A nested repository or a worktree has a path of its own, so it
inherits nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from agent.config.private_file import PrivateFile, objects_in
from agent.permission.trust.project_files import ProjectFindings
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject

TrustAnswer = Literal["trust", "refuse", "later"]
"""An answer of the user. "later" is remembered until the program ends only."""

TrustStatus = Literal["nothing", "trusted", "refused", "open"]
"""The status of a project: "nothing" is there to trust; "open": the user has not answered, or
something changed since."""


@frozen(kw_only=True)
class TrustQuestion:
    """A question to the user about a project."""

    folder: str
    """The project's root as it is shown."""

    found: ProjectFindings

    changed: tuple[str, ...] = ()
    """Files that run something else than when the user last answered; () if never asked."""


AskTrust = Callable[[TrustQuestion], Awaitable[TrustAnswer]]


@frozen
class SavedAnswer:
    """The stored answer about a project."""

    trusted: bool

    hashes: Mapping[str, str]
    """The hashes of its files at the time of the answer."""

    def covers(self, found: ProjectFindings) -> bool:
        return not self.changed(found)

    def changed(self, found: ProjectFindings) -> tuple[str, ...]:
        """Return the files that run something that was not there at the time of the answer."""
        return tuple(name for name, hash_ in found.hashes.items() if self.hashes.get(name) != hash_)


def _answers(whole: JsonObject) -> dict[str, SavedAnswer]:
    """Return the answers by folder, without those that can't be read."""
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
        self._file = PrivateFile(data / "trust.json", "The answer about the folder")

    def load(self, project: Path) -> SavedAnswer | None:
        """Return the answer about the *project* (its real path); None if there is none to read."""
        return _answers(self._file.read()).get(str(project))

    def save(self, project: Path, answer: SavedAnswer) -> None:
        """Store *answer*. Earlier hashes of files that it does not name are kept: they belong to
        other folders of the project. Raises ``StoreUnavailable``."""
        with self._file.edit() as whole:
            before = _answers(whole).get(str(project))
            if before is not None and before.trusted == answer.trusted:
                answer = replace(answer, hashes={**before.hashes, **answer.hashes})
            kept: JsonObject = {"trusted": answer.trusted, "hashes": dict(answer.hashes)}
            whole["folders"] = {**objects_in(whole, "folders"), str(project): kept}


@frozen
class Trust:
    """The trust in one project."""

    store: TrustStore

    project: Path
    """The real path of its root."""

    folder: str
    """The path as it is shown."""

    scan: Callable[[], ProjectFindings]

    found: ProjectFindings
    """The result of the last scan."""

    once: bool = False
    """True if the project is trusted for this run, whatever the stored answer is."""

    @property
    def status(self) -> TrustStatus:
        """The status, by the findings and the stored answer."""
        if self.once and self.found:
            return "trusted"
        answer = self.store.load(self.project)
        if answer is not None and answer.covers(self.found):
            return "trusted" if answer.trusted else "refused"
        return "open" if self.found else "nothing"

    @property
    def trusted(self) -> bool:
        return self.status == "trusted"

    async def refreshed(self) -> "Trust":
        """Return the same project, scanned again."""
        return replace(self, found=await asyncio.to_thread(self.scan))

    def question(self) -> TrustQuestion:
        answer = self.store.load(self.project)
        changed = answer.changed(self.found) if answer is not None else ()
        return TrustQuestion(folder=self.folder, found=self.found, changed=changed)

    def save_answer(self, answer: TrustAnswer) -> None:
        """Store the user's *answer* to the findings. Raises ``StoreUnavailable``."""
        if answer != "later":
            self.store.save(self.project, SavedAnswer(answer == "trust", dict(self.found.hashes)))

    def trust_own_file(self) -> None:
        """Trust the project because the user writes its first file that steers the agent: there was
        nothing else to ask about. Raises ``StoreUnavailable``."""
        if self.status == "nothing":
            self.save_answer("trust")


MAX_QUESTIONS = 3
"""Limit of questions in a row: how often the user is asked in a row if the files change while the
question is open."""


async def resolve_trust(trust: Trust, ask: AskTrust | None) -> Trust:
    """Return the trust in the project, after asking the user if necessary.

    The files are scanned again after the answer, which is about those that were shown. Without
    *ask*, nothing is trusted that was not trusted before.
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
