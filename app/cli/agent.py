"""``opencode-py agent list|create``."""

import argparse
import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from app.cli.command_support import (
    DONE,
    FAILED,
    USAGE,
    command_parser,
    read_folder_settings,
    report,
    run_command,
)
from app.cli.parser import help_texts
from app.text.sanitize import sanitize, sanitize_line

if TYPE_CHECKING:
    from agent.agents import AgentInfo

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_/-]{0,63}")


def parser() -> argparse.ArgumentParser:
    result = command_parser("agent", "List or create agents.")
    parts = result.add_subparsers(dest="part", required=True, metavar="PART")
    listing = parts.add_parser("list", **help_texts("list all agents and their sources"))
    listing.add_argument("--json", action="store_true", help="print JSON")
    create = parts.add_parser("create", **help_texts("create an agent in Markdown"))
    add = create.add_argument
    add("name", nargs="?", help="the name (in a terminal, you are asked for it)")
    add("--description", metavar="TEXT", help="when to use it, in a sentence")
    add("--prompt", metavar="TEXT", help="the agent's instructions")
    add(
        "--mode",
        choices=("primary", "subagent", "all"),
        default="all",
        help="who can use it: you, other agents, or both",
    )
    add("--model", metavar="PROVIDER/MODEL", help="the agent's model")
    add(
        "--deny",
        metavar="PERMISSION",
        action="append",
        default=[],
        help="a permission that the agent does not get (can be repeated)",
    )
    add("--project", action="store_true", help="create it for this project only")
    add("--json", action="store_true", help="print the result as JSON")
    return result


def main(argv: list[str]) -> int:
    return run_command(parser(), argv, _run, interrupted_message="No agent was created.")


def _run(arguments: argparse.Namespace) -> int:
    return show(as_json=arguments.json) if arguments.part == "list" else create(arguments)


def show(*, as_json: bool) -> int:
    """Print the agents of this folder."""
    import asyncio  # not needed by --help

    from agent.agents import Agents  # loads the agent package

    loaded, _ = asyncio.run(read_folder_settings())
    agents = Agents(loaded)
    if as_json:
        print(json.dumps([_record(info) for info in agents.listed()], indent=2))
        return DONE
    for info in agents.listed():
        print(f"{sanitize_line(info.name)}   {info.mode}   {sanitize_line(info.source)}")
        print(f"    {sanitize_line(info.description)}")
    for notice in loaded.notices:
        report(sanitize(notice), DONE)
    return DONE


def _record(info: "AgentInfo") -> dict[str, object]:
    return {
        "name": info.name,
        "mode": info.mode,
        "description": info.description,
        "model": info.model,
        "effort": info.effort,
        "steps": info.max_steps,
        "source": info.source,
        "permission": [
            {"permission": r.permission, "pattern": r.pattern, "action": r.action}
            for r in info.rules
        ],
    }


def create(arguments: argparse.Namespace) -> int:
    """Write the agent's file; an existing one is never overwritten."""
    from agent.config.paths import Paths, ensure_folder  # not needed by --help

    asks = sys.stdin.isatty() and not arguments.json
    name = arguments.name or (input("Name: ").strip() if asks else "")
    if not NAME.fullmatch(name) or ".." in name:
        return report("Use a name of letters, digits and -: opencode-py agent create NAME.", USAGE)
    about = arguments.description or (input("When is it used? ").strip() if asks else "")
    if not about:
        return report("Describe when it is used: --description TEXT.", USAGE)
    top = Path.cwd() / ".opencode-py" if arguments.project else Paths.find(os.environ).config
    path = top / "agents" / f"{name}.md"
    if path.exists():
        return report(f"An agent already exists in {path}. Edit that file, or remove it.", FAILED)
    if arguments.project:
        path.parent.mkdir(parents=True, exist_ok=True)
    else:
        ensure_folder(path.parent)
    prompt = arguments.prompt or (input("Its instructions: ").strip() if asks else "")
    path.write_text(_document(arguments, about, prompt), "utf-8")
    if arguments.json:
        print(json.dumps({"name": name, "path": str(path)}))
    else:
        print(f"Made {sanitize(str(path))}. /agents lists it; edit the file to change it.")
    return DONE


def _document(arguments: argparse.Namespace, about: str, prompt: str) -> str:
    lines = [
        "---",
        f"description: {json.dumps(about, ensure_ascii=False)}",
        f"mode: {arguments.mode}",
    ]
    if arguments.model:
        lines.append(f"model: {json.dumps(arguments.model)}")
    if arguments.deny:
        lines += ["permission:", *(f"  {json.dumps(each)}: deny" for each in arguments.deny)]
    return "\n".join([*lines, "---", "", prompt or f"Your task: {about}", ""])
