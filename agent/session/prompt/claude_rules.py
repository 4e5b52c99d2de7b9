"""The rules of Claude Code: instruction files in ``.claude/rules``, some only for some files."""

from pathlib import Path

from agent.config.markdown_files import FrontmatterError, parse_document
from agent.permission.trust.project_files import rule_files
from agent.records.errors import ToolError
from agent.tools.search.globs import check_glob, matcher


def rules_for(project: Path, touched: Path | None = None) -> list[Path]:
    """Return the rules of *project* for every file; with *touched*, those for that file alone."""
    return [
        path
        for path in rule_files(project)
        for patterns in (_patterns(path),)
        if (touched is None and not patterns) or (touched and _fits(touched, project, patterns))
    ]


def rule_text(path: Path, text: str) -> str:
    """Return the *text* of an instruction file; of a rule without its frontmatter."""
    if ".claude" not in path.parts:
        return text
    try:
        return parse_document(text).body
    except FrontmatterError:
        return text


def _patterns(path: Path) -> list[str]:
    """Return the patterns of the files that a rule is for, none for every file."""
    try:
        given = parse_document(path.read_text("utf-8", "replace")).fields.get("paths")
    except (FrontmatterError, OSError):
        return []
    listed = given.split(",") if isinstance(given, str) else given
    return [str(each).strip() for each in listed] if isinstance(listed, list) else []


def _fits(touched: Path, project: Path, patterns: list[str]) -> bool:
    if not touched.is_relative_to(project):
        return False
    name = touched.relative_to(project).as_posix()
    for pattern in patterns:
        try:
            check_glob(pattern, "paths")
        except ToolError:
            continue
        if matcher(pattern)(name):
            return True
    return False
