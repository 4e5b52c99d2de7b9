"""Finding the record of a program by its name."""

from functools import cache, lru_cache
from importlib import import_module

from agent.permission.programs.record import Program

SUBJECTS = (
    "builtins", "cloud", "containers", "databases", "development", "documents", "editors", "files",
    "interpreters", "network", "packages", "remote", "system", "text", "toolchains",
    "version_control", "wrappers",
)  # fmt: skip
"""The modules of the catalog."""


@cache
def records() -> dict[str, Program]:
    """Every program of the catalog by its name."""
    found: dict[str, Program] = {}
    for subject in SUBJECTS:  # loaded for the first command line, not at the start
        module = import_module(f"agent.permission.programs.catalog.{subject}")
        for program in module.PROGRAMS:
            found.update(dict.fromkeys(program.names.split(), program))
    return found


@lru_cache(maxsize=4096)
def program(name: str) -> Program | None:
    """The record of the program with this base name; None for one that is not in the catalog.

    ``python3.12`` and ``gcc-12`` have the options of the program that they are a version of, but
    no more of its facts.
    """
    found = records().get(name)
    if found is not None:
        return found
    if name.startswith("mkfs"):
        return Program(name, destructive=True)
    whole = records().get(without_version(name))
    if whole is None or whole.syntax == "git" or not (whole.interpreter or whole.side_effects):
        return None
    return Program(
        name,
        options=whole.options,
        interpreter=whole.interpreter,
        clusters=whole.clusters,
        abbreviates=whole.abbreviates,
    )


def without_version(name: str) -> str:
    return name.rstrip("0123456789.").removesuffix("-")


def base_name(path: str) -> str:
    """The base name of a program; GNU's can have a ``g`` in front."""
    base = path.rpartition("/")[2]
    plain = records().get(base[1:]) if base[:1] == "g" else None
    return base[1:] if plain is not None and plain.gnu_prefix else base
