"""``debug edit --jsonl``: the result of edits by the edit tool, without touching a file."""

import json
import time
from typing import TextIO

from agent.tools.edit_match import EditRefused, apply_edit

BOM = "\ufeff"


def answer_edits(lines: TextIO, out: TextIO) -> int:
    """Answer ``{"id", "before", "old", "new", "replace_all"}`` lines with the whole text after the
    edit, or the reason why it was refused, and the microseconds of CPU time it took."""
    for line in lines:
        if not line.strip():
            continue
        case = json.loads(line)
        before: str = case["before"]
        mark = BOM if before.startswith(BOM) else ""  # the tool works on text without it
        start = time.process_time()
        answer: dict[str, object] = {"id": case["id"]}
        try:
            edit = apply_edit(
                before.removeprefix(BOM),
                case["old"],
                case["new"],
                replace_all=bool(case.get("replace_all")),
            )
            answer["after"] = mark + edit.text
        except EditRefused as refused:
            answer["error"] = refused.reason
        answer["us"] = round((time.process_time() - start) * 1e6)
        out.write(json.dumps(answer) + "\n")
        out.flush()
    return 0
