"""Which programs are known: what their arguments mean is told by one of the tables."""

from agent.permission.programs import (
    arity,
    builtins,
    carriers,
    interpreters,
    readonly,
    subcommands,
    wrappers,
)
from agent.permission.programs.readonly_table import SPECS
from agent.permission.shell import operands

LISTED = (
    arity.LISTED
    | carriers.LISTED
    | interpreters.LISTED
    | subcommands.LISTED
    | readonly.LISTED
    | builtins.LISTED
    | operands.LISTED
    | wrappers.LISTED
)
"""Every program that some table of the analysis has a word on."""


def listed(base: str) -> bool:
    """Whether a table may know *base*, with or without a version behind it; of another program
    nothing is known but its words, so no table has to be asked."""
    return base in LISTED or interpreters.without_version(base) in LISTED or base.startswith("mkfs")


def familiar(base: str) -> bool:
    """Whether *base* is known not to run its plain operands as commands."""
    known = base in SPECS or (base,) in arity.ARITY or base in arity.EXACT
    known = known or base in builtins.WRITERS or base in builtins.BUILTINS
    return known or carriers.is_carrier(base) or wrappers.is_wrapper(base)
