"""Files that need approval whatever the rules say: one table for every tool.

*Secret* files need it before they are read. *Guarded* ones need it before they are changed,
because they decide what the agent is allowed to do, its instructions, or what runs later without
being asked for. Names are compared without regard to case: some file systems do the same.
"""

import contextlib
import fnmatch
import itertools
import os
import re
import stat
from collections.abc import Callable, Iterator
from functools import lru_cache

from agent.permission.syntax.source import word_set
from agent.records.patterns import lazy_pattern

_SECRET_NAMES = (
    ".env", ".env.*", ".env-*", ".env_*", "*.env", ".envrc", ".flaskenv", "*.pem", "*.key", "*.p8",
    "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", ".npmrc", ".netrc", "_netrc",
    ".pgpass", ".pypirc", ".git-credentials", ".dockercfg", ".htpasswd", ".my.cnf", ".s3cfg",
    ".boto", ".vault-token", ".vault_pass*", "credentials", "credentials.json",
    "credentials.toml", "credentials.tfrc.json", "auth.json", "secret", "secrets", ".secrets",
    ".secret", "kubeconfig", "*.kubeconfig", "*.tfstate", "*.tfstate.backup",
    *(f"{dot}{stem}.{end}" for dot in ("", ".") for stem in ("secret", "secrets")
      for end in ("json", "yml", "yaml", "toml", "txt", "ini")),
    "*service*account*.json", "client_secret*.json", "rclone.conf",
    ".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".psql_history",
    ".mysql_history", ".sqlite_history", ".rediscli_history",
)  # fmt: skip
_SECRET_NAME = lazy_pattern("|".join(map(fnmatch.translate, _SECRET_NAMES)))
_SECRET_PATHS = ("/.docker/config.json", "/.config/gh/hosts.yml", "/.m2/settings.xml")
_SECRET_FOLDERS = word_set(".ssh .aws .kube .gnupg .azure .gcloud .password-store keyrings")
_SECRET_SETTINGS = word_set("gcloud op doctl hub rclone")
"""Folders below ``.config`` that hold keys."""

_HARMLESS_ENDINGS = (".example", ".sample", ".template", ".dist", ".tmpl", ".pub")

_GUARDED_FOLDERS = word_set(
    ".git .opencode .opencode-py .claude .agents .cursor .gemini .codex .husky .githooks"
)
"""They count below the root of a project: the project itself can lie in a folder of this name."""

_GUARDED_FILES = (
    "AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md", "CONTEXT.md", "GEMINI.md",
    "SKILL.md", ".cursorrules", ".windsurfrules", ".mcp.json", "opencode.json", "opencode.jsonc",
    "opencode-py.json", "opencode-py.jsonc", "copilot-instructions.md",
)  # fmt: skip
_GUARDED_NAMES = frozenset(name.casefold() for name in _GUARDED_FILES)
_GUARDED_PATHS = tuple(f"/.vscode/{name}.json" for name in ("settings", "tasks", "launch"))

_START_FILES = word_set(
    ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .bash_env .profile .zshrc "
    ".zshenv .zprofile .zlogin .zlogout .kshrc .mkshrc .cshrc .tcshrc .login .inputrc .xinitrc "
    ".xprofile .xsession .xsessionrc .envrc .gitconfig .gitmodules .npmrc .yarnrc .yarnrc.yml "
    ".pypirc .netrc .curlrc .wgetrc .ripgreprc .tmux.conf .screenrc .vimrc .gvimrc .exrc "
    ".nvimrc .emacs .nanorc .gdbinit .lldbinit .pythonrc .pythonrc.py .pdbrc .irbrc .pryrc "
    ".rprofile .psqlrc .sqliterc .my.cnf .lesskey .lessfilter .hgrc .pam_environment "
    "authorized_keys sitecustomize.py usercustomize.py crontab"
)
"""Read or run by a shell, an editor or another program the next time it starts."""

_HOME_FOLDERS = word_set(".ssh .gnupg .aws .kube .azure launchagents launchdaemons cron.d")
_OWN_FOLDERS = word_set("opencode opencode-py")
_OWN_PARENTS = frozenset({".config", "application support", "share"})
_SETTINGS_FOLDERS = word_set(
    "fish systemd autostart git gh gcloud environment.d nvim pip direnv mise"
)
"""Folders below ``.config`` whose files run or steer programs."""


def _parts(path: str) -> list[str]:
    return [part.casefold() for part in path.split("/") if part not in ("", ".")]


def _below(parts: list[str], parents: frozenset[str], folders: frozenset[str]) -> bool:
    """Return whether one of *folders* is directly below one of *parents*."""
    if parents.isdisjoint(parts):
        return False
    return any(a in parents and b in folders for a, b in itertools.pairwise(parts))


def _is_own(parts: list[str]) -> bool:
    """Return whether a path is of this program's own folders, and not a file in a worktree."""
    if not _below(parts, _OWN_PARENTS, _OWN_FOLDERS):
        return False
    below = next(
        n for n, a in enumerate(parts) if a in _OWN_FOLDERS and parts[n - 1] in _OWN_PARENTS
    )
    return parts[below + 1 : below + 2] != ["worktrees"] or len(parts) < below + 5


@lru_cache(maxsize=8192)
def is_secret(path: str) -> bool:
    """Return whether a file or folder of this name usually holds secrets, unlike examples and
    public keys."""
    parts = _parts(path)
    if not parts or parts[-1].endswith(_HARMLESS_ENDINGS):
        return False
    if not _SECRET_FOLDERS.isdisjoint(parts):
        return True
    if _below(parts, frozenset({".config"}), _SECRET_SETTINGS):
        return True
    name = parts[-1]
    if name.startswith("id_"):
        return "." not in name or name.startswith(("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"))
    if f"/{'/'.join(parts)}".endswith(_SECRET_PATHS):
        return True
    return _SECRET_NAME.match(name) is not None


UNSEARCHED = frozenset({"node_modules", ".git", ".venv", "venv", "__pycache__", ".tox"})
"""Folders in which no files with secrets are looked for."""
_MAX_SEARCHED = 20_000
"""Limit of the entries among which another name of a file is looked for."""


def has_secret_name(path: str, project: str) -> bool:
    """Return whether the file has another name in *project* by which it is a secret one: a hard
    link. Only a file with several names costs a search."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return False
    if status.st_nlink < 2 or not stat.S_ISREG(status.st_mode):
        return False
    seen, folders = 0, [project]
    while folders and seen <= _MAX_SEARCHED:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                seen += 1
                if entry.inode() == status.st_ino and is_secret(entry.path[len(project) :]):
                    return True
                if entry.name not in UNSEARCHED and entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
    return False


_EXAMPLES = tuple(name.replace("*", "x") for name in _SECRET_NAMES)
_ORDINARY = tuple(
    word_set(
        "main.c main.py main.go main.ts main.js readme.md main.json main.yml main.yaml main.toml "
        "main.txt main.ini .main.json .main.yml .main.yaml .main.toml"
    )
)
_CHOICES = lazy_pattern(r"[{},]")
_CLASS = lazy_pattern(r"\[[^]]*\]")


def is_match(name: str, pattern: str) -> bool:
    """Return whether a file *name* can match the last part of a search *pattern*, which is read in
    the widest way: without regard to case, each ``[…]`` as any text."""
    last = _CLASS.sub("*", pattern.casefold().rstrip("/").rpartition("/")[2])
    if _CHOICES.search(last):
        last = re.sub(r"\{.*\}", "*", last)
    return fnmatch.fnmatchcase(name.casefold(), last)


def chooses_secrets(pattern: str) -> bool:
    """Return whether a search *pattern* such as ``.e?v`` is for files with secrets: it matches the
    name of some, but no ordinary name."""
    for part in _CHOICES.split(pattern.replace("/", ",")):
        if not part.strip("*"):
            continue
        secret = is_secret(part) or any(is_match(name, part) for name in _EXAMPLES)
        if secret and not any(is_match(name, part) for name in _ORDINARY):
            return True
    return False


def is_guarded(path: str, absolute: str = "") -> bool:
    """Return whether writing *path* changes what governs the agent, the repository or a later
    start of a program.

    *path* is relative to the project for a file in it; *absolute* is then its full path: a project
    can lie in a folder called ``.claude``, but hardly in ``.ssh``.
    """
    parts = _parts(path)
    if not _GUARDED_FOLDERS.isdisjoint(parts):
        return True
    if parts and (parts[-1] in _GUARDED_NAMES or parts[-1] in _START_FILES):
        return True
    if f"/{'/'.join(parts)}".endswith(_GUARDED_PATHS):
        return True
    whole = _parts(absolute) if absolute else parts
    if not _HOME_FOLDERS.isdisjoint(whole) or _is_own(whole):
        return True
    return _below(parts, frozenset({".config"}), _SETTINGS_FOLDERS)


_GIT_FILES = ("config", "config.worktree", "commondir", "gitdir")
"""Files of a git directory that choose programs, or point to another one."""

_BROWSERS = (
    ".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/vivaldi",
    ".config/BraveSoftware", ".config/microsoft-edge", ".config/opera",
    "Library/Application Support/Google/Chrome", "Library/Application Support/Firefox",
    "Library/Keychains", "Library/Cookies",
)  # fmt: skip
"""Folders of browsers and of the system with passwords and cookies, which let anyone log in."""


def guarded_paths(folder: str) -> Iterator[str]:
    """Yield the paths directly in *folder* that a sandbox keeps as they are: those of
    ``is_guarded`` that exist. Of a repository these are the parts that run something: commits write
    the others."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name != ".git" and is_guarded(entry.name, entry.path):
                yield entry.path
    yield from filter(os.path.lexists, (folder + path for path in _GUARDED_PATHS))
    git = os.path.join(folder, ".git")
    if os.path.isfile(git):
        yield git
    elif os.path.isdir(git):
        yield from guarded_git_paths(git)


def guarded_git_paths(git_dir: str) -> Iterator[str]:
    """Yield the guarded parts of a git directory, and of those of its submodules."""
    # A folder for hooks could be made by a command; an empty one in its place does no harm.
    yield os.path.join(git_dir, "hooks")
    parts = [os.path.join(git_dir, name) for name in _GIT_FILES]
    with contextlib.suppress(OSError):
        for name in os.listdir(os.path.join(git_dir, "modules")):
            parts += [os.path.join(git_dir, "modules", name, part) for part in ("hooks", "config")]
    yield from filter(os.path.lexists, parts)


def credential_paths(home: str) -> Iterator[str]:
    """Yield the files and folders below *home* that usually hold credentials: a command that nobody
    had to allow needs none of them."""
    for name in sorted(_SECRET_FOLDERS):
        yield os.path.join(home, name)
    yield os.path.join(home, ".local/share/keyrings")
    for name in sorted(_SECRET_SETTINGS | {"gh"}):
        yield os.path.join(home, ".config", name)
    for path in (*_SECRET_PATHS, *(f"/{name}" for name in _BROWSERS)):
        yield home + path
    for name in _SECRET_NAMES:
        if name.startswith(".") and "*" not in name:
            yield os.path.join(home, name)


# Other names of files: a hard link shows what a file holds under a name that no rule covers.

MAX_SEARCHED = 20_000
"""Limit of the entries that are looked at: in a larger project, other names can be missed."""

Identity = tuple[int, int]
"""The device and inode of a file."""


def kept_identities(project: str, is_kept: Callable[[str], bool]) -> dict[Identity, str]:
    """Return the files below *project* (absolute) that have several names, for one of which
    *is_kept* holds, with that name. Folders such as ``node_modules`` are left out."""
    found: dict[Identity, str] = {}
    seen, folders = 0, [project]
    while folders and seen <= MAX_SEARCHED:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                seen += 1
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in UNSEARCHED:
                        folders.append(entry.path)
                elif entry.is_file(follow_symlinks=False) and is_kept(entry.path):
                    status = entry.stat(follow_symlinks=False)
                    if status.st_nlink > 1:
                        found[status.st_dev, status.st_ino] = entry.path
    return found


def shared_identity(path: str) -> Identity | None:
    """Return the identity of the file *path* if it has several names."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return (status.st_dev, status.st_ino) if status.st_nlink > 1 else None
