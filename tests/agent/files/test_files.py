"""Encodings, replacement and tracking of files."""

import asyncio
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.files import FileStamp, FileTracker, decode, detect, is_binary, load, replace_file
from agent.files.disk import NotRegular

ROOT = Path(__file__).parents[3]


@given(st.binary(max_size=300))
def test_decoding_never_loses_a_byte(data: bytes) -> None:
    file = decode(data)
    assert file.encode(file.text) == data


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"a\n", "a\n", "utf-8"),
        (b"\xef\xbb\xbfhello\n", "hello\n", "utf-8"),
        ("hé\r\n".encode("utf-16"), "hé\r\n", "utf-16-le"),
        (b"\xfe\xff\x00a", "a", "utf-16-be"),
    ],
)
def test_encodings(data: bytes, text: str, encoding: str) -> None:
    file = decode(data)
    assert (file.text, file.encoding.name) == (text, encoding)
    assert file.encode(text) == data


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("; straße\n", "latin-1"),
        ("caf\u00e9 \u2014 na\u00efve, Gr\u00f6\u00dfe", "cp1252"),
        ("n = 1  # 中文\n", "gbk"),
        ("日本語テスト\n", "shift_jis"),
        ("日本語テスト\n", "euc-jp"),
    ],
)
def test_few_letters_are_read_as_they_were_meant(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)).text == text


SENTENCES = {
    "설정 파일이 없으면 빈 사전을 돌려준다": ("euc-kr", "cp949"),
    "주문 목록에서 취소된 항목은 제외한다, 그리고 결과를 출력한다": ("euc-kr",),
    "# 이름과 나이를 출력\nprint('이름:', name, '나이:', age)  # 주의: 느림": ("euc-kr",),
    "“파일”을 찾을 수 없습니다. 다시 시도해 주십시오.": ("euc-kr",),
    "如果文件不存在，则返回空字典。": ("gb18030", "gbk", "gb2312"),
    "你好，世界": ("gb18030",),
    "如果檔案不存在，則傳回一個空字典，並且寫入日誌檔": ("big5",),
    "ファイルがなければ空の辞書を返す。": ("euc-jp", "shift_jis"),
    "これは注意：遅い": ("euc-jp", "shift_jis"),
    "Соединение с базой данных открывается один раз. Здравствуйте": ("cp1251",),
    "Соединение с базой данных открывается один раз, и закрывается в самом конце. "
    "Отменённые заказы не входят, после регистрации нужно подтвердить адрес почты.": ("koi8-r",),
    "Déjà vu, le café à côté de l'hôtel était fermé": ("latin-1", "cp1252", "utf-16"),
    "Größe, Übergröße und Maß müssen geprüft werden": ("latin-1", "utf-16-le"),
    "It’s “quoted” – and more… ™ 5 €, ½ ¦ ¬ © £5 100 °C": ("cp1252",),
    "œuvre, Ação, n° 5": ("cp1252",),
    "El año que viene habrá más opciones. ¿Dónde está la estación?": ("latin-1",),
}


@pytest.mark.parametrize(
    ("text", "encoding"),
    [(text, encoding) for text, encodings in SENTENCES.items() for encoding in encodings],
)
def test_a_sentence_is_read_as_it_was_meant(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)).text == text


def test_gbk_and_latin1_keep_their_bytes() -> None:
    for tail in (b"\xd6\xd0\xce\xc4", b"stra\xdfe"):
        file = decode(b"n = 1\n; " + tail + b"\n")
        assert file.encode(file.text.replace("n = 1", "n = 7")) == b"n = 7\n; " + tail + b"\n"


def test_one_stray_byte_leaves_the_rest_utf8() -> None:
    file = decode("größe 漢字\n".encode() + b"\xff\n")
    assert file.text.startswith("größe 漢字")
    assert file.encode(file.text).endswith(b"\xff\n")


def test_a_sample_that_ends_inside_a_character_is_utf8() -> None:
    assert detect("漢".encode() * 3 + b"\xe6\xbc", complete=False).name == "utf-8"
    assert detect(b"abc\xe6\xbc", complete=True).name != "utf-8"


def test_binary_content_is_recognized_by_a_nul() -> None:
    assert is_binary(b"a\0b")
    assert not is_binary("a".encode("utf-16"))
    assert not is_binary(b"")


def test_newlines_follow_the_file() -> None:
    assert decode(b"a\r\nb\r\n").with_newlines("x\ny\r\n") == "x\r\ny\r\n"
    assert decode(b"a\nb\n").with_newlines("x\r\n") == "x\n"


def test_replacing_keeps_mode_and_goes_through_links(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.write_text("old")
    real.chmod(0o751)
    link = tmp_path / "link"
    link.symlink_to("real")
    stamp = replace_file(str(link), b"new!")
    assert link.is_symlink()
    assert real.read_bytes() == b"new!"
    assert stat.S_IMODE(real.stat().st_mode) == 0o751
    assert stamp.size == 4
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "real"]


def test_hard_links_stay_one_file(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("a long old text")
    os.link(one, two)
    replace_file(str(one), b"new")
    assert two.read_bytes() == b"new"
    assert one.stat().st_nlink == 2


def test_a_read_only_file_is_refused_and_intact(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("old")
    file.chmod(0o444)
    with pytest.raises(PermissionError):
        replace_file(str(file), b"new")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_creating_makes_parents_and_never_overwrites(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b.txt"
    replace_file(str(file), b"1", create=True)
    assert file.read_bytes() == b"1"
    with pytest.raises(FileExistsError):
        replace_file(str(file), b"2", create=True)
    assert file.read_bytes() == b"1"
    assert [p.name for p in file.parent.iterdir()] == ["b.txt"]


FULL_DISK = """
import resource, sys
from agent.files import replace_file
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    replace_file(sys.argv[1], b"x" * 1000)
except OSError:
    sys.exit(7)
"""


@pytest.mark.parametrize("names", [1, 2])
def test_a_full_disk_keeps_the_old_file(tmp_path: Path, names: int) -> None:
    """A limit on file size refuses the write in its middle, like a full disk."""
    file = tmp_path / "a"
    file.write_text("old")
    if names == 2:
        os.link(file, tmp_path / "b")
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(file)], cwd=ROOT, check=False)
    assert done.returncode == 7
    assert file.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == names


def mount(*argv: str) -> None:
    """Mount, or skip the test where this user may not."""
    program = shutil.which("mount") or pytest.skip("there is no mount program")
    done = subprocess.run([program, *argv], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("nothing can be mounted here")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KB that can really be filled, if this user can mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount("-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder))
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("names", [1, 2])
def test_a_full_disk_leaves_the_old_file(small_disk: Path, names: int) -> None:
    file = small_disk / "a"
    file.write_bytes(b"old" * 1000)
    if names == 2:
        os.link(file, small_disk / "b")
    with pytest.raises(OSError, match="No space left"):
        replace_file(str(file), b"x" * 200_000)
    assert file.read_bytes() == b"old" * 1000
    assert len(list(small_disk.iterdir())) == names
    with pytest.raises(OSError, match="No space left"):
        replace_file(str(small_disk / "sub" / "new"), b"x" * 200_000, create=True)
    assert list((small_disk / "sub").iterdir()) == []


def test_a_file_that_is_a_mount_of_its_own_is_written_in_place(tmp_path: Path) -> None:
    """Containers mount single files, which no rename can replace."""
    file, source = tmp_path / "a", tmp_path / "source"
    file.write_text("old")
    source.write_text("old and longer")
    mount("--bind", str(source), str(file))
    try:
        replace_file(str(file), b"new")
        assert source.read_text() == "new"
    finally:
        subprocess.run(["umount", str(file)], check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "source"]


CLOSED_FOLDER = """
import os, sys
from agent.files import replace_file
if os.getuid() == 0:
    os.setgid(65534), os.setuid(65534)
replace_file(sys.argv[1], b"new")
"""


def test_a_writable_file_in_a_closed_folder_is_written_in_place() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        file = folder / "a"
        file.write_text("old and longer")
        file.chmod(0o666)
        folder.chmod(0o555)
        argv = [sys.executable, "-c", CLOSED_FOLDER, str(file)]
        try:
            subprocess.run(argv, cwd=ROOT, check=True)
            assert file.read_text() == "new"
            assert [path.name for path in folder.iterdir()] == ["a"]
        finally:
            folder.chmod(0o700)


def test_a_device_is_never_replaced() -> None:
    with pytest.raises(NotRegular):
        replace_file("/dev/null", b"x")


def test_load_refuses_pipes_at_once_and_large_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotRegular) as raised:
        load(str(tmp_path / "pipe"), 100)
    assert raised.value.kind == "named pipe"
    (tmp_path / "big").write_bytes(b"x" * 101)
    with pytest.raises(OSError, match="too large"):
        load(str(tmp_path / "big"), 100)


def test_stamps_compare_by_digest_then_time() -> None:
    one = FileStamp(3, 1, "a")
    assert one.same_file(FileStamp(3, 2, "a"))
    assert not one.same_file(FileStamp(3, 1, "b"))
    assert not one.same_file(FileStamp(4, 1, "a"))
    assert FileStamp(3, 1).same_file(FileStamp(3, 1, "b"))
    assert not FileStamp(3, 1).same_file(FileStamp(3, 2, "b"))


def test_read_files_are_tracked_by_session() -> None:
    tracker = FileTracker()
    tracker.record("one", "/a", FileStamp(1, 1))
    assert tracker.seen("one", "/a") == FileStamp(1, 1)
    assert tracker.seen("two", "/a") is None
    tracker.forget("one")
    assert tracker.seen("one", "/a") is None


async def test_writers_of_one_file_wait_for_each_other() -> None:
    tracker = FileTracker()
    order: list[str] = []
    entered = asyncio.Event()

    async def second() -> None:
        entered.set()
        async with tracker.lock("/a"):
            order.append("second")

    async with tracker.lock("/a"), tracker.lock("/b"):
        task = asyncio.create_task(second())
        await entered.wait()
        await asyncio.sleep(0)
        order.append("first")
    await task
    assert order == ["first", "second"]
