"""The updates that a client is sent for message parts."""

from acp.schema import ToolCallStart

from app.acp.updates import UpdateBuilder
from tests.support import records


def test_a_background_report_is_sent_once_live_and_once_when_loaded() -> None:
    """It is sent where the model reads it; a queued one is stored again under other ids."""
    teller = UpdateBuilder("/shop")
    waiting = records.report("msg_a", "None has \x1b[31mit.")
    (result,) = teller.part(waiting)
    assert isinstance(result, ToolCallStart)
    assert (result.title, result.status) == (
        "Explore reports: find the readers · 3 tool calls",
        "completed",
    )
    assert result.content[0].content.text == "None has ␛[31mit."
    taken = records.user(
        "msg_b", "for the model", records.report("msg_b", "None has \x1b[31mit."), synthetic=True
    )
    assert list(teller.history(taken)) == []
    assert len(list(UpdateBuilder("/shop").history(taken))) == 1


def test_a_report_of_a_failure_gives_the_reason() -> None:
    part = records.report("msg_a", error="No model.", outcome="failed", facts=())
    (result,) = UpdateBuilder("/shop").part(part)
    assert (result.title, result.status) == ("Explore failed: find the readers", "failed")
    assert result.content[0].content.text == "No model."


def test_a_users_shell_command_is_sent_when_loaded() -> None:
    own = records.tool("prt_d", "msg_d", records.completed("Bash", "make"), name="bash")
    (result,) = UpdateBuilder("/shop").history(records.user("msg_d", "", own, synthetic=True))
    assert result.title == "Bash make"
