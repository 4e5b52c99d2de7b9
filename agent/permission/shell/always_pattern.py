"""What may be allowed of a command by its text, and what "always" would store (spec 4, M7)."""

import re

from agent.permission.programs import arity, git, wrappers
from agent.permission.programs.builtins import builtin_reason, destroys, odd_variable
from agent.permission.programs.carriers import carried, is_carrier
from agent.permission.programs.interpreters import is_interpreter
from agent.permission.programs.wrappers import Inner
from agent.permission.shell.call import Call, program
from agent.permission.syntax.words import as_written

_ODD_NAME = re.compile(r"^-|[\s\\]")


def odd_name(name: str) -> str:
    """Why a program of this *name* is not what it looks like, empty when it may be."""
    odd = not name or not name.isascii() or _ODD_NAME.search(name)
    return "the program's name holds unusual characters" if odd else ""


def in_another(call: Call) -> bool:
    """Whether more than the words that are shown decides what happens: none is offered."""
    return bool(call.wrapped or call.sets or call.more or call.fed)


def strict(base: str, call: Call, inner: Inner | None, actions: list[Inner]) -> str:
    """Why the pattern does not tell what would happen, empty when it does."""
    reason = odd_name(call.words[0].text) or odd_variable([name for name, _ in call.sets])
    arguments = call.words[1:]
    if call.fed and (is_carrier(base) or inner is not None or arity.arity_of(base) > 1):
        reason = reason or f"{base} gets arguments that are known at run time only"
    if inner is not None:
        return reason or inner.strict or odd_variable([name for name, _ in inner.sets])
    if base == "git":
        return reason or git.parse(arguments).strict
    reason = reason or next((each.strict for each in actions if each.strict), "")
    return reason or builtin_reason(base, arguments) or carried(base, arguments)


def offer(base: str, call: Call, inner: Inner | None, actions: list[Inner]) -> str | None:
    """The pattern for "always"; wrappers get one only if it names what they run.

    What a wrapper runs gets none: "always" to ``sudo git push`` is no word on ``git push``.
    """
    if in_another(call) or base in ("eval", "trap", "exec"):
        return None
    if inner is None:
        code = is_interpreter(base) and (base,) not in arity.ARITY
        exact = code or destroys(base, call.words[1:])
        return None if actions else arity.offered(call.words, exact_only=exact)
    if not inner.words or inner.codes or not wrappers.runner(base, call.words):
        return None
    run = program(inner.words[0].text)
    if wrappers.unwrap(run, inner.words) is not None or carried(run, inner.words[1:]):
        return None
    anything = arity.runs_anything([word.text for word in call.words])
    if anything or run in arity.EXACT or is_interpreter(run):
        return arity.offered(call.words, exact_only=True)
    length = len(call.words) - len(inner.words) + arity.arity([w.text for w in inner.words])
    head = call.words[:length]
    named = all(word.literal and re.fullmatch(r"\w[\w.:-]*", word.text) for word in head)
    return f"{as_written(head)} *" if named and len(head) == length else None
