"""The output of ``run`` as text."""

import io

from agent.records.events import PartUpdated
from agent.records.messages import ErrorInfo, RetryPart
from app.cli.run.writers import TextWriter

SECOND = RetryPart(
    id="prt_1",
    session_id="ses_1",
    message_id="msg_1",
    attempt=1,
    error=ErrorInfo("overloaded", "acme is overloaded."),
    created=0.0,
    change="Continued with other/model.",
)


def test_a_pipe_gets_the_answer_only_and_errors_name_the_model_that_continued() -> None:
    out, err = io.StringIO(), io.StringIO()
    TextWriter(out, err).take(PartUpdated(SECOND))
    assert out.getvalue() == ""
    assert err.getvalue() == "Continued with other/model. acme is overloaded.\n"
