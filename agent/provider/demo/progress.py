"""How far a tour is: read from the calls that were made, so it can be stopped and go on."""

from dataclasses import dataclass

from agent.provider.demo.conversation import Done, Situation

FILE = "opencode-py-demo.txt"
"""The scratch file, in the opened folder; the last stage offers to remove it."""


@dataclass(frozen=True, slots=True)
class Progress:
    """*asked* is what began the tour. *before* is what the step before this one did."""

    situation: Situation
    done: tuple[Done, ...]
    before: tuple[Done, ...]
    understood: bool

    def last(self, stage: str) -> Done | None:
        """The call of *stage*, None while it was not made."""
        return next((call for call in reversed(self.done) if stage_of(call) == stage), None)

    def worked(self, stage: str) -> bool:
        call = self.last(stage)
        return call is not None and not call.failed


def stage_of(call: Done) -> str:
    """The stage that makes such a call."""
    match call.tool:
        case "bash":
            return "remove" if call.argument("command").startswith("rm ") else "command"
        case "read" if call.argument("file_path") == FILE:
            return "read again"
        case "todowrite":
            items = call.input.get("todos")
            states = [i.get("status") for i in items if isinstance(i, dict)] if isinstance(
                items, list
            ) else []  # fmt: skip
            if all(state in {"completed", "cancelled"} for state in states):
                return "tidy"
            return "plan" if all(state == "pending" for state in states) else "mark"
        case name:
            return name
