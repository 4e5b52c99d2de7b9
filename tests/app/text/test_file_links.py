from pathlib import Path

import pytest
from rich.segment import Segment
from rich.style import Style

from app.text.file_links import FileLinks, file_links
from app.theme.themes import DARK_PALETTE
from app.widgets.transcript.lines import Page, linked
from app.widgets.transcript.markdown import MarkdownView


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    for name in ("src/a.py", "README.md", "app/[id]/page.tsx", "src/two words.py", "Makefile"):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x\n")
    (tmp_path / "secret.txt").write_text("x\n")
    (folder / "away.txt").symlink_to(tmp_path / "secret.txt")
    return folder


def found(text: str, links: FileLinks) -> list[tuple[str, str]]:
    root = str(links.folder)
    return [
        (text[link.start : link.end], link.address.replace(root, "ROOT"))
        for link in links.find(text)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is in src/a.py:12:3.", [("src/a.py:12:3", "vscode://fileROOT/src/a.py:12")]),
        ("(see src/a.py:12)", [("src/a.py:12", "vscode://fileROOT/src/a.py:12")]),
        ("src/a.py#L12-L20", [("src/a.py#L12-L20", "vscode://fileROOT/src/a.py:12")]),
        ('File "src/a.py", line 7, in f', [("src/a.py", "vscode://fileROOT/src/a.py:7")]),
        ("src/a.py:def f():", [("src/a.py", "vscode://fileROOT/src/a.py")]),
        ("--file=src/a.py", [("src/a.py", "vscode://fileROOT/src/a.py")]),
        ("see ./README.md.", [("./README.md", "vscode://fileROOT/README.md")]),
        ("app/[id]/page.tsx", [("app/[id]/page.tsx", "vscode://fileROOT/app/%5Bid%5D/page.tsx")]),
        ("src/two words.py", [("src/two words.py", "vscode://fileROOT/src/two%20words.py")]),
        ("Makefile", [("Makefile", "vscode://fileROOT/Makefile")]),
    ],
)
def test_a_file_of_the_project_is_a_link_to_its_line(
    project: Path, text: str, expected: list[tuple[str, str]]
) -> None:
    links = file_links(project, "box", {"VISUAL": "/usr/bin/code --wait"})
    assert found(text, links) == [(t, a) for t, a in expected]


@pytest.mark.parametrize(
    "text",
    [
        "src/b.py",
        "src",
        "../secret.txt",
        "away.txt",
        "/etc/hosts",
        "src/a.py…",
        "https://example.org/src/a.py",
        "a\0.py",
        "x." * 1_900,
        "",
    ],
)
def test_what_is_no_file_of_the_project_is_no_link(project: Path, text: str) -> None:
    assert found(text, file_links(project, "box", {})) == []


@pytest.mark.parametrize(
    ("env", "address"),
    [
        ({}, "file://boxROOT/src/a.py"),
        ({"EDITOR": "vim"}, "file://boxROOT/src/a.py"),
        ({"EDITOR": "code", "SSH_CONNECTION": "1"}, "file://boxROOT/src/a.py"),
        ({"KITTY_WINDOW_ID": "1"}, "file://boxROOT/src/a.py#3"),
        ({"EDITOR": "cursor -w"}, "cursor://fileROOT/src/a.py:3"),
        ({"EDITOR": "code", "VISUAL": "vim"}, "file://boxROOT/src/a.py"),
    ],
)
def test_the_address_suits_the_editor_and_the_terminal(
    project: Path, env: dict[str, str], address: str
) -> None:
    assert found("src/a.py:3", file_links(project, "box", env)) == [("src/a.py:3", address)]


def links_of(row: list[Segment]) -> list[tuple[str, str]]:
    return [(one.text, one.style.link) for one in row if one.style and one.style.link]


def test_the_links_of_a_markdown_link_lead_where_its_text_says(project: Path) -> None:
    page = Page(80, DARK_PALETTE, files=file_links(project, "box", {}))
    view = MarkdownView(page)
    view.update("[src/a.py](README.md) and `src/a.py:2`", final=True)
    (row,) = view.lines
    shown = [(text, address.rpartition("/")[2]) for text, address in links_of(list(row.strip))]
    assert shown == [("src/a.py", "a.py"), ("README.md", "README.md"), ("src/a.py:2", "a.py")]
    assert links_of(linked("src/a.py", Style(), page.files))
