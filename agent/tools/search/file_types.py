"""The types of files by which a search can be narrowed, as globs of names.

The table is used with and without ripgrep, whose own types differ from version to version.
"""

from collections.abc import Iterable
from fnmatch import fnmatchcase

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
