"""All sentences that users read, collected from the source: screens, notices, errors, help."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

WORDS = re.compile(r"[A-Za-z’']{2,}.*\s.*[A-Za-z’']{2,}|^[A-Z][a-z]+[.?!]?$", re.DOTALL)
"""Text of at least two words, or one that begins like a label."""

CODE = re.compile(
    r"^\s*[.#\w-]+\s*(\{|,|>)|[;{]\s*$|^(SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA|BEGIN|ALTER)\b"
    r"|\\[dsSwb]|\(\?|\)\?|\.\?|\{0,|^[\w.-]+/[\w.+-]+$|<[a-z-]+[ />]"
)
"""Style sheets, SQL, regular expressions, media types and markup."""

SILENT_CALLS = frozenset(
    {"cast", "compile", "getLogger", "lazy_pattern", "spawn", "TypeVar", "NewType", "word_set"}
)
"""Functions whose texts no user sees."""

PROSE = re.compile(r"\b(the|a|is|it|of|to|not|cannot)\b", re.IGNORECASE)
LONGEST_LABEL = 6
"""Words of a text that need not be a sentence; longer ones without such words are lists."""

SKIPPED = (
    "agent/permission/programs/catalog/",
    "agent/lsp/formatters",
    "agent/lsp/servers",
    "agent/process/sandbox/seatbelt",
    "agent/provider/quirks/",
    "agent/tools/",
)
"""Folders with tables of programs, and with texts that models read."""


def ui_strings() -> str:
    """Return the strings by file, one a line; what is put in at run time is ``{…}``."""
    files = sorted((*ROOT.glob("app/**/*.py"), *ROOT.glob("agent/**/*.py")))
    sections = []
    for path in files:
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(SKIPPED):
            continue
        found = dict.fromkeys(_strings(ast.parse(path.read_text("utf-8"))))
        if found:
            sections.append("\n".join((f"# {name}", *found)))
    return "\n\n".join(sections) + "\n"


def _strings(tree: ast.Module) -> Iterator[str]:
    skipped = set(_invisible(tree))
    for node in _in_order(tree, skipped):
        text = _text(node)
        prose = len(text.split()) <= LONGEST_LABEL or PROSE.search(text)
        if prose and WORDS.search(text) and not CODE.search(text):
            yield " ".join(text.split())


def _invisible(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield docstrings, annotations, and arguments of calls whose texts no user sees."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant()):
                yield node
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if (
                name in SILENT_CALLS or _is_log(node.func)
            ):
                yield node
            case ast.arg(annotation=ast.expr() as annotation):
                yield annotation
            case ast.AnnAssign(annotation=annotation):
                yield annotation
            case ast.FunctionDef(returns=ast.expr() as returns):
                yield returns
            case ast.AsyncFunctionDef(returns=ast.expr() as returns):
                yield returns
            case ast.Subscript(slice=ast.expr() as key, ctx=ast.Load()):
                yield key
            case ast.Assign(targets=[ast.Name(id="__all__")], value=names):
                yield names
            case _:
                pass


def _is_log(called: ast.expr) -> bool:
    return (
        isinstance(called, ast.Attribute)
        and isinstance(called.value, ast.Name)
        and called.value.id in {"log", "logging"}
    )


def _in_order(node: ast.AST, skipped: set[ast.AST]) -> Iterator[ast.expr]:
    for child in ast.iter_child_nodes(node):
        if child in skipped:
            continue
        if isinstance(child, ast.JoinedStr) or (
            isinstance(child, ast.Constant) and isinstance(child.value, str)
        ):
            yield child
        else:
            yield from _in_order(child, skipped)


def _text(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_text(value) for value in values)
        case _:
            return "{…}"
