"""Reminders: what the program itself tells the model inside a user message.

A reminder stands in a tag. Text from anywhere else (files, tool output, web pages, MCP servers,
what users type or paste) is sent with the tag escaped, so that it cannot pass for a reminder.
"""

import re

_OPEN, _CLOSE = "<system-reminder>\n", "\n</system-reminder>"
_TAG = re.compile(r"<(?=[\s/]*system[-_\s]?reminder)", re.IGNORECASE)


def reminder(text: str) -> str:
    """Return *text* as a reminder."""
    return f"{_OPEN}{escape_reminders(text)}{_CLOSE}"


def escape_reminders(text: str) -> str:
    """Return *text* with every tag of a reminder made readable as text."""
    return _TAG.sub("&lt;", text)


def escape_after_reminder(text: str) -> str:
    """Return *text* with such tags escaped, except those of a reminder that it begins with.

    For text that the program itself has composed.
    """
    if not text.startswith(_OPEN):
        return escape_reminders(text)
    inner, close, rest = text.removeprefix(_OPEN).partition(_CLOSE)
    if not close:
        return escape_reminders(text)
    return f"{reminder(inner)}{escape_reminders(rest)}"


def restore_reminders(text: str, original: str) -> str:
    """Return *text*, written by a model that saw *original* with tags escaped, with the tags as
    they are in *original*."""
    if not _TAG.search(original) or _ESCAPED.search(original):
        return text
    return _ESCAPED.sub("<", text)


_ESCAPED = re.compile(r"&lt;(?=[\s/]*system[-_\s]?reminder)", re.IGNORECASE)
