"""A rule as a pair of requests: one that breaks it and one, as near as can be, that keeps it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """*phrase* stands in the complaint about *refused*."""

    rule: str
    phrase: str
    refused: dict
    accepted: dict


def schema(**more: object) -> dict:
    """The schema of a tool's arguments."""
    text = {"type": "string", "description": "A path."}
    return {"type": "object", "properties": {"file_path": text}, "required": ["file_path"], **more}
