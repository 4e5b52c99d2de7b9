"""The command line: the program's own options, and the table of its commands.

Modules are imported only when they are needed: ``--help`` stays cheap.
"""

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from app.startup.launch import LaunchOptions
    from app.tui.runtime_startup import OpenRuntime

DONE, USAGE = 0, 2


class CliCommand(NamedTuple):
    """A command in ``COMMANDS``."""

    module: str
    """The module with ``parser()`` and ``main(argv)``, which returns the exit code."""
    summary: str
    """The description in the help."""


COMMANDS: dict[str, CliCommand] = {
    "acp": CliCommand("app.cli.acp", "serve an editor over the Agent Client Protocol"),
    "attach": CliCommand("app.cli.attach", "use the sessions of a running server in this terminal"),
    "agent": CliCommand("app.cli.agent", "list and create agents"),
    "auth": CliCommand("app.cli.auth", "API keys of providers: list, log in, log out"),
    "completion": CliCommand("app.cli.completion", "completion for bash, zsh and fish"),
    "debug": CliCommand("app.cli.debug", "inspect settings, rules and internals"),
    "mcp": CliCommand("app.cli.mcp", "MCP servers: list, add, log in"),
    "models": CliCommand("app.cli.models", "list the models"),
    "run": CliCommand("app.cli.run", "send one prompt without the screen, for scripts"),
    "serve": CliCommand("app.cli.serve", "an HTTP server for editors, bots and browsers"),
    "session": CliCommand("app.cli.session", "list, read, search and delete sessions"),
    "export": CliCommand("app.cli.export", "write a session to a file"),
    "import": CliCommand("app.cli.import_", "read a session from a file"),
    "stats": CliCommand("app.cli.stats", "usage: tokens and cost by day and model"),
}
"""The commands by name. A folder of a command's name is opened as ``./run``."""

ALIASES: dict[str, str] = {"exec": "run", "e": "run", "sessions": "session"}
"""Other programs' names of commands. A folder of such a name is opened."""

MEANT: dict[str, str] = {
    "login": "auth login",
    "logout": "auth logout",
    "key": "auth login",
    "keys": "auth list",
    "connect": "auth login",
    "config": "debug config",
    "settings": "debug config",
    "plugins": "debug plugins",
    "skills": "debug skills",
    "resume": "--continue",
    "continue": "--continue",
    "new": "",
    "start": "",
    "tui": "",
    "chat": "",
    "ask": "run",
    "list": "session list",
    "ls": "session list",
    "history": "session list",
    "delete": "session delete",
    "rm": "session delete",
    "search": "session search",
    "cost": "stats",
    "usage": "stats",
    "update": "upgrade",
    "doctor": "debug",
    "info": "debug",
}
"""Other words for what commands do, each with the words after the program's name."""

UNSUPPORTED: dict[str, str] = {
    "web": "opencode-py opens no browser: start opencode-py serve, and open its address.",
    "share": "opencode-py shares nothing: opencode-py export writes a session to a file.",
    "upgrade": "opencode-py does not upgrade itself: use the tool that installed it "
    "(uv tool upgrade opencode-py-agent, or pipx upgrade opencode-py-agent).",
    "uninstall": "opencode-py does not remove itself: use the tool that installed it.",
    "github": "opencode-py has no GitHub action: opencode-py run works in any pipeline.",
    "pr": "opencode-py does not check out pull requests: use gh pr checkout first.",
    "providers": "opencode-py lists its providers with: opencode-py auth list --all.",
    "plugin": "opencode-py does not install plugins: put a Python file into plugins/ of a config "
    "folder, or install a package that contains some; opencode-py debug plugins lists them.",
}
"""Commands of opencode and of other programs that do not exist here, each with the alternative."""


def _epilog() -> str:
    """Return the list of commands, which are no arguments of this parser: each has its own."""
    return "\n".join(
        [
            "commands, each with --help:",
            *(f"  {name:<12}{entry.summary}" for name, entry in COMMANDS.items()),
            "",
            "In a terminal it opens the full screen, where / lists the commands.",
        ]
    )


def parser() -> "argparse.ArgumentParser":
    """The parser of the whole command line."""
    from app.cli.parser import CommandParser, RawHelpFormatter  # loads argparse

    result = CommandParser(
        prog="opencode-py",
        description="A coding agent for the terminal.",
        epilog=_epilog(),
        formatter_class=RawHelpFormatter,
        allow_abbrev=False,
    )
    result.add_argument(
        "folder", nargs="?", help="the folder to work in (default: the current one)"
    )
    add_options(result)
    return result


def add_options(result: "argparse.ArgumentParser") -> None:
    """Add the program's own options to a parser."""
    from app.cli.parser import add_mode_options  # not needed for unsupported commands

    add = result.add_argument
    add("-m", "--model", metavar="PROVIDER/MODEL", help="the model to use")
    add("--agent", metavar="NAME", help="the agent to start with (build, plan, …)")
    add("--effort", metavar="LEVEL", help="the reasoning effort (low, medium, high, …)")
    add("--prompt", metavar="TEXT", help="send this prompt at once")
    add("-c", "--continue", dest="resume", action="store_true", help="continue the latest session")
    add("-s", "--session", metavar="ID", help="continue this session")
    add(
        *("-w", "--worktree"),
        nargs="?",
        const="",
        metavar="NAME",
        help="work in a new git worktree, with its own branch",
    )
    add("--fork", action="store_true", help="with -c or -s: fork the session")
    add_mode_options(result)
    add(
        "--sandbox",
        choices=("auto", "required", "off"),
        help="run commands in a sandbox if there is one, always, or never (default: auto)",
    )
    add("--plain", action="store_true", help="line-based interface, without the full screen")
    add("--port", type=int, help="let editors use this screen, over HTTP on this port")
    add("-V", "-v", "--version", action="store_true", help="print the version")


def main(argv: list[str]) -> int:
    """Run the program with *argv* (without the program's name) and return the exit code: 0 done, 1
    failed, 2 wrong usage, 130 interrupted."""
    options = any(word.startswith("-") for word in argv)
    if options and argv[0] not in COMMANDS:
        from app.cli.foreign_flags import asks_for_run, command_first  # only with options

        argv = command_first(argv)
        if argv[0] not in COMMANDS and argv[0] not in ALIASES and asks_for_run(argv):
            argv = ["run", *argv]
    if argv and argv[0] in {"help", "version"} and not os.path.isdir(argv[0]):  # noqa: PTH112 - no pathlib yet
        argv = [*argv[1:2], "--help"] if argv[0] == "help" else ["--version"]
    if argv and argv[0] in ALIASES and not os.path.isdir(argv[0]):  # noqa: PTH112 - no pathlib yet
        if ALIASES[argv[0]] == "run" and "resume" in argv:
            return _resume(argv[1:])
        argv = [ALIASES[argv[0]], *argv[1:]]
    if argv and argv[0] in COMMANDS:
        import importlib  # only for commands

        return importlib.import_module(COMMANDS[argv[0]].module).main(argv[1:])
    from app.cli.command_support import report, run_command  # commands import it themselves

    if argv and argv[0] in UNSUPPORTED and not os.path.isdir(argv[0]):  # noqa: PTH112 - no pathlib yet
        return report(UNSUPPORTED[argv[0]], USAGE)
    if argv and _is_unknown(argv[0]):
        return report(_suggestion(argv), USAGE)
    if options:
        from app.cli.foreign_flags import ForeignOption, own_words  # as above

        try:
            argv = own_words(argv)
        except ForeignOption as error:
            return report(str(error), USAGE)
    return run_command(parser(), argv, _open)


def _open(arguments: "argparse.Namespace") -> int:
    """Open the full screen or the line-based front end."""
    from app.cli.command_support import report  # already loaded

    if arguments.version:
        from agent.installation import DISTRIBUTION, VERSION  # loads the agent package

        sys.stdout.write(f"opencode-py {VERSION} ({DISTRIBUTION})\n")
        return DONE
    launch = _launch_options(arguments)
    if isinstance(launch, str):
        return report(launch, USAGE)
    from app.startup.launch import pause_gc  # not needed by --help

    pause_gc()  # until ``load_runtime`` has loaded the agent package
    if launch.plain or os.environ.get("TERM") == "dumb":  # it knows no escape sequences
        from app.plain.console import run_plain  # the line-based front end

        return run_plain(launch, os.environ)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return report("The full screen needs a terminal. Use --plain without one.", USAGE)
    return open_screen(launch)


def open_screen(launch: "LaunchOptions", open_runtime: "OpenRuntime | None" = None) -> int:
    """Show the full screen in this terminal until the user leaves; return the exit code.
    *open_runtime* replaces ``load_runtime``."""
    from app.startup.raw_mode import raw_terminal  # only for the full screen

    more = {} if open_runtime is None else {"open_runtime": open_runtime}
    with raw_terminal(sys.stdin.fileno()):
        return _load_screen()(launch, os.environ, **more)


def _is_unknown(word: str) -> bool:
    """Return whether *word* can be neither an option nor a folder."""
    bare = word and not word.startswith(("-", "~")) and "/" not in word
    return bool(bare) and not os.path.lexists(word)


def _resume(words: list[str]) -> int:
    """Run Codex's ``exec resume``."""
    from app.cli import run  # only for commands
    from app.cli.command_support import report  # as above
    from app.cli.foreign_flags import ForeignOption, resumed  # as above

    try:
        return run.main(resumed(words))
    except ForeignOption as error:
        return report(str(error), USAGE)


def _suggestion(words: list[str]) -> str:
    """Return what the user may have meant by *words*, the first of which is unknown."""
    from difflib import SequenceMatcher, get_close_matches  # only for a mistyped command

    from app.text.sanitize import sanitize  # as above

    first, *rest = words
    known = [*COMMANDS, *ALIASES, *UNSUPPORTED, "help", "version"]
    near = get_close_matches(first.lower(), known, n=3, cutoff=0.65)
    best = SequenceMatcher(None, near[0], first.lower()).ratio() if near else 0.0
    near = get_close_matches(first.lower(), near, n=3, cutoff=max(0.65, best - 0.1))
    near = [first.lower()] if first.lower() in MEANT else near
    meant = [MEANT.get(name, ALIASES.get(name, name)) for name in near]
    offered = " or ".join(
        dict.fromkeys(f"opencode-py {name}".strip() for name in meant if name not in UNSUPPORTED)
    )
    problem = f"There is no command and no folder {sanitize(first)}. "
    if meant and meant[0] in UNSUPPORTED:
        return problem + UNSUPPORTED[meant[0]]
    if offered:
        return f"{problem}Did you mean {offered}?"
    if " " in first or (rest and not rest[0].startswith("-")):
        return f'{problem}To send a prompt: opencode-py --prompt "…"'
    return f"{problem}opencode-py --help lists the commands."


def _launch_options(arguments: "argparse.Namespace") -> "LaunchOptions | str":
    """Return the launch options, or a sentence on why the arguments are invalid."""
    from pathlib import Path  # not needed by --help and --version

    from app.startup.launch import LaunchOptions  # as above

    try:
        folder = Path(arguments.folder or ".").expanduser().resolve(strict=True)
    except OSError:
        named = "" if arguments.folder == "." else arguments.folder
        return f"There is no folder {named or 'here: it was removed'}."
    if not folder.is_dir():
        return f"{arguments.folder} is not a folder."
    if arguments.resume and arguments.session:
        return "Use either --continue or --session, not both."
    if arguments.fork and not (arguments.resume or arguments.session):
        return "--fork needs the session to copy: add --continue or --session ID."
    if arguments.worktree is not None and (arguments.resume or arguments.session):
        return "--worktree starts a new session: omit --continue and --session."
    return LaunchOptions(
        directory=folder,
        model=arguments.model,
        agent=arguments.agent,
        effort=arguments.effort,
        prompt=arguments.prompt,
        resume=arguments.resume,
        session=arguments.session,
        fork=arguments.fork,
        worktree=arguments.worktree,
        mode=arguments.mode,
        sandbox=arguments.sandbox,
        port=arguments.port,
        plain=arguments.plain,
    )


def _load_screen() -> "Callable[..., int]":
    """Import the full screen quickly, and so that keys echo at once.

    Textual paints on a timer of 60 Hz unless another rate is set before it is imported, which alone
    makes a key wait up to 16 ms.
    """
    given = os.environ.get("TEXTUAL_FPS")
    os.environ.setdefault("TEXTUAL_FPS", "240")
    from app.tui.app import run_app  # Textual: 0.3 s

    if given is None:  # child processes must not inherit it
        del os.environ["TEXTUAL_FPS"]
    return run_app
