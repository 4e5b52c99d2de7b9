"""A rule of a strict server as two requests: one that breaks it and a similar valid one."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One rule."""

    rule: str
    phrase: str
    """A part of the violation that is reported for *refused*."""

    refused: dict
    accepted: dict


def schema(**more: object) -> dict:
    """Return the schema of a tool's arguments."""
    text = {"type": "string", "description": "A path."}
    return {"type": "object", "properties": {"file_path": text}, "required": ["file_path"], **more}
