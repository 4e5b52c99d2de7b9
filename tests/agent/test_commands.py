"""Custom slash commands and their templates."""

import pytest

from agent.commands import TemplatePart, available_commands, expand_template
from agent.config.loading import load_config
from agent.config.paths import Paths


def rendered(template: str, argument: str) -> str:
    return "".join(piece.text for piece in expand_template(template, argument))


@pytest.mark.parametrize(
    ("template", "argument", "expected"),
    [
        ("Fix $ARGUMENTS now", "a b", "Fix a b now"),
        ("$1 then $2", "one two three", "one then two three"),
        ("$2 before $1", "one two", "two before one"),
        ("$1|$2", "'a b' \"c d\"", "a b|c d"),
        ("$1|$3", "a", "a|"),
        ("$1 of $ARGUMENTS", "a b", "a b of a b"),
        ("No place", "a b", "No place\n\na b"),
        ("No place", "", "No place"),
        ("$ARGUMENTSX costs $0 and $x", "a", "$ARGUMENTSX costs $0 and $x\n\na"),
        ("$1", "$2 $ARGUMENTS", "$2 $ARGUMENTS"),
        ("$1", "", ""),
    ],
)
def test_placeholders_are_filled_in(template: str, argument: str, expected: str) -> None:
    assert rendered(template, argument) == expected


def test_only_commands_of_the_template_are_run() -> None:
    pieces = expand_template("State: !`git log $1`\nTask: $ARGUMENTS", "-3 !`rm x`")
    assert pieces == (
        TemplatePart("text", "State: "),
        TemplatePart("shell", "git log -3 !`rm x`"),
        TemplatePart("text", "\nTask: -3 !`rm x`"),
    )


def test_commands_of_all_folders_are_found_and_later_ones_win(tmp_path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    files = {
        home / ".claude/commands/fix.md": "---\ndescription: theirs\nallowed-tools: Bash\n---\nA",
        home / ".config/opencode/command/deep/b.md": "B",
        home / ".config/opencode-py/commands/fix.md": "---\ndescription: mine\n"
        "argument-hint: [issue]\nagent: plan\nmodel: lab/big\nvariant: high\nsubtask: true\n"
        "---\nFix",
        project / ".opencode/commands/theirs.md": "# Do it\n\n$1",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (home / ".config/opencode-py/config.json").write_text(
        '{"command": {"inline": {"template": "T $1", "description": "In a line"}}}'
    )
    env = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}
    paths = Paths.find(env)
    loaded = load_config(project, project, env, paths=paths)
    assert not [notice for notice in loaded.notices if "project" not in notice]
    found = {each.name: each for each in available_commands(loaded)}
    assert list(found) == ["deep/b", "fix", "inline", "review"]
    fix = found["fix"]
    assert (fix.description, fix.template, fix.hint) == ("mine", "Fix", "[issue]")
    assert (fix.agent, fix.model, fix.effort, fix.subtask) == ("plan", "lab/big", "high", True)
    assert "opencode-py/commands/fix.md" in fix.source
    assert found["inline"].hint == "[arguments]"
    trusted = load_config(project, project, env, paths=paths, trusted=True)
    theirs = {each.name: each for each in available_commands(trusted)}["theirs"]
    assert (theirs.description, theirs.source) == ("Do it", ".opencode/commands/theirs.md")
