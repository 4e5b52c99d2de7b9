"""git reads its configuration as programs to run; what is harmless is spelled out here.

Security facts 7.2 (dangerous flags) and 8 (never normalise ``-c`` or ``-C`` away).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from agent.permission.syntax.lexicon import names
from agent.permission.syntax.words import Word, one_word

_PLAIN_GLOBALS = names("-P --no-pager --no-optional-locks --literal-pathspecs --no-replace-objects")
_VALUE_GLOBALS = names(
    "-c -C --git-dir --work-tree --exec-path --config-env --namespace --super-prefix"
)

_LONG = (
    "--output", "--ext-diff", "--open-files-in-pager", "--no-index", "--exec", "--upload-pack",
    "--receive-pack", "--exec-path", "--git-dir", "--work-tree", "--config-env", "--config",
    "--template", "--upload-archive", "--extcmd", "--tool", "--strategy-option",
)  # fmt: skip
_HARMLESS_LONG = names(
    "--no-ext-diff --exclude-standard --output-indicator-new --output-indicator-old "
    "--output-indicator-context --stat --text --tags --track --topo-order --to --title"
)
_SHORT: dict[str, str] = {"grep": "O", "rebase": "x", "archive": "o", "format-patch": "o",
                          "clone": "uc", "fetch": "u", "difftool": "x"}  # fmt: skip

_READERS = names(
    "status log diff show blame annotate ls-files ls-tree rev-parse describe shortlog merge-base "
    "rev-list name-rev show-ref for-each-ref cat-file grep count-objects diff-tree diff-index "
    "diff-files show-branch cherry range-diff whatchanged check-ignore version"
)
_READ_BANNED = (
    "--textconv", "--filters", "--show-signature", "--contents", "--ignore-revs-file",
    "--exclude-from", "--exclude-per-directory", "--help", "--stdin", "--batch", "--batch-command",
    "--batch-check", "--pathspec-from-file", "--parseopt", "--sq-quote", "--unpacked",
)  # fmt: skip
_BRANCH_FLAGS = re.compile(
    r"-[arv]+|-vv|--(list|all|remotes|show-current|verbose|color|no-color|ignore-case|no-column)"
    r"|--(sort|format|merged|no-merged|contains|no-contains|points-at|color|column|abbrev)=.*"
)


_OVER_FILES = re.compile(r"--(worktree|no-staged)|-(?!-)[^s]*W")
"""Flags that have ``git restore`` write over the files."""


@dataclass(frozen=True, slots=True)
class GitCall:
    """*subcommand* is empty when none was found. *rest* are the words after it."""

    subcommand: str
    rest: tuple[Word, ...]
    globals: tuple[Word, ...]
    strict: str = ""

    @property
    def normal(self) -> str:
        """The call without options before the subcommand: how deny rules name it."""
        return " ".join(["git", self.subcommand, *(word.text for word in self.rest)]).strip()


def parse(words: Sequence[Word]) -> GitCall:
    """Split the arguments of git; *strict* says why a rule does not cover the call."""
    return _parse(tuple(words))


@lru_cache(maxsize=4)  # Each question about one call asks for it again.
def _parse(words: tuple[Word, ...]) -> GitCall:
    strict = ""
    at = 0
    while at < len(words) and words[at].text.startswith("-"):
        text = words[at].text
        if text in ("--version", "-v"):
            break
        if text not in _PLAIN_GLOBALS:
            strict = strict or f"{text} changes which repository or programs git uses"
        at += 2 if text in _VALUE_GLOBALS else 1
    if at >= len(words):
        return GitCall("", (), words, strict)
    if not words[at].literal:
        strict = strict or "the subcommand of git is known at run time only"
    call = GitCall(words[at].text, words[at + 1 :], words[:at])
    return GitCall(call.subcommand, call.rest, call.globals, strict or _carried(call))


def _carried(call: GitCall) -> str:
    """Flags and subcommands that start other programs."""
    texts = [word.text for word in call.rest]
    if call.subcommand == "bisect" and texts[:1] == ["run"]:
        return "git bisect run starts a program"
    if call.subcommand == "submodule" and "foreach" in texts:
        return "git submodule foreach starts a program"
    if call.subcommand in ("filter-branch", "daemon", "instaweb", "difftool", "mergetool"):
        return f"git {call.subcommand} starts other programs"
    if call.subcommand == "config" and not _config_reads(texts):
        return "git config can change what git runs"
    for at, word in enumerate(call.rest):
        if word.text == "--":
            return ""
        if at and _is_message(call, at):
            continue
        if not word.known and word.may_be_option:
            return f"the argument {word.source} may be a flag that runs or writes something"
        for text in word.values or (word.text,):
            if _dangerous(call.subcommand, text):
                return f"{text} may run another program or write a file"
    return ""


def _is_message(call: GitCall, at: int) -> bool:
    """Whether the word at *at* is the text after ``-m``: one word whatever it expands to."""
    if call.subcommand not in ("commit", "tag", "merge", "stash", "notes"):
        return False
    flag = re.fullmatch(r"-[a-z]*m|--message", call.rest[at - 1].text)
    return flag is not None and one_word(call.rest[at])


def _config_reads(texts: list[str]) -> bool:
    reading = re.compile(r"--(get|get-all|get-regexp|list)|-l|get|list")
    if len(texts) == 1 and not texts[0].startswith("-"):
        return True
    return bool(texts) and reading.fullmatch(texts[0]) is not None


def _dangerous(subcommand: str, text: str) -> bool:
    if text.startswith("ext::"):
        return True
    if text.startswith("--"):
        name = text.split("=", 1)[0]
        short = len(name) > 4 and name not in _HARMLESS_LONG
        return name in _LONG or (short and any(flag.startswith(name) for flag in _LONG))
    letters = _SHORT.get(subcommand, "")
    return text.startswith("-") and any(letter in text[1:] for letter in letters)


def reads_only(call: GitCall) -> bool:
    """Whether the call only shows what the repository holds, without a helper program."""
    if call.strict or any(word.text not in _PLAIN_GLOBALS for word in call.globals):
        return False
    if not all(word.known for word in call.rest):
        return False
    texts = [word.text for word in call.rest]
    if call.subcommand in _READERS:
        return not any(map(_banned, texts))
    listing = _LISTINGS.get(call.subcommand)
    return listing is not None and listing(texts)


def _banned(text: str) -> bool:
    if text.startswith("--"):
        name = text.split("=", 1)[0]
        if any(flag == name or (len(name) > 4 and flag.startswith(name)) for flag in _READ_BANNED):
            return True
    return "%G" in text or re.match(r"-[A-Za-z]*h$", text) is not None


def _branch(texts: list[str]) -> bool:
    listing = any(text in ("--list", "-l") for text in texts)
    for at, text in enumerate(texts):
        before = texts[at - 1] if at else ""
        taken = before in ("--contains", "--merged", "--no-merged", "--no-contains", "--sort")
        bare = text in ("--contains", "--merged", "--no-merged", "--no-contains", "--sort")
        shown = bare or _BRANCH_FLAGS.fullmatch(text) is not None
        if not shown and (text.startswith("-") or not (listing or taken)):
            return False
    return True


def _tag(texts: list[str]) -> bool:
    if not texts:
        return True
    listing = texts[0] in ("-l", "--list") or re.fullmatch(r"-n\d*", texts[0]) is not None
    return listing and all(
        not text.startswith("-") or re.match(r"(-l|-n\d*|--(list|sort|contains|merged))", text)
        for text in texts
    )


def _remote(texts: list[str]) -> bool:
    return texts in ([], ["-v"], ["--verbose"]) or (len(texts) == 2 and texts[0] == "get-url")


def _stash(texts: list[str]) -> bool:
    return texts[:1] in (["list"], ["show"])


def _reflog(texts: list[str]) -> bool:
    return not texts or texts[0] == "show" or texts[0].startswith("-")


def _worktree(texts: list[str]) -> bool:
    return texts[:1] == ["list"]


_LISTINGS = {
    "branch": _branch, "tag": _tag, "remote": _remote, "stash": _stash, "reflog": _reflog,
    "worktree": _worktree,
}  # fmt: skip


def destructive(call: GitCall) -> bool:
    """Whether work or history can be lost."""
    texts = [word.text for word in call.rest]
    match call.subcommand:
        case "push":
            return any(
                text.startswith(("--force", "--delete", "--mirror", "--prune", "+", ":"))
                or re.fullmatch(r"-[a-zA-Z]*[fd][a-zA-Z]*", text)
                for text in texts
            )
        case "reset":
            return "--hard" in texts
        case "clean" | "filter-branch" | "filter-repo":
            return True
        case "restore":
            staged = {"--staged", "-S"} & set(texts)
            return not staged or any(map(_OVER_FILES.match, texts))
        case "checkout" | "switch":
            return any(text in ("--", ".", "-f", "--force", "--discard-changes") for text in texts)
        case "branch":
            return any(re.fullmatch(r"-[a-zA-Z]*[dD][a-zA-Z]*|--delete", text) for text in texts)
        case "stash":
            return texts[:1] in (["drop"], ["clear"])
        case _:
            return False
