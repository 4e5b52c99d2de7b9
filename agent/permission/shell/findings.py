"""The findings of the analysis of one command line."""

import os
import re
from dataclasses import dataclass, field, replace

from agent.permission.protected import has_secret_name, is_secret
from agent.permission.read_rules import Reach
from agent.permission.shell.names import Names
from agent.permission.shell.paths import Dirs, Workspace, is_stream, paths_of
from agent.permission.shell.variable_values import Environment
from agent.permission.syntax.hidden_code import unescape_backticks
from agent.permission.syntax.parser import prints_number
from agent.permission.syntax.words import Word
from agent.records.frozen import frozen
from agent.records.requests import Action, PermissionNeed

READ_SPLITS = "text from a file or a command can turn into an operator that runs code"
"""Reason for an expansion without quotes in a test: ``[ $x ]`` where x is ``-v a[$(…)]``."""
SECRETS_BELOW = "reads a folder that contains files with secrets"
"""Reason for asking about a command that could run if these files are kept from it."""
_NAME = re.compile(r"\$\{?!?(\w+)")
_MAX_READS = 50
"""Read needs of one word: a pattern can match many files."""


@frozen
class GitUse:
    """One git command of a line."""

    subcommand: str
    """Empty if there is none."""

    dirs: Dirs
    """The folders it can run in."""

    proven: bool
    """True if it is proven to only read."""


@dataclass
class Findings:
    """Collects needs in order, each once."""

    workspace: Workspace

    checked: set[tuple[str, Dirs]] = field(default_factory=set[tuple[str, Dirs]], compare=False)
    """Plain words that were checked for guarded files, with the folders they were looked for in."""

    needs: list[PermissionNeed] = field(default_factory=list[PermissionNeed])
    _known: set[PermissionNeed] = field(default_factory=set[PermissionNeed])

    names: list[str] = field(default_factory=list[str])
    """Base names of the programs."""

    piped: Names | None = None
    """The names in the input of the command that is analyzed, None if it can be anything."""

    printed: Names | None = None
    """The names that the last command prints, None if it can print anything else."""

    git: list[GitUse] = field(default_factory=list[GitUse])
    """Its git commands."""

    _folders: dict[Dirs, str | None] = field(default_factory=dict[Dirs, str | None])

    externals: list[str] = field(default_factory=list[str])
    edits: list[str] = field(default_factory=list[str])

    variables: Environment = field(default_factory=Environment)
    """The variables at the place that is analyzed now."""

    code: dict[str, None] = field(default_factory=dict[str, None])
    """Texts that hold a substitution as data. If *evaluates* is true too, it can be run."""

    evaluates: bool = False
    """True if something in the line evaluates text as an expression."""

    matched: list[str] = field(default_factory=list[str])
    """Absolute paths that the patterns of reading commands match."""

    reaches: list[Reach] = field(default_factory=list[Reach])
    """Files that its reading commands can show besides those that they name."""

    texts: dict[str, None] = field(default_factory=dict[str, None])
    """Texts that the line writes out, passes on or keeps."""

    runs_text: bool = False
    """True if something in the line runs text that is not known: perhaps one of *texts*."""

    runs_code: bool = False
    """As *runs_text*, for a program in another language."""

    runs_escapes: bool = False
    """As *runs_text*, for lines such as ``!ls``."""

    def add(self, need: PermissionNeed) -> None:
        known = len(self._known)
        self._known.add(need)
        if len(self._known) > known:
            self.needs.append(need)

    def may_be_read_text(self, expansion: str) -> bool:
        """Return whether *expansion* can be text that was read, such as a file's."""
        if expansion.startswith("`") or (expansion[:2] == "$(" and expansion[:3] != "$(("):
            return not prints_number(substituted(expansion))
        name = _NAME.match(expansion)
        return name is not None and name[1] in self.variables.read

    def folder_of(self, dirs: Dirs) -> str | None:
        """Return the folder of a command that runs in one of *dirs*, as ``PermissionNeed`` has
        it."""
        if dirs not in self._folders:
            self._folders[dirs] = self.workspace.folder_name(dirs)
        return self._folders[dirs]

    def command_texts(self) -> tuple[str, ...]:
        """Return the texts of the commands found so far, with their aliases, for deny rules."""
        return tuple(
            text
            for need in self.needs
            if need.permission == "bash"
            for text in (need.pattern, *need.aliases)
        )

    def withhold_always(self, start: int) -> None:
        """Remove the pattern for "always" from the needs from index *start* on."""
        self.needs[start:] = [
            need if need.always is None else replace(need, always=None)
            for need in self.needs[start:]
        ]

    def merge_commands(self, start: int) -> None:
        """Merge needs for the same command from index *start* on: one for each value of its
        variables, or for each pass of a loop."""
        merged: dict[object, PermissionNeed] = {}
        for need in self.needs[start:]:
            key: object = need.pattern if need.permission == "bash" else need
            known = merged.get(key)
            if known is not None and known.runs and need.runs and known.runs != need.runs:
                key = need.pattern, need.runs
                known = merged.get(key)
            merged[key] = need if known is None else _merged(known, need)
        self.needs[start:] = merged.values()

    def add_unknown(self, text: str, reason: str, *, aliases: tuple[str, ...] = ()) -> None:
        """Add something that no rule but "allow everything" covers."""
        self.add(PermissionNeed("bash", text, reason=reason, strict="unknown", aliases=aliases))

    def add_command(self, text: str, reason: str, default_action: Action) -> None:
        self.add(PermissionNeed("bash", text, reason=reason, default_action=default_action))

    def add_external(self, path: str, *, folder: bool) -> None:
        """Add a path outside the project; a folder needs approval itself, a file for its folder."""
        real = self.workspace.resolve(path)
        folder = folder or os.path.isdir(real)
        around = real if folder or real == "/" else real.rpartition("/")[0] or "/"
        self.externals.append(os.path.normpath(path))
        pattern = f"{around.rstrip('/')}/*"
        self.add(
            PermissionNeed(
                "external_directory",
                pattern,
                always=self.workspace.folder_pattern(around),
                shown=real,
                reason=_outside(path, real),
                aliases=tuple(dict.fromkeys((real, *self.workspace.link_names(path)))),
                root=self.workspace.project,
            )
        )

    def add_read(self, word: Word, dirs: Dirs, *, folder: bool = False) -> bool:
        """Add the files that *word* names as read. False if it is not known which."""
        paths = paths_of(word, dirs, self.workspace)
        if paths is None:
            return False
        plain = 0
        for path in paths:
            if is_stream(path) or self.workspace.is_readable(path):
                continue
            if not self.workspace.is_inside(path):
                self.add_external(path, folder=folder)
            shown = self.workspace.relative(path)
            secret = is_secret(shown) or is_secret(path)
            secret = secret or has_secret_name(path, self.workspace.project)
            plain += 0 if secret else 1
            if word.globs or plain > _MAX_READS:
                self.matched.append(path)
            if secret or plain <= _MAX_READS:
                reason = f"{shown} may contain secrets" if secret else ""
                self.add(
                    PermissionNeed(
                        "read",
                        shown,
                        reason=reason,
                        default_action="ask" if secret else "allow",
                        aliases=self.workspace.link_names(path),
                        root=self.workspace.project,
                        matched=word.globs,
                    )
                )
        return True

    def add_change(self, word: Word, dirs: Dirs) -> bool:
        """Add the files that *word* names as changed by a program with a rule of its own (``rm``).
        False if it is not known which."""
        paths = paths_of(word, dirs, self.workspace)
        if paths is None:
            return False
        for path in paths:
            if is_stream(path):
                continue
            if not self.workspace.is_inside(path):
                self.add_external(path, folder=False)
            if self.workspace.is_guarded(path):
                self.add_edit(path)
        return True

    def add_write(self, word: Word, dirs: Dirs) -> bool:
        """Add the files that *word*, the target of a redirection, names as edits. False if it is
        not known which."""
        paths = paths_of(word, dirs, self.workspace)
        if paths is None:
            return False
        for path in paths:
            if not is_stream(path):
                if not self.workspace.is_inside(path):
                    self.add_external(path, folder=False)
                self.add_edit(path)
        return True

    def add_edit(self, path: str) -> None:
        shown = self.workspace.relative(path)
        guarded = self.workspace.is_guarded(path)
        reason = f"writes {shown}"
        if guarded:
            reason += ", which controls the agent or the repository"
        self.edits.append(os.path.normpath(path))
        self.add(
            PermissionNeed(
                "edit",
                shown,
                reason=reason,
                strict="guarded" if guarded else "",
                aliases=self.workspace.link_names(path),
                root=self.workspace.project,
            )
        )


def _merged(first: PermissionNeed, second: PermissionNeed) -> PermissionNeed:
    """Return one need for two of the same command."""
    return replace(
        first,
        always=first.always if first.always == second.always else None,
        reason=_merged_reason(first, second) or _merged_reason(second, first),
        default_action="allow"
        if first.default_action == second.default_action == "allow"
        else "ask",
        destructive=first.destructive or second.destructive,
        strict=first.strict or second.strict,
        aliases=tuple(dict.fromkeys((*first.aliases, *second.aliases))),
        mentions=tuple(dict.fromkeys((*first.mentions, *second.mentions))),
        runs=first.runs or second.runs,
        same=first.same if first.same == second.same else (),
        words=first.words if first.words == second.words else "",
        folder=first.folder if first.folder == second.folder else None,
        named=tuple(dict.fromkeys((*first.named, *second.named))),
    )


def _merged_reason(need: PermissionNeed, other: PermissionNeed) -> str:
    """Return the reason of *need*, unless *other* asks for another one than files with secrets,
    which could be kept from the command."""
    only_secrets = need.reason == SECRETS_BELOW and other.default_action == "ask"
    return "" if only_secrets and other.reason != SECRETS_BELOW else need.reason


def evaluated_reason(text: str) -> str:
    """Return the reason for asking about *text*, which is evaluated again."""
    return f"can run code hidden in {text}"


def substituted(expansion: str) -> str:
    """Return the code of ``$(…)`` or of backticks."""
    if expansion.startswith("`"):
        return unescape_backticks(expansion[1:-1])
    return expansion[2:-1]


def _outside(path: str, real: str) -> str:
    """Return the reason for asking about *path*, which leads to *real*."""
    if os.path.normpath(path) == real:
        return "outside the project"
    return f"{path} leads outside the project"
