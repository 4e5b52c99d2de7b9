"""Glob patterns. A malformed one is an error; otherwise it would match nothing."""

import re
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase

from agent.records.errors import ToolError

_MAGIC = re.compile(r"[*?\[{\\]")


def check_glob(pattern: str, field: str) -> None:
    """Raise ``ToolError`` for a malformed glob, which no file would match."""
    problem = _problem(pattern)
    if problem:
        raise ToolError(
            f"{field} {pattern!r} is not a valid glob: {problem}. Write a literal bracket or "
            "brace as [[], [{] or with a backslash; a good pattern is **/*.{ts,tsx}."
        )


def _problem(pattern: str) -> str:
    if not pattern.strip():
        return "it is empty"
    if "\0" in pattern:
        return "it contains a NUL byte"
    braces = position = 0
    while position < len(pattern):
        char = pattern[position]
        if char == "\\":
            if position + 1 == len(pattern):
                return "it ends with a lone backslash"
            position += 1
        elif char == "[":
            end = _class_end(pattern, position)
            if end < 0:
                return "a [ is never closed"
            inside = pattern[position + 1 : end].removeprefix("^")
            for first, last in re.findall(r"([^\\-])-([^\\-])", inside):
                if first > last:
                    return f"the range {first}-{last} is reversed"
            position = end
        elif char == "{":
            braces += 1
        elif char == "}":
            braces -= 1
            if braces < 0:
                return "a } has no {"
        position += 1
    return "a { is never closed" if braces else ""


def _class_end(pattern: str, start: int) -> int:
    """Return the end of the class that begins at *start*, -1 if it is not closed."""
    position = start + 1
    if pattern[position : position + 1] in ("!", "^"):
        position += 1
    if pattern[position : position + 1] == "]":
        position += 1
    return pattern.find("]", position)


def is_magic(text: str) -> bool:
    """Return whether *text* has special characters of globs."""
    return _MAGIC.search(text) is not None


def literal_prefix(pattern: str) -> tuple[str, str]:
    """Return the leading folders without wildcards, and the rest: ``("src/a", "**/*.py")``.

    The rest is never empty; the prefix is empty if the first part has a wildcard.
    """
    parts = pattern.split("/")
    count = 0
    while count < len(parts) - 1 and not is_magic(parts[count]):
        count += 1
    prefix = "/".join(parts[:count])
    if count and not prefix:
        prefix = "/"
    return prefix, "/".join(parts[count:])


def matches_hidden(pattern: str) -> bool:
    """Return whether a part of *pattern* begins with a dot, so that it matches hidden files."""
    return re.search(r"(^|[/{,])\.[^./]", pattern) is not None


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return a test for paths relative to the searched folder. A pattern without a slash matches
    names at any depth, as in .gitignore."""
    # wcmatch pulls in a good part of the standard library; only searches need it.
    from wcmatch import glob  # kept off the start-up path

    bare = pattern.removeprefix("./").lstrip("/")
    anchored = bare if "/" in pattern.rstrip("/") else f"**/{bare}"
    flags = glob.GLOBSTAR | glob.BRACE | glob.DOTGLOB | glob.CASE | glob.FORCEUNIX
    # Only wcmatch's regular expressions: its matcher adds twice their time per path.
    wanted, _ = glob.translate(anchored, flags=flags, limit=1_000)
    tests = [re.compile(one).fullmatch for one in wanted]

    def fits(path: str) -> bool:
        if "\n" in path:  # file names can contain it, and "." in the expressions does not match it
            path = path.replace("\n", "\x01")
        return any(test(path) for test in tests)

    return fits


def literal_part(pattern: str) -> str:
    """Return a text that every path matching *pattern* contains: the longest one in its last part,
    "" without a certain one."""
    last = pattern.rpartition("/")[2]
    if re.search(r"[\[{\\]", pattern):
        return ""
    return max(re.split(r"[*?]", last), key=len)


# The types of files by which a search can be narrowed, as globs of names.
#
# The table is used with and without ripgrep, whose own types differ from version to version.

_TYPES: dict[str, str] = {
    "c": "*.c *.h",
    "cpp": "*.cpp *.cc *.cxx *.c++ *.hpp *.hh *.hxx *.h *.inl",
    "cs": "*.cs *.csx",
    "css": "*.css *.scss *.sass *.less",
    "docker": "Dockerfile *.dockerfile Dockerfile.* Containerfile",
    "elixir": "*.ex *.exs *.eex *.heex",
    "go": "*.go",
    "haskell": "*.hs *.lhs",
    "html": "*.html *.htm *.xhtml",
    "java": "*.java *.jsp",
    "js": "*.js *.jsx *.mjs *.cjs *.vue",
    "json": "*.json *.jsonc *.json5 *.jsonl",
    "kotlin": "*.kt *.kts",
    "lua": "*.lua",
    "make": "Makefile makefile GNUmakefile *.mk *.mak",
    "md": "*.md *.mdx *.markdown",
    "perl": "*.pl *.pm *.t",
    "php": "*.php *.phtml",
    "py": "*.py *.pyi *.pyx",
    "r": "*.r *.R *.Rmd",
    "ruby": "*.rb *.erb *.rake *.gemspec Gemfile Rakefile",
    "rust": "*.rs",
    "scala": "*.scala *.sc *.sbt",
    "sh": "*.sh *.bash *.zsh *.ksh *.bats",
    "sql": "*.sql",
    "swift": "*.swift",
    "toml": "*.toml",
    "ts": "*.ts *.tsx *.mts *.cts",
    "txt": "*.txt *.text",
    "xml": "*.xml *.xsd *.xsl *.svg",
    "yaml": "*.yaml *.yml",
}
_OTHER_NAMES = {
    "bash": "sh",
    "c++": "cpp",
    "csharp": "cs",
    "golang": "go",
    "javascript": "js",
    "markdown": "md",
    "python": "py",
    "rb": "ruby",
    "rs": "rust",
    "shell": "sh",
    "typescript": "ts",
    "yml": "yaml",
}


def type_globs(name: str) -> tuple[str, ...]:
    """Return the globs of the type *name*; an unknown name is a file extension."""
    plain = name.strip().removeprefix(".").lower()
    plain = _OTHER_NAMES.get(plain, plain)
    return tuple(_TYPES.get(plain, f"*.{plain}").split())


def fits_type(path: str, globs: Iterable[str]) -> bool:
    """Return whether the name of *path* fits one of *globs*."""
    name = path.rpartition("/")[2]
    return any(fnmatchcase(name, glob) for glob in globs)
