"""Repositories that would run a program when git is used in them."""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Trap:
    """A hostile folder. *plant* gets the folder and a script that leaves a mark; *springs* is a
    command with which a plain git runs the script, empty where only a network would do it; *inside*
    the subfolder that is opened."""

    plant: Callable[[Path, str], None]
    springs: tuple[str, ...] = ("status",)
    inside: str = "."


def plain(folder: Path, *words: str) -> None:
    """Run a plain git, as a user's shell would."""
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words],
        cwd=folder,
        check=False,
        capture_output=True,
        env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
    )


def repository(folder: Path) -> None:
    """A repository with one commit, and a change of the same length that only its content shows."""
    folder.mkdir(parents=True, exist_ok=True)
    plain(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("one\n")
    plain(folder, "add", "-A")
    plain(folder, "commit", "-qm", "first")
    (folder / "a.txt").write_text("two\n")


def configured(*settings: str, attributes: str = "") -> Callable[[Path, str], None]:
    """Settings ``key=value`` in the repository's configuration; ``RUN`` is the script."""

    def plant(folder: Path, run: str) -> None:
        repository(folder)
        if attributes:
            (folder / ".gitattributes").write_text(f"*.txt {attributes}\n")
        for setting in settings:
            key, _, value = setting.partition("=")
            plain(folder, "config", "--add", key, value.replace("RUN", run))

    return plant


def hooks(folder: Path, run: str) -> None:
    repository(folder)
    for name in ("post-index-change", "post-checkout", "pre-commit", "reference-transaction"):
        hook = folder / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\n{run}\n")
        hook.chmod(0o755)


def hooks_path(folder: Path, run: str) -> None:
    hooks(folder, run)
    shutil.copytree(folder / ".git" / "hooks", folder / "scripts")
    plain(folder, "config", "core.hooksPath", "scripts")


def missing_tree(*settings: str) -> Callable[[Path, str], None]:
    """A promisor remote, and a commit whose tree is missing: git would fetch it."""

    def plant(folder: Path, run: str) -> None:
        repository(folder)
        plain(folder, "config", "extensions.partialClone", "origin")
        for setting in ("remote.origin.promisor=true", *settings):
            key, _, value = setting.partition("=")
            plain(folder, "config", key, value.replace("RUN", run))
        tree = (
            subprocess.run(
                ["git", "rev-parse", "HEAD^{tree}"], cwd=folder, capture_output=True, check=True
            )
            .stdout.decode()
            .strip()
        )
        (folder / ".git" / "objects" / tree[:2] / tree[2:]).unlink()

    return plant


def included(folder: Path, run: str) -> None:
    repository(folder)
    (folder / "more").write_text(f"[core]\n\tfsmonitor = {run}\n")
    plain(folder, "config", "include.path", "../more")


def included_if(folder: Path, run: str) -> None:
    repository(folder)
    (folder / "more").write_text(f"[core]\n\tfsmonitor = {run}\n")
    plain(folder, "config", "includeIf.gitdir:**/.path", "../more")


def nested(*, committed: bool) -> Callable[[Path, str], None]:
    """A repository inside, with a filter and a monitor of its own."""

    def plant(folder: Path, run: str) -> None:
        repository(folder)
        inner = folder / "inner"
        configured(f"filter.x.clean={run}; cat", f"core.fsmonitor={run}", attributes="filter=x")(
            inner, run
        )
        if committed:
            plain(folder, "add", "inner")
            plain(folder, "commit", "-qm", "link")
            (inner / "a.txt").write_text("six\n")

    return plant


def submodule(folder: Path, run: str) -> None:
    nested(committed=True)(folder, run)
    (folder / ".gitmodules").write_text(
        '[submodule "inner"]\n\tpath = inner\n\turl = ./inner\n\tignore = none\n'
    )
    plain(folder, "config", "submodule.inner.update", f"!{run}")
    plain(folder, "config", "submodule.recurse", "true")
    plain(folder, "config", "status.submoduleSummary", "true")


def bare_looking(folder: Path, run: str) -> None:
    """A folder that is a git directory itself."""
    plain(folder.parent, "init", "-q", "--bare", "-b", "main", str(folder))
    plain(folder, "config", "core.bare", "false")
    plain(folder, "config", "core.worktree", str(folder))
    plain(folder, "config", "core.fsmonitor", run)


def committed_bare_looking(folder: Path, run: str) -> None:
    """The same as a subfolder of a harmless repository."""
    repository(folder)
    bare_looking(folder / "docs", run)
    (folder / "docs" / "a.txt").write_text("x\n")
    plain(folder, "add", "-A")
    plain(folder, "commit", "-qm", "docs")


def elsewhere(folder: Path, run: str) -> None:
    """A ``.git`` file that points at a hostile git directory of the project."""
    configured(f"core.fsmonitor={run}")(folder, run)
    (folder / ".git").rename(folder / "objects.d")
    (folder / ".git").write_text("gitdir: objects.d\n")


def linked(folder: Path, run: str) -> None:
    repository(folder)
    (folder / ".git").rename(folder / "store")
    (folder / ".git").symlink_to("store")
    plain(folder, "config", "core.fsmonitor", run)


def work_tree_settings(folder: Path, run: str) -> None:
    """A linked work tree with a configuration of its own."""
    main = folder.with_name("main")
    repository(main)
    plain(main, "config", "extensions.worktreeConfig", "true")
    plain(main, "worktree", "add", "-q", str(folder))
    plain(folder, "config", "--worktree", "core.fsmonitor", run)
    (folder / "a.txt").write_text("six\n")


def other_work_tree(folder: Path, run: str) -> None:
    """The configuration names another folder, with attributes, as the work tree."""
    configured(f"filter.x.clean={run}; cat", "core.worktree=../../other")(folder, run)
    other = folder.with_name("other")
    other.mkdir()
    (other / "a.txt").write_text("six\n")
    (other / ".gitattributes").write_text("*.txt filter=x\n")


def info_attributes(folder: Path, run: str) -> None:
    configured(f"filter.x.clean={run}; cat")(folder, run)
    (folder / ".git" / "info" / "attributes").write_text("*.txt filter=x\n")


TRAPS = {
    "fsmonitor": Trap(configured("core.fsmonitor=RUN")),
    "fsmonitor twice": Trap(configured("core.fsmonitor=false", "core.fsmonitor=RUN")),
    "clean filter": Trap(configured("filter.x.clean=RUN; cat", attributes="filter=x")),
    "required filter": Trap(
        configured("filter.x.clean=RUN; cat", "filter.x.required=true", attributes="filter=x")
    ),
    "process filter": Trap(configured("filter.x.process=RUN", attributes="filter=x")),
    "filter with a dotted name": Trap(
        configured("filter.x.y z.clean=RUN; cat", attributes="filter=x.y"), springs=()
    ),
    "info attributes": Trap(info_attributes),
    "smudge filter": Trap(
        configured("filter.x.smudge=RUN; cat", attributes="filter=x"),
        springs=("checkout", "-f", "HEAD", "--", "a.txt"),
    ),
    "external diff": Trap(configured("diff.external=RUN"), springs=("diff",)),
    "diff command": Trap(configured("diff.x.command=RUN", attributes="diff=x"), ("diff",)),
    "textconv": Trap(configured("diff.x.textconv=RUN; cat", attributes="diff=x"), ("diff",)),
    "pager": Trap(configured("core.pager=RUN", "pager.status=RUN"), springs=()),
    "alias": Trap(configured("alias.stat=!RUN", "alias.status=!RUN"), springs=("stat",)),
    "hooks": Trap(hooks, springs=("checkout", "-q", "-f", "HEAD")),
    "hooks path": Trap(hooks_path, springs=("checkout", "-q", "-f", "HEAD")),
    "ssh command of a promisor": Trap(
        missing_tree("remote.origin.url=ssh://example.invalid/x", "core.sshCommand=RUN")
    ),
    "ext transport of a promisor": Trap(
        missing_tree("remote.origin.url=ext::sh -c RUN", "protocol.ext.allow=always")
    ),
    "upload pack of a promisor": Trap(
        missing_tree("remote.origin.url=/nowhere", "remote.origin.uploadpack=RUN"), springs=()
    ),
    "include": Trap(included),
    "conditional include": Trap(included_if, springs=()),
    "nested repository": Trap(nested(committed=False), springs=()),
    "committed nested repository": Trap(nested(committed=True)),
    "submodule": Trap(submodule),
    "bare-looking folder": Trap(bare_looking, springs=("status",)),
    "committed bare-looking folder": Trap(committed_bare_looking, inside="docs"),
    "git file": Trap(elsewhere),
    "linked git folder": Trap(linked),
    "work tree settings": Trap(work_tree_settings),
    "other work tree": Trap(other_work_tree),
    "signature program": Trap(
        configured("gpg.program=RUN", "log.showSignature=true", "commit.gpgSign=true"),
        springs=("commit", "-qam", "signed"),
    ),
    "editor and credentials": Trap(
        configured("core.editor=RUN", "sequence.editor=RUN", "credential.helper=!RUN"),
        springs=("commit", "-a"),
    ),
    "alternate refs command": Trap(configured("core.alternateRefsCommand=RUN"), springs=()),
}
