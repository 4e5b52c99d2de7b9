"""What the analysis of one command line has found so far."""

import os
import re
from dataclasses import dataclass, field, replace

from agent.permission.protected import is_secret
from agent.permission.shell.paths import Dirs, Place, is_stream, paths_of
from agent.permission.syntax.source import counts
from agent.permission.syntax.words import Word
from agent.records.requests import Action, Need

READ_SPLITS = "text that is read may split into an operator that evaluates"
"""Why an expansion without quotes in a test asks: ``[ $x ]`` where x holds ``-v a[$(…)]``."""
_NAME = re.compile(r"\$\{?!?(\w+)")
_MOST_READS = 50
"""Read needs of one word: a pattern may match many files."""


@dataclass
class Findings:
    """Collects needs in order, each once.

    *bound* maps the variables that the line sets to their possible values (None: unknown).
    *code* are texts with a substitution in them as data, *evaluating* tells that something in
    the line evaluates text as an expression; both together may run it (5.2). *data* are
    texts that the line writes out, hands on or keeps; *obeys* tells that something in it runs
    text that is not known, which may be one of them; *programs* the same of a program in
    another language. *named* are the plain words that were looked at for guarded files, with the
    folders they were looked for in; *outputs* the variables that may hold what a command wrote.
    """

    place: Place
    named: set[tuple[str, Dirs]] = field(default_factory=set[tuple[str, Dirs]], compare=False)
    needs: list[Need] = field(default_factory=list[Need])
    _known: set[Need] = field(default_factory=set[Need])
    names: list[str] = field(default_factory=list[str])
    externals: list[str] = field(default_factory=list[str])
    edits: list[str] = field(default_factory=list[str])
    bound: dict[str, tuple[str, ...] | None] = field(
        default_factory=dict[str, tuple[str, ...] | None]
    )
    outputs: set[str] = field(default_factory=set[str])
    code: dict[str, None] = field(default_factory=dict[str, None])
    evaluating: bool = False
    data: dict[str, None] = field(default_factory=dict[str, None])
    obeys: bool = False
    programs: bool = False

    def add(self, need: Need) -> None:
        known = len(self._known)
        self._known.add(need)
        if len(self._known) > known:
            self.needs.append(need)

    def brings(self, expansion: str) -> bool:
        """Whether *expansion* may stand for text that was read, such as a file's."""
        if expansion.startswith("`") or (expansion[:2] == "$(" and expansion[:3] != "$(("):
            return not counts(expansion.strip("`").removeprefix("$(").removesuffix(")"))
        name = _NAME.match(expansion)
        return name is not None and name[1] in self.outputs

    def texts(self) -> tuple[str, ...]:
        """The commands so far, in every spelling, for deny rules."""
        return tuple(
            text
            for need in self.needs
            if need.permission == "bash"
            for text in (need.pattern, *need.aliases)
        )

    def withhold(self, start: int) -> None:
        """Offer no "always" for the needs from index *start* on."""
        self.needs[start:] = [
            need if need.always is None else replace(need, always=None)
            for need in self.needs[start:]
        ]

    def unknown(self, text: str, reason: str, *, aliases: tuple[str, ...] = ()) -> None:
        """Something that no rule but "allow everything" covers (B3)."""
        self.add(Need("bash", text, reason=reason, strict="unknown", aliases=aliases))

    def plain(self, text: str, reason: str, floor: Action) -> None:
        self.add(Need("bash", text, reason=reason, floor=floor))

    def external(self, path: str, *, folder: bool) -> None:
        """A path outside the project; *folder* asks for itself, a file for its folder."""
        real = self.place.real(path)
        # A string, and up to a thousand of them in one line.
        folder = folder or os.path.isdir(real)  # see above
        around = real if folder or real == "/" else real.rpartition("/")[0] or "/"
        self.externals.append(os.path.normpath(path))
        pattern = f"{around.rstrip('/')}/*"
        self.add(
            Need(
                "external_directory",
                pattern,
                always=self.place.offered(around),
                shown=real,
                reason=_outside(path, real),
                aliases=(real,),
            )
        )

    def read(self, word: Word, dirs: Dirs, *, folder: bool = False) -> bool:
        """*word* names files that are read. False when it is not known which."""
        paths = paths_of(word, dirs, self.place)
        if paths is None:
            return False
        plain = 0
        for path in paths:
            if is_stream(path) or self.place.free_to_read(path):
                continue
            if not self.place.inside(path):
                self.external(path, folder=folder)
            shown = self.place.relative(path)
            secret = is_secret(shown) or is_secret(path)
            plain += 0 if secret else 1
            if secret or plain <= _MOST_READS:
                reason = f"{shown} may hold secrets" if secret else ""
                self.add(Need("read", shown, reason=reason, floor="ask" if secret else "allow"))
        return True

    def touch(self, word: Word, dirs: Dirs) -> bool:
        """*word* names files that a program changes by its own rule (``rm``, ``cp`` …)."""
        paths = paths_of(word, dirs, self.place)
        if paths is None:
            return False
        for path in paths:
            if is_stream(path):
                continue
            if not self.place.inside(path):
                self.external(path, folder=False)
            if self.place.guarded(path):
                self.write_need(path)
        return True

    def write(self, word: Word, dirs: Dirs) -> bool:
        """*word* is the target of a redirection: an edit of that file (B4)."""
        paths = paths_of(word, dirs, self.place)
        if paths is None:
            return False
        for path in paths:
            if not is_stream(path):
                if not self.place.inside(path):
                    self.external(path, folder=False)
                self.write_need(path)
        return True

    def write_need(self, path: str) -> None:
        shown = self.place.relative(path)
        guarded = self.place.guarded(path)
        reason = f"writes {shown}"
        if guarded:
            reason += ", which governs the agent or the repository"
        self.edits.append(os.path.normpath(path))
        self.add(Need("edit", shown, reason=reason, strict="guarded" if guarded else ""))


def _outside(path: str, real: str) -> str:
    """Why *path*, which leads to *real*, is asked about."""
    if os.path.normpath(path) == real:
        return f"{real} is outside the project"
    return f"{path} leads to {real}, outside the project"
