"""opencode's shapes are read back as the records that they were made from."""

from agent.records.blocks import ShellBlock
from agent.records.requests import EvaluatedNeed, PermissionNeed, PermissionRequest
from agent.records.sandbox import READ_ONLY
from agent.tools.files.diffs import make_diff
from agent.tools.files.unified_diff import parse_unified_diff
from agent.transfer import opencode_records as records
from agent.transfer.opencode_shapes import REQUEST_KEY, diff_metadata, permission_shape, request_in


def permission_request() -> PermissionRequest:
    need = PermissionNeed("bash", "rm -r build", "rm *", destructive=True, named=("-r",))
    return PermissionRequest(
        id="per_1",
        session_id="ses_1",
        root_id="ses_1",
        message_id="msg_1",
        call_id="call_1",
        agent="build",
        tool="bash",
        heading="Run this command?",
        folder="/shop",
        blocks=(ShellBlock("rm -r build", description="Clean"),),
        needs=(EvaluatedNeed(need, "ask", "asked by a rule"),),
        always=(("bash", "rm *"),),
        created=3.0,
        sandbox=READ_ONLY,
        can_leave_sandbox=True,
    )


def test_diffs_of_several_files_are_read_back() -> None:
    old = "".join(f"line {number}\n" for number in range(60))
    new = old.replace("line 3\n", "-- three\n").replace("line 50\n", "")
    blocks = (
        make_diff("src/a.py", old, new).block,
        make_diff("b.py", "", "one\n+++ two\n", "create").block,
        make_diff("c.py", "gone\n", "", "delete").block,
    )
    text = str(diff_metadata(blocks)["diff"])
    found = [file.block for file in parse_unified_diff(text)]
    assert [(b.path, b.change, b.added, b.removed) for b in found] == [
        (b.path, b.change, b.added, b.removed) for b in blocks
    ]
    assert [line for b in found for hunk in b.hunks for line in hunk.lines] == [
        line for b in blocks for hunk in b.hunks for line in hunk.lines
    ]
    assert [hunk.index for b in found for hunk in b.hunks] == [0, 1, 2, 3]


def test_damaged_diffs_end_early() -> None:
    assert parse_unified_diff("") == ()
    assert parse_unified_diff("no diff\n@@ nonsense @@\n") == ()
    (file,) = parse_unified_diff("@@ -1,9 +1,9 @@\n one", "a.txt")
    block = file.block
    assert block.path == "a.txt"
    assert [line.text for line in block.hunks[0].lines] == ["one"]


def test_a_permission_request_is_whole_for_this_program_and_readable_for_others() -> None:
    request = permission_request()
    shape = permission_shape(request, "/project")
    metadata = records.dict_of(shape["metadata"])
    assert request_in(metadata) == request
    assert request_in({REQUEST_KEY: {"id": 3}}) is None
    plain = {**shape, "metadata": {k: v for k, v in metadata.items() if k != REQUEST_KEY}}
    read = records.permission_record(plain, "ses_root")
    assert (read.id, read.session_id, read.root_id) == (request.id, request.session_id, "ses_root")
    assert ShellBlock("rm -r build") in read.blocks
    assert [one.need.pattern for one in read.needs] == ["rm -r build"]


def test_invalid_values_are_ignored() -> None:
    for odd in ({}, {"time": 3, "model": [], "tokens": "x"}, {"info": None}):
        assert records.session_record(odd).id == ""
        assert records.permission_record(odd, "").needs == ()
        assert records.question_records(odd, "") == ()
    assert records.part_record({"type": "hologram"}, "s", "m", "p") is None
    assert records.part_record({"type": "tool", "state": 3}, "s", "m", "p") is not None
