"""Reports of background sub-agents in the output forms that have no screen."""

import io
import json

from agent.records.events import PartUpdated
from app.cli.run.writers import JsonLines
from app.plain.printer import Printer
from tests.support import records

WAITING = PartUpdated(records.report("msg_a", "None has \x1b[31mit."))
TAKEN = PartUpdated(records.report("msg_b", "None has \x1b[31mit."))
"""The same report, which waited while a step began."""


def test_plain_prints_a_report_once() -> None:
    out = io.StringIO()
    printer = Printer(out)
    printer.show(WAITING)
    printer.show(TAKEN)
    assert out.getvalue() == "Explore reports: find the readers · 3 tool calls\nNone has ␛[31mit.\n"


def test_a_report_is_one_line_of_json() -> None:
    out = io.StringIO()
    lines = JsonLines(out, clock=lambda: 5.0)
    lines.take(WAITING)
    lines.take(TAKEN)
    assert json.loads(out.getvalue()) == {
        "v": 1,
        "type": "report",
        "time": 5.0,
        "session": records.SESSION,
        "child": "ses_child",
        "agent": "explore",
        "description": "find the readers",
        "outcome": "completed",
        "text": "None has \x1b[31mit.",
        "error": "",
    }
