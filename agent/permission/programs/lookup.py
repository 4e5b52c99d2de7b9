"""Finding the record of a program by its name."""

import importlib
import pkgutil
from functools import cache, lru_cache

from agent.permission.programs.record import Program


@cache
def records() -> dict[str, Program]:
    """Every program of the catalog by its name."""
    # The records are needed for the first command line, not at the start.
    from agent.permission.programs import catalog

    subjects = (
        importlib.import_module(f"{catalog.__name__}.{module.name}").PROGRAMS
        for module in pkgutil.iter_modules(catalog.__path__)
    )
    return {name: each for programs in subjects for each in programs for name in each.names.split()}


@lru_cache(maxsize=4096)
def program(name: str) -> Program | None:
    """Return the record of the program with this base name; None if it is not in the catalog.

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
        network=whole.network,
    )


def without_version(name: str) -> str:
    """Return the name without a version: ``gcc`` for ``gcc-12``."""
    return name.rstrip("0123456789.").removesuffix("-")


def base_name(path: str) -> str:
    """Return the base name of a program; GNU's can have a ``g`` in front."""
    base = path.rpartition("/")[2]
    plain = records().get(base[1:]) if base[:1] == "g" else None
    return base[1:] if plain is not None and plain.gnu_prefix else base
