"""Files that a command changes after the model has read them."""

import pytest

from agent.records.messages import Completed, Failed
from tests.support.harness import open_harness
from tests.support.script import Call, Text, answer

FREE = {"permission": {"bash": "allow", "edit": "allow"}}
EDIT = {"file_path": "a.txt", "old_string": "new", "new_string": "newer"}


async def run(tmp_path, command: str, before: str = "") -> list:
    """Return the states of a read, a *command* and an edit; *before* changes the file after the
    read, as the user would."""
    async with open_harness(tmp_path, **FREE) as harness:
        (harness.folder / "a.txt").write_text("one\nold\n")
        harness.server.script(
            answer(Call("read", {"file_path": "a.txt"})),
            answer(Text("Read.")),
            answer(Call("bash", {"command": command})),
            answer(Call("edit", EDIT)),
            answer(Text("Done.")),
        )
        session = await harness.session()
        await harness.turn(session, "read it")
        if before:
            (harness.folder / "a.txt").write_text(before)
        await harness.turn(session, "go")
        return [part.state for part in await harness.tools(session)][1:]


async def test_the_next_edit_fits_what_a_command_made_of_a_file(tmp_path) -> None:
    shell, edit = await run(tmp_path, "sed -i s/old/new/ a.txt")
    assert isinstance(shell, Completed)
    assert shell.output.endswith(
        "a.txt was changed by the command. The file as it is now counts as read. These lines are"
        " new:\n2: new"
    )
    assert isinstance(edit, Completed)


@pytest.mark.parametrize(
    ("command", "before"),
    [("sed -i s/old/new/ *", ""), ("sed -i s/old/new/ a.txt", "theirs\nold\n")],
)
async def test_what_the_model_does_not_know_has_to_be_read_again(tmp_path, command, before) -> None:
    """Neither a file that the command does not name, nor one that the user changed before."""
    shell, edit = await run(tmp_path, command, before)
    assert isinstance(shell, Completed)
    assert "counts as read" not in shell.output
    assert isinstance(edit, Failed)
