"""Instruction files: their selection, imports and limits."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.config.paths import Paths
from agent.permission.trust.trust import TrustStatus
from agent.session.prompt.instructions import (
    MAX_CHARACTERS,
    MAX_TOTAL,
    CollectedInstructions,
    Instructions,
    imported_paths,
)


@dataclass
class Place:
    """A home and a project with a folder ``sub/deep`` that is opened."""

    home: Path
    project: Path
    trust_status: TrustStatus = "trusted"
    entries: tuple[str, ...] = ()
    mode: str = "nearest"

    def write(self, files: Mapping[str, str | bytes]) -> None:
        """Write files by path; ``~/`` is the home, other paths are in the project."""
        for name, content in files.items():
            base = self.home if name.startswith("~/") else self.project
            path = base / name.removeprefix("~/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def reader(self) -> Instructions:
        env = {"HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / ".config")}
        return Instructions(
            Paths.find(env),
            env,
            lambda project: self.trust_status if project == str(self.project) else "refused",
            entries=self.entries,
            mode=self.mode,
        )

    async def collect(self, directory: str = "sub/deep") -> CollectedInstructions:
        folder = self.project / directory
        folder.mkdir(parents=True, exist_ok=True)
        return await self.reader().collect(str(folder), str(self.project), fetch=True)

    async def nested(self, touched: str, known: tuple[str, ...] = ()) -> list[str]:
        path = str(self.project / touched)
        found = await self.reader().nested(
            path, str(self.project), str(self.project), frozenset(known)
        )
        return [each.source for each in found.files]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path / "home", tmp_path / "home" / "shop")
    made.project.mkdir(parents=True)
    return made


def sources(found: CollectedInstructions) -> list[str]:
    return [each.source for each in found.files]


def text(found: CollectedInstructions) -> str:
    return "\n".join(each.text for each in found.files)


CHAINS = {
    "none": ({}, []),
    "the root's": ({"AGENTS.md": "a"}, ["AGENTS.md"]),
    "the nearest folder's": ({"AGENTS.md": "a", "sub/AGENTS.md": "b"}, ["sub/AGENTS.md"]),
    "the first name of the nearest": (
        {"AGENTS.md": "a", "sub/CONTEXT.md": "b", "sub/CLAUDE.md": "c"},
        ["sub/CLAUDE.md"],
    ),
    "Claude Code's in its folder": (
        {".claude/CLAUDE.md": "a", "CONTEXT.md": "b"},
        [".claude/CLAUDE.md"],
    ),
    "not of neighboring folders": ({"other/AGENTS.md": "a", "sub/deep/x/AGENTS.md": "b"}, []),
}


@pytest.mark.parametrize(("files", "expected"), CHAINS.values(), ids=CHAINS)
async def test_the_nearest_folder_that_has_one_wins(place: Place, files, expected) -> None:
    place.write(files)
    assert sources(await place.collect()) == expected


async def test_stacked_files_come_root_first(place: Place) -> None:
    place.mode = "stack"
    place.write(
        {"AGENTS.md": "a", "CLAUDE.md": "x", "sub/CLAUDE.md": "b", "sub/deep/AGENTS.md": "c"}
    )
    assert sources(await place.collect()) == ["AGENTS.md", "sub/CLAUDE.md", "sub/deep/AGENTS.md"]


async def test_the_users_file_comes_first_and_ours_before_another_programs(place: Place) -> None:
    place.write({"~/.claude/CLAUDE.md": "claude", "AGENTS.md": "project"})
    assert sources(await place.collect()) == ["~/.claude/CLAUDE.md", "AGENTS.md"]
    place.write({"~/.config/opencode/AGENTS.md": "opencode"})
    assert sources(await place.collect()) == ["~/.config/opencode/AGENTS.md", "AGENTS.md"]
    place.write({"~/.config/opencode-py/AGENTS.md": "own"})
    assert sources(await place.collect()) == ["~/.config/opencode-py/AGENTS.md", "AGENTS.md"]


async def test_a_file_that_is_the_users_and_the_projects_is_read_once(place: Place) -> None:
    home = Place(place.home, place.home)
    place.write({"~/.claude/CLAUDE.md": "claude"})
    assert text(await home.collect()) == "claude"


@pytest.mark.parametrize("trust_status", ["open", "refused", "nothing"])
async def test_without_trust_only_the_users_files_count(
    place: Place, trust_status: TrustStatus
) -> None:
    place.trust_status = trust_status
    place.entries = ("docs/*.md", "~/team/*.md")
    place.write(
        {
            "AGENTS.md": "project",
            "docs/a.md": "docs",
            "~/team/b.md": "team",
            "~/.config/opencode-py/AGENTS.md": "own",
        }
    )
    found = await place.collect()
    assert sources(found) == ["~/.config/opencode-py/AGENTS.md", "~/team/b.md"]
    trust_note = ("AGENTS.md is used once you trust this folder (/trust).",)
    assert found.notes == (trust_note if trust_status == "nothing" else ())
    place.write({"docs/AGENTS.md": "docs"})
    assert await place.nested("docs/a.md") == []


async def test_the_config_names_files_patterns_and_addresses(place: Place) -> None:
    place.entries = ("docs/**/*.md", "~/team.md", str(place.home / "x.md"), "nothing.md", "**/[")
    place.write(
        {
            "docs/a.md": "a",
            "docs/b/c.md": "c",
            "docs/d.txt": "d",
            "~/team.md": "t",
            "~/x.md": "x",
            "sub/docs/e.md": "e",
        }
    )
    found = sources(await place.collect())
    assert found == ["~/team.md", "~/x.md", "docs/a.md", "docs/b/c.md", "sub/docs/e.md"]


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("http://example.test/a.md", "only https addresses"),
        ("https://me:secret@example.test/a.md", "only https addresses"),
        ("file:///etc/passwd", "only https addresses"),
        ("http://127.0.0.1:1/a.md", "are ignored: "),
    ],
)
async def test_an_address_that_cannot_be_fetched_is_reported(
    place: Place, address: str, why: str
) -> None:
    place.entries = (address,)
    found = await place.collect()
    assert found.files == ()
    assert why in found.notes[0]


# Imports


async def test_imports_follow_once_and_cycles_are_cut(place: Place) -> None:
    place.write(
        {
            "AGENTS.md": "ROOT @x.md and @docs/y.md, again @x.md",
            "x.md": "EX @AGENTS.md @docs/y.md",
            "docs/y.md": "WHY @../x.md @z.md.",
            "docs/z.md": "ZED",
        }
    )
    found = await place.collect("")
    assert sources(found) == ["AGENTS.md"]
    for word in ("ROOT", "EX", "WHY", "ZED"):
        assert text(found).count(word) == 1
    assert "## Imported from docs/z.md\n\nZED" in text(found)
    assert not found.notes


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("see @a.md.", ["a.md"]),
        ("(@docs/a.md), @b.md; @c.md", ["docs/a.md", "b.md", "c.md"]),
        ("mail me@a.md or npm i @scope/a.md", ["scope/a.md"]),
        ("`@a.md` and ``x @b.md``", []),
        ("```\n@a.md\n```\n@b.md", ["b.md"]),
        ("~~~py\n@a.md\n```\n@c.md\n~~~", []),
        ("@~/a.md @./b.md @../c.md", ["~/a.md", "./b.md", "../c.md"]),
        ("@ @, @. nothing", []),
    ],
)
def test_paths_that_count_as_imports(line: str, expected: list[str]) -> None:
    assert imported_paths(line) == expected


async def test_imports_are_bounded_in_depth_and_number(place: Place) -> None:
    place.write({f"{n}.md": f"WORD{n} @{n + 1}.md" for n in range(10)})
    place.write({"AGENTS.md": "@0.md"})
    found = await place.collect("")
    assert "WORD4" in text(found)
    assert "WORD5" not in text(found)
    assert found.notes == ("4.md: @5.md is ignored: too deep imports.",)
    place.write({"AGENTS.md": " ".join(f"@m{n}.md" for n in range(40))})
    place.write({f"m{n}.md": f"WORD{n}" for n in range(40)})
    found = await place.collect("")
    assert text(found).count("WORD") == 30
    assert len(found.notes) == 10


async def test_a_projects_imports_never_leave_it(place: Place) -> None:
    place.write(
        {
            "~/secret.md": "SECRET",
            "AGENTS.md": "@../secret.md @~/secret.md @/etc/hostname @link.md @.env",
            ".env": "SECRET",
        }
    )
    (place.project / "link.md").symlink_to(place.home / "secret.md")
    found = await place.collect("")
    assert "SECRET" not in text(found)
    assert "Imported" not in text(found)
    assert "link.md points outside the project and is ignored." in found.notes
    assert ".env may contain secrets and is ignored." in found.notes


async def test_an_instruction_file_that_links_outside_is_ignored(place: Place) -> None:
    place.write({"~/secret.md": "SECRET", "real.md": "FINE"})
    (place.project / "AGENTS.md").symlink_to(place.home / "secret.md")
    assert (await place.collect("")).files == ()
    (place.project / "AGENTS.md").unlink()
    (place.project / "AGENTS.md").symlink_to("real.md")
    assert text(await place.collect("")) == "FINE"


async def test_the_users_file_can_import_from_home(place: Place) -> None:
    place.write({"~/.claude/CLAUDE.md": "@~/notes/a.md @b.md", "~/notes/a.md": "A1",
                 "~/.claude/b.md": "B1"})  # fmt: skip
    assert "A1" in text(await place.collect())
    assert "B1" in text(await place.collect())


# Bounds and bytes


async def test_a_huge_file_is_truncated_with_a_note(place: Place) -> None:
    place.write({"AGENTS.md": "FIRST\n" + "word word\n" * 30_000 + "LAST"})
    found = await place.collect("")
    assert len(text(found)) < MAX_CHARACTERS + 200
    assert "FIRST" in text(found)
    assert "LAST" not in text(found)
    assert "Read AGENTS.md where you need the rest." in text(found)
    assert "AGENTS.md has 300,010 characters; only the first 40,000 reach the model." in found.notes


async def test_all_files_together_are_bounded(place: Place) -> None:
    place.entries = ("many/*.md",)
    place.write({f"many/{n}.md": "x" * 30_000 for n in range(9)})
    found = await place.collect("")
    assert sum(len(each.text) for each in found.files) <= MAX_TOTAL
    assert len(found.files) == 4
    assert sum("the instructions are too long" in note for note in found.notes) == 5


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"caf\xe9 MARK", "MARK"),
        ("MARK é".encode("utf-16"), "MARK é"),
        (b"\xef\xbb\xbfMARK", "MARK"),
        (b"a\r\nMARK\rb", "a\nMARK\nb"),
        (b"\xff\xfe MARK \x80\x81" * 3, ""),
    ],
)
async def test_other_encodings_do_not_crash(place: Place, content: bytes, expected: str) -> None:
    place.write({"AGENTS.md": content})
    found = text(await place.collect(""))
    found.encode()
    assert expected in found


async def test_a_file_that_is_not_text_is_skipped_with_a_note(place: Place) -> None:
    place.write({"AGENTS.md": b"\x7fELF\0\0\0", "sub/AGENTS.md": "  \n"})
    found = await place.collect("")
    assert found.files == ()
    assert found.notes == ("AGENTS.md is not text and is ignored.",)
    assert (await place.collect("sub")).files == ()
    (place.project / "AGENTS.md").unlink()
    os.mkfifo(place.project / "AGENTS.md")
    assert (await place.collect("")).files == ()


# Nested


async def test_files_of_deeper_folders_come_with_touched_files(place: Place) -> None:
    place.write(
        {
            "AGENTS.md": "root",
            "a/AGENTS.md": "a",
            "a/b/CLAUDE.md": "b",
            "a/b/c/x.py": "x",
            "inner/.git/HEAD": "x",
            "inner/AGENTS.md": "other repository",
            "inner/sub/AGENTS.md": "other repository",
        }
    )
    assert await place.nested("a/b/c/x.py") == ["a/AGENTS.md", "a/b/CLAUDE.md"]
    assert await place.nested("a/b/c/x.py", known=("a/AGENTS.md",)) == ["a/b/CLAUDE.md"]
    assert await place.nested("a/b/CLAUDE.md") == ["a/AGENTS.md"]
    assert await place.nested("x.py") == []
    assert await place.nested("inner/sub/y.py") == []
    assert await place.nested("../elsewhere/x.py") == []


async def test_rules_of_claude_code_count_for_every_file_or_for_theirs(place: Place) -> None:
    place.write(
        {
            "AGENTS.md": "main",
            ".claude/rules/style.md": "---\ndescription: d\n---\nUse tabs.",
            ".claude/rules/front/ui.md": '---\npaths: ["src/**/*.{ts,tsx}"]\n---\nUse hooks.',
        }
    )
    found = await place.collect()
    assert [(each.source, each.text) for each in found.files] == [
        ("AGENTS.md", "main"),
        (".claude/rules/style.md", "Use tabs."),
    ]
    assert await place.nested("src/a/b.tsx") == [".claude/rules/front/ui.md"]
    assert await place.nested("src/a/b.py") == []
