"""Files mentioned with @: found in the text, completed, sent."""

import asyncio
import os
from pathlib import Path

import pytest

from agent.records.messages import TextPart
from agent.session.api import Mention
from agent.session.prompt.mentions import agents_in, mentions_in
from agent.tools.search.file_index import CHUNK, FileIndex, best_matches, make_chunks
from agent.tools.search.searcher import Searcher
from app.text.mentions import mention_of, typed_mention
from tests.app.conftest import Starter
from tests.support.harness import Harness, open_harness
from tests.support.script import Text, answer


async def last(index: FileIndex, typed: str, limit: int = 50) -> tuple[str, ...] | None:
    """Return the last response, None if there is none."""
    answers = [found async for found in index.matches(typed, limit)]
    return answers[-1] if answers else None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("look at @a.py", [Mention("a.py")]),
        ("look at @a.py.", [Mention("a.py")]),
        ("(@a.py), and @sub/", [Mention("a.py"), Mention("sub/")]),
        ("@a.py#10-20 and @a.py#5", [Mention("a.py", 10, 20), Mention("a.py", 5, 5)]),
        ("@a.py#L3-L4", [Mention("a.py", 3, 4)]),
        ('@"with space.txt"!', [Mention("with space.txt")]),
        ("@a.py @a.py", [Mention("a.py")]),
        ("mail me@a.py, @nobody, @", []),
        ("a decorator @property", []),
        ("@漢字.txt", [Mention("漢字.txt")]),
        ("explain @packages/@acme/ui.ts.", [Mention("packages/@acme/ui.ts")]),
        ("@packages/@acme/ui.ts#3-4", [Mention("packages/@acme/ui.ts", 3, 4)]),
        ("@packages/@acme, @icon@2x.txt", [Mention("packages/@acme"), Mention("icon@2x.txt")]),
        ("@packages/@other/ui.ts", []),
        ("(@a.py,@icon@2x.txt)", [Mention("a.py"), Mention("icon@2x.txt")]),
        ("@a.py@home", [Mention("a.py")]),
        ("@note#2", [Mention("note#2")]),
    ],
)
def test_files_mentioned_in_a_prompt(tmp_path: Path, text: str, found: list[Mention]) -> None:
    (tmp_path / "packages" / "@acme").mkdir(parents=True)
    names = ("a.py", "with space.txt", "漢字.txt", "packages/@acme/ui.ts", "icon@2x.txt", "note#2")
    for name in names:
        (tmp_path / name).write_text("x")
    (tmp_path / "sub").mkdir()
    assert list(mentions_in(text, tmp_path)) == found


def test_agents_are_named_beside_each_other() -> None:
    assert agents_in("@explore,@plan and @general@x", ["explore", "plan", "general"]) == (
        "explore",
        "plan",
        "general",
    )


def test_a_path_with_spaces_or_at_signs_is_quoted() -> None:
    assert (mention_of("a.py"), mention_of("a b.py")) == ("@a.py", '@"a b.py"')
    assert mention_of("packages/@acme/ui.ts") == '@"packages/@acme/ui.ts"'


@pytest.mark.parametrize(
    ("before", "name", "length"),
    [
        ("see @al", "al", 3),
        ("@packages/@ac", "packages/@ac", 13),
        ('see @"my fi', "my fi", 7),
        ('see @"packages/@acme/"ui', "packages/@acme/ui", 20),
    ],
)
def test_a_mention_is_followed_while_it_is_typed(before: str, name: str, length: int) -> None:
    assert typed_mention(before) == (name, length)


@pytest.mark.parametrize("before", ["see", "me@al", 'see @"a.py" ', 'see @"a.py"x', "see @a.py "])
def test_other_text_is_no_mention(before: str) -> None:
    assert typed_mention(before) is None


def test_the_best_match_comes_first() -> None:
    paths = ("src/", "src/app.py", "docs/map.md", "tests/test_app.py", "src/deep/zebra.py")
    chunks = make_chunks(paths)
    assert best_matches("app", chunks, 10) == ("src/app.py", "tests/test_app.py")
    assert best_matches("MAP", chunks, 10) == ("docs/map.md",)
    assert best_matches("sdz", chunks, 10) == ("src/deep/zebra.py",)
    assert best_matches("", chunks, 2) == paths[:2]
    assert best_matches("nothing like it", chunks, 10) == ()


def test_the_matches_do_not_depend_on_chunk_boundaries() -> None:
    paths = [f"folder/file_{number}.py" for number in range(3 * CHUNK + 1)]
    last = f"file_{3 * CHUNK}.py"
    assert best_matches(last, make_chunks(paths), 10) == (f"folder/{last}",)
    assert best_matches("fd6000p", make_chunks(paths), 10) == (f"folder/{last}",)


def test_a_name_with_a_line_break_is_ignored() -> None:
    assert best_matches("b[1]", make_chunks(["a\nb.py", "B[1].py", "c.py"]), 10) == ("B[1].py",)
    assert best_matches("b]p", make_chunks(["a\nb.py", "B[1].py", "c.py"]), 10) == ("B[1].py",)


async def test_a_query_is_dropped_when_another_letter_is_typed(tmp_path: Path) -> None:
    (tmp_path / "needle.py").touch()
    index = FileIndex(str(tmp_path), str(tmp_path))
    old, new = await asyncio.gather(last(index, "nee"), last(index, "need"))
    assert old is None
    assert new == ("needle.py",)


async def test_folders_that_hold_only_folders_are_offered(tmp_path: Path) -> None:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "deep" / "a.py").touch()
    index = FileIndex(str(tmp_path), str(tmp_path))
    assert await last(index, "sr") == ("src/", "src/deep/", "src/deep/a.py")
    below = FileIndex(str(tmp_path / "src"), str(tmp_path))
    assert await last(below, "") == ("deep/", "deep/a.py")


async def test_the_index_omits_files_that_git_ignores(tmp_path: Path) -> None:
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    for name in ("a.py", "sub/deep/b.py", "ignored.log", ".hidden"):
        (tmp_path / name).write_text("x")
    (tmp_path / ".gitignore").write_text("*.log\n")
    index = FileIndex(str(tmp_path), str(tmp_path))
    found = await last(index, "", limit=100)
    assert found is not None
    assert set(found) == {
        "a.py",
        ".gitignore",
        ".hidden",
        "sub/",
        "sub/deep/",
        "sub/deep/b.py",
    }


async def test_an_old_index_is_read_again(tmp_path: Path) -> None:
    now = 0.0
    index = FileIndex(str(tmp_path), str(tmp_path), clock=lambda: now)
    assert await last(index, "new") == ()
    (tmp_path / "new.py").write_text("x")
    assert await last(index, "new") == ()
    now = 60.0
    await last(index, "new")
    for task in asyncio.all_tasks():
        if task.get_name() == "file index":
            await task
    assert await last(index, "new") == ("new.py",)


async def test_a_deleted_folder_offers_nothing(tmp_path: Path) -> None:
    assert await last(FileIndex(str(tmp_path / "gone"), str(tmp_path / "gone")), "x") == ()


async def test_listed_files_are_offered_before_the_listing_ends(tmp_path: Path) -> None:
    """A listing that never ends represents a tree of any size."""
    os.mkfifo(tmp_path / "gate")
    slow = tmp_path / "slow"
    slow.write_text(
        f"#!/bin/sh\nprintf '{tmp_path}/src/needle.py\\0{tmp_path}/other.py\\0'\n"
        f"cat '{tmp_path}/gate'\nprintf '{tmp_path}/needles.py\\0'\n"
    )
    slow.chmod(0o755)
    index = FileIndex(str(tmp_path), str(tmp_path), searcher=Searcher(str(slow)))
    answers = index.matches("need")
    assert await anext(answers) == ("src/needle.py",)
    (tmp_path / "gate").write_text("")
    assert [found async for found in answers][-1] == ("needles.py", "src/needle.py")


async def test_files_outside_the_folder_are_offered_last(tmp_path: Path) -> None:
    """The listing is of the project, the folder a part of it."""
    os.mkfifo(tmp_path / "gate")
    slow = tmp_path / "slow"
    slow.write_text(
        f"#!/bin/sh\nprintf '{tmp_path}/need.py\\0{tmp_path}/in/needle\\nx\\0"
        f"{tmp_path}/in/needle.py\\0'\ncat '{tmp_path}/gate'\n"
    )
    slow.chmod(0o755)
    index = FileIndex(str(tmp_path / "in"), str(tmp_path), searcher=Searcher(str(slow)))
    (tmp_path / "in").mkdir()
    answers = index.matches("need")
    assert await anext(answers) == ("needle.py",)
    (tmp_path / "gate").write_text("")
    assert [found async for found in answers][-1] == ("needle.py", "../need.py")


async def test_no_file_of_very_many_is_omitted(tmp_path: Path) -> None:
    """Of 300,000 files the last one is found too."""
    listing = tmp_path / "listing"
    listing.write_bytes(
        b"".join(b"%s/d%d/f%d\0" % (os.fsencode(tmp_path), n % 3_000, n) for n in range(300_000))
        + b"%s/d7/needle.py\0" % os.fsencode(tmp_path)
    )
    shown = tmp_path / "shown"
    shown.write_text(f"#!/bin/sh\ncat '{listing}'\n")
    shown.chmod(0o755)
    index = FileIndex(str(tmp_path), str(tmp_path), searcher=Searcher(str(shown)))
    assert await last(index, "needle") == ("d7/needle.py",)


@pytest.fixture
async def harness(tmp_path: Path):
    async with open_harness(tmp_path) as opened:
        yield opened


async def test_a_named_file_goes_to_the_model_and_counts_as_read(harness: Harness) -> None:
    (harness.folder / "a.py").write_text("one\ntwo\nthree\n")
    harness.server.script(answer(Text("ok")))
    session = await harness.session()
    mentions = mentions_in("see @a.py#2", harness.folder)
    before = len(harness.events)
    await harness.send(session, "see @a.py#2", mentions=mentions)
    await harness.idle(session, after=before)
    sent = str(harness.server.requests[0].body["messages"][-1])
    assert "two" in sent
    assert "three" not in sent
    assert "three" not in sent
    parts = [p for p in await harness.parts(session) if isinstance(p, TextPart)]
    assert [part.synthetic for part in parts[:2]] == [False, True]


async def test_a_file_is_completed_while_it_is_named(start: Starter, work: Path) -> None:
    (work / "src").mkdir()
    (work / "src" / "alpha one.py").write_text("x")
    async with start() as running:
        await running.type("see @alp")
        await running.until_shown("src/alpha one.py")
        await running.pilot.press("tab")
        await running.until(lambda: running.prompt == 'see @"src/alpha one.py" ')
        await running.type("@sr")
        await running.until_shown("src/")
        await running.pilot.press("enter")
        await running.until(lambda: running.prompt.endswith(" @src/"))
        await running.until_shown("src/alpha one.py")
        await running.pilot.press("escape")
        assert running.prompt.endswith(" @src/")


async def test_a_file_in_a_scoped_folder_is_completed(start: Starter, work: Path) -> None:
    (work / "packages" / "@acme").mkdir(parents=True)
    (work / "packages" / "@acme" / "index.ts").write_text("x")
    async with start() as running:
        await running.type("see @acme")
        await running.until_shown("packages/@acme/")
        await running.pilot.press("tab")
        await running.until(lambda: running.prompt.startswith('see @"packages/@acme/'))
        if running.prompt.endswith('/"'):
            await running.until_shown("packages/@acme/index.ts")
            await running.type("ind")
            await running.until_shown("packages/@acme/index.ts")
            await running.pilot.press("tab")
        await running.until(lambda: running.prompt == 'see @"packages/@acme/index.ts" ')


async def test_a_file_mentioned_before_the_runtime_is_ready_is_completed(
    start: Starter, work: Path
) -> None:
    (work / "needle.py").touch()
    async with start(ready=False) as running:
        running.app.controller.main.prompt.insert("see @need")
        await running.until_shown("needle.py")
