"""Comments of reviews that are not sent yet."""

from pathlib import Path

from agent.bus import Bus
from agent.records.review_comment import ReviewComment
from agent.store.store import Store

FIRST = ReviewComment("src/a.py", 3, 5, ("one", "\udc80 two"), 'Why "two"?', removed=True)
SECOND = ReviewComment("b.py", 1, 1, (), "ü")


async def test_they_are_kept_by_folder_and_title(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    store = await Store.open(path, Bus())
    await store.save_review_draft("/a", "the working tree", (FIRST, SECOND))
    await store.save_review_draft("/a", "the last turn", (SECOND,))
    await store.save_review_draft("/b", "the working tree", (FIRST,))
    await store.save_review_draft("/b", "the working tree", ())
    await store.close()
    again = await Store.open(path, Bus())
    first, second = await again.review_draft("/a", "the working tree")
    assert (first.path, first.first, first.last, first.text, first.removed) == (
        *("src/a.py", 3, 5),
        *(FIRST.text, True),
    )
    assert first.quoted[0] == "one"
    assert second == SECOND
    assert await again.review_draft("/a", "the last turn") == (SECOND,)
    assert await again.review_draft("/b", "the working tree") == ()
    await again.close()
