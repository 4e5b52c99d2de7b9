"""Which programs are known: what their arguments mean is told by one of the tables."""

from agent.permission.arity import ARITY, EXACT
from agent.permission.carriers import is_carrier
from agent.permission.readonly_table import SPECS
from agent.permission.shell_builtins import BUILTINS, WRITERS
from agent.permission.wrappers import is_wrapper


def familiar(base: str) -> bool:
    """Whether *base* is known not to run its plain operands as commands."""
    known = base in SPECS or (base,) in ARITY or base in EXACT or base in WRITERS
    return known or base in BUILTINS or is_carrier(base) or is_wrapper(base)
