"""Captured output and spill files: bounded, decoded, collapsed, private."""

import os
from pathlib import Path

import pytest

from agent.process import Capture, NewOutput, SpillStore, strip_terminal_codes


@pytest.fixture
def spills(tmp_path: Path) -> SpillStore:
    return SpillStore(tmp_path / "spill")


def capture(spills: SpillStore, *, max_lines: int = 2000, max_bytes: int = 51_200) -> Capture:
    return Capture(spills, max_lines=max_lines, max_bytes=max_bytes)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_capture_does_not_depend_on_how_the_bytes_are_split(size: int, spills: SpillStore) -> None:
    """Characters, CR LF and progress lines can be cut anywhere."""
    data = (
        "漢字é\r\nstep 1\rstep 2\r\n\x1b[31mred\x1b[0m\r\r\nab\x08c\x00\r".encode()
        + b"\xff\xfeabc\xf0\x9f"
    )
    whole = capture(spills)
    for start in range(0, len(data), size):
        whole.feed(data[start : start + size])
    text = whole.finish().text
    assert text == "漢字é\nstep 2\nred\n\ufffd\ufffdabc\ufffd"
    assert text.encode()


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("again", ["\r", "\r\x1b[K", "\x1b[2K\x1b[1G", "\x1b[G", "\x1b[1K\x1b[1G"])
def test_a_line_that_is_drawn_again_comes_once(again: str, size: int, spills: SpillStore) -> None:
    data = f"first\n50%{again}75%{again}100%\nlast".encode()
    drawn = capture(spills)
    for start in range(0, len(data), size):
        drawn.feed(data[start : start + size])
    assert drawn.finish().text == "first\n100%\nlast"


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    "clear",
    ["\x1b[2J", "\x1b[H\x1b[2J", "\x1b[2J\x1b[G", "\r\x1b[2J", "\x1bc", "\x1b[2J\x1b[3J\x1b[H",
     "\x1b[1;1H\x1b[J", "\x1b[;H\x1b[0J\r", "\x1b[?1049h\x1b[H", "\n\x1b[3J\x1b[2J\x1b[1;1H"],
)  # fmt: skip
def test_output_before_a_clear_screen_code_is_kept(
    clear: str, size: int, spills: SpillStore
) -> None:
    data = f"error: it broke{clear}watching\n".encode()
    drawn = capture(spills)
    for start in range(0, len(data), size):
        drawn.feed(data[start : start + size])
    assert drawn.tail() == "error: it broke\nwatching\n"
    assert drawn.finish().text == "error: it broke\nwatching\n"


def test_an_endless_line_is_bounded(spills: SpillStore) -> None:
    endless = capture(spills)
    for _ in range(400):
        endless.feed(b"x" * 10_000)
    done = endless.finish()
    assert done.size == 4_000_000
    assert done.lines == 1
    assert len(done.text) < 500_000
    assert done.spill is not None
    assert Path(done.spill.path).stat().st_size == 4_000_000


def test_tail_shows_the_unfinished_line(spills: SpillStore) -> None:
    live = capture(spills)
    live.feed(b"one\ntwo\n 50%\r 60%")
    assert live.tail() == "one\ntwo\n 60%"
    live.feed(b"z" * 10_000)
    assert live.tail() == "z" * 4096


def full_disk(tmp_path: Path) -> SpillStore:
    """A store whose folder cannot be created, as on a full disk."""
    (tmp_path / "file").write_text("")
    return SpillStore(tmp_path / "file" / "spill")


def test_a_failed_spill_loses_only_the_spill(tmp_path: Path) -> None:
    """On a full disk the call still returns its cut output."""
    flood = capture(full_disk(tmp_path), max_lines=10)
    for number in range(1000):
        flood.feed(b"%d\n" % number)
    done = flood.finish()
    assert done.text.endswith("999\n")
    assert done.spill is None
    assert done.spill_error
    assert not done.complete


def test_dequeued_messages_come_once(spills: SpillStore) -> None:
    live = capture(spills)
    live.feed(b"one\n10%\r20%")
    assert live.take_new() == NewOutput("one\n20%")
    assert live.take_new() == NewOutput("")
    live.feed(b"\r30%\ntwo\n")
    assert live.take_new() == NewOutput("30%\ntwo\n")
    assert live.take_new() == NewOutput("")
    live.feed(b"three")
    live.finish()
    assert live.take_new() == NewOutput("three")
    assert live.take_new() == NewOutput("")


def test_a_flood_is_dropped_from_the_front_of_the_kept_output(spills: SpillStore) -> None:
    live = capture(spills, max_bytes=1_000)
    text = "".join(f"line {n}\n" for n in range(100_000))
    for at in range(0, len(text), 5_000):
        live.feed(text[at : at + 5_000].encode())
    taken = live.take_new()
    assert taken.lost_characters + len(taken.text) == len(text)
    assert text.endswith(taken.text)
    assert 0 < len(taken.text) < 100_000
    live.discard()


def test_spill_keeps_first_and_last_half_and_names_the_gap(tmp_path: Path) -> None:
    store = SpillStore(tmp_path / "spill", per_call=40)
    writer = store.open()
    for number in range(30):
        writer.write(f"é{number:02d}\n".encode())
    text = writer.close().read_text()
    assert text.startswith("é00\né01\né02\né03\n")
    assert text.endswith("é27\né28\né29\n")
    assert f"[{30 * 5 - 40:,} bytes are omitted here]" in text
    assert "\ufffd" not in text


def test_spill_without_gap_is_whole(tmp_path: Path) -> None:
    store = SpillStore(tmp_path / "spill", per_call=200)
    text = "".join(f"é{number}\n" for number in range(35))
    assert 100 < len(text.encode()) < 200
    saved = store.save(text)
    assert Path(saved.path).read_text() == text
    assert saved.omitted == 0


def test_spill_folder_keeps_its_limits(tmp_path: Path) -> None:
    """Spill files are kept for seven days, 1 GB in all, the oldest first."""
    now = 1_000_000_000.0
    later = now - 3_600
    store = SpillStore(tmp_path / "spill", per_call=10, in_all=40, clock=lambda: later)
    paths = [Path(store.save("x" * 10).path) for _ in range(3)]
    for age, path in zip((8 * 86_400, 20, 10), paths, strict=True):
        os.utime(path, (now - age, now - age))
    later = now
    fourth = Path(store.save("y" * 10).path)
    assert [path.exists() for path in paths] == [False, True, True]
    os.utime(fourth, (now - 5, now - 5))
    fifth = Path(store.save("z" * 10).path)
    os.utime(fifth, (now - 1, now - 1))
    store.save("z" * 10)
    assert [path.exists() for path in (*paths, fourth, fifth)] == [False, False, True, True, True]


def test_the_spill_folder_is_looked_through_once_and_not_for_each_file(tmp_path: Path) -> None:
    """An expired file stays until the next cleanup of the folder: after an hour, or once newly
    written files could have filled it."""
    now = 1_000_000_000.0
    clock = [now]
    store = SpillStore(tmp_path / "spill", per_call=100, in_all=4_000, clock=lambda: clock[0])

    def old() -> Path:
        path = tmp_path / "spill" / f"{len(list((tmp_path / 'spill').iterdir()))}-old.txt"
        path.write_text("x")
        os.utime(path, (now - 8 * 86_400, now - 8 * 86_400))
        return path

    store.save("first")
    left = old()
    for _ in range(300):
        store.save("y" * 10)
    assert left.exists(), "3,000 bytes of 4,000: no cleanup was necessary"
    for _ in range(100):
        store.save("y" * 10)
    assert not left.exists(), "full: looked through"
    sizes = [path.stat().st_size for path in (tmp_path / "spill").iterdir()]
    assert sum(sizes) <= 4_000
    left = old()
    store.save("z")
    assert left.exists()
    clock[0] = now + 3_600
    store.save("z")
    assert not left.exists()


def test_spill_never_writes_through_a_link(tmp_path: Path) -> None:
    """File names are random and every file is new."""
    store = SpillStore(tmp_path / "spill")
    assert len({Path(store.save("x").path).name for _ in range(20)}) == 20


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07a\x1b[1;31mb\x1b[Kc", "abc"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("a\tb\nc\x07\x9b", "a\tb\nc"),
        ("_\x08n\x1b", "n"),
        ("abc\x08\x08\x08xyz\n\x08\x08end", "xyz\nend"),
    ],
)
def test_plain(text: str, shown: str) -> None:
    assert strip_terminal_codes(text) == shown


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b]0;x\x07hi", "hi"),
        ("\x1b]0;x\x1b\\hi", "hi"),
        ("\x9d0;x\x9chi", "hi"),
        ("\x9b31mred", "red"),
        ("\x1bP1q\x07hi", "hi"),
        ("hi\x1b]0;x", "hi"),
        ("hi\x1b[3", "hi"),
        ("hi\x1b", "hi"),
        ("\x1b]0;never ended\nhi", "\nhi"),
    ],
)
def test_terminal_sequences_leave_nothing_behind(raw: str, shown: str) -> None:
    assert strip_terminal_codes(raw) == shown


def test_the_tail_does_not_begin_within_a_terminal_sequence(spills: SpillStore) -> None:
    live = capture(spills)
    line = "\x1b]0;a title\x07\x1b[1mtext\x1b[0m\n"
    live.feed((line * 400).encode())
    for _ in range(len(line)):
        live.feed(b"x")
        lines = live.tail().split("\n")
        assert set(lines[:-1]) == {"text"}
