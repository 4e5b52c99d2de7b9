"""What a client is told of parts (F3)."""

from acp.schema import ToolCallStart

from app.acp.updates import UpdateBuilder
from tests.support import records


def test_f3_a_report_of_the_background_is_told_once_live_and_when_loaded() -> None:
    """S2: where the model reads it; one that waited comes again under other ids."""
    teller = UpdateBuilder("/shop")
    waiting = records.report("msg_a", "None has \x1b[31mit.")
    (told,) = teller.part(waiting)
    assert isinstance(told, ToolCallStart)
    assert (told.title, told.status) == (
        "Explore reports: find the readers · 3 tool calls",
        "completed",
    )
    assert told.content[0].content.text == "None has ␛[31mit."
    taken = records.user(
        "msg_b", "for the model", records.report("msg_b", "None has \x1b[31mit."), synthetic=True
    )
    assert list(teller.history(taken)) == []
    assert len(list(UpdateBuilder("/shop").history(taken))) == 1


def test_f3_a_report_of_what_failed_says_why() -> None:
    part = records.report("msg_a", error="No model.", outcome="failed", facts=())
    (told,) = UpdateBuilder("/shop").part(part)
    assert (told.title, told.status) == ("Explore failed: find the readers", "failed")
    assert told.content[0].content.text == "No model."


def test_f3_a_command_of_the_users_own_is_told_when_loaded() -> None:
    own = records.tool("prt_d", "msg_d", records.completed("Bash", "make"), name="bash")
    (told,) = UpdateBuilder("/shop").history(records.user("msg_d", "", own, synthetic=True))
    assert told.title == "Bash make"
