"""Shell commands inside the arguments of other programs: ``--to-command='rm x'``.

A use of a program whose arguments can run something needs approval anyway; this finds what it
would run, so that deny rules apply. Only they look at it, so finding too much does no harm.
"""

import re
import shlex
from collections.abc import Iterator, Sequence

from agent.permission.syntax.words import Word

_MAX_TEXTS = 200
"""Limit of the texts of one command."""

_MAX_COMMAND = 2_000
"""Characters of a text that can be one command; a longer one is a program that holds some."""

_LEAD = re.compile(
    r"(?:[\s:+@|&;,\d]*!|\\!|[|:]+|\.(?:shell|system)\s|(?:exec|system|spawn|shell|sh|cmd)[:\s]|"
    r"\"[^\"]*\":|\d*[,\d$]*\s*e\s)\s*",
    re.IGNORECASE,
)
_BARE = re.compile(r"(?!-)[\w.-]*")
"""Text without code: it has no space, quote or special character."""
_CALL = re.compile(
    r"(?:system|popen\w*|exec\w*|spawn\w*|Popen|run|call|check_call|check_output|getoutput|"
    r"getstatusoutput|shell_exec|passthru|proc_open|shell-command\w*|start-process|shell|"
    r"capture\w*|command|Command\.new|do shell script|qx|sh|startfile|fork_exec|posix_spawn\w*)"
    r"[\s(\[{]*(?=[\"'`])"
)
_QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|`([^`]*)`", re.DOTALL)
_PIPED = re.compile(
    r"\|&?\s*(\"(?:[^\"\\]|\\.)*\"|'[^']*')|(\"(?:[^\"\\]|\\.)*\"|'[^']*')\s*\|", re.DOTALL
)
_TICKS = re.compile(r"`([^`]*)`|(?:%x|qx)\s*([\[({/|!])(.*?)[\])}/|!]", re.DOTALL)
_SUBSTITUTE = re.compile(r"s([/|#,:@!])(?:(?!\1).)*\1((?:(?!\1).)*)\1\w*e")


def embedded_texts(words: Sequence[Word]) -> list[str]:
    """Return texts in the arguments *words* that can be shell code."""
    found: dict[str, None] = {}
    for word in words[:_MAX_TEXTS]:
        for text in _forms(word.text):
            if len(text) <= _MAX_COMMAND:
                found[text] = None
        for code in code_strings(word.text):
            found[code] = None
    return [text for text in list(found)[:_MAX_TEXTS] if text.strip()]


def _forms(text: str) -> Iterator[str]:
    """Yield *text* and values joined to an option or name in it, also without a leading mark."""
    if _BARE.fullmatch(text):
        yield text
        return
    forms = [text]
    forms += [text[mark.end() :] for mark in list(re.finditer("=", text))[:5]]
    if re.match(r"-[A-Za-z].", text):
        forms.append(text[2:])
    for form in forms:
        yield form
        lead = _LEAD.match(form)
        if lead:
            yield form[lead.end() :]


def code_strings(text: str) -> Iterator[str]:
    """Yield the shell commands that program *text* (Python, awk, Perl, sed …) would start."""
    if _BARE.fullmatch(text):
        return
    for call in list(_CALL.finditer(text))[:_MAX_TEXTS]:
        parts: list[str] = []
        at = call.end()
        while (quoted := _QUOTED.match(text, at)) and len(parts) < _MAX_TEXTS:
            parts.append(_unescaped(quoted))
            gap = re.compile(r"[\s,\[\]()]*").match(text, quoted.end())
            at = gap.end() if gap else quoted.end()
        yield parts[0] if len(parts) == 1 else shlex.join(parts)
    for piped in list(_PIPED.finditer(text))[:_MAX_TEXTS]:
        quoted = _QUOTED.match(piped[1] or piped[2])
        if quoted:
            yield _unescaped(quoted).strip("| ")
    for ticks in list(_TICKS.finditer(text))[:_MAX_TEXTS]:
        yield ticks[1] or ticks[3] or ""
    for script in list(_SUBSTITUTE.finditer(text))[:_MAX_TEXTS]:
        yield script[2]


def _unescaped(quoted: re.Match[str]) -> str:
    return re.sub(r"\\(.)", r"\1", next(part for part in quoted.groups() if part is not None))
