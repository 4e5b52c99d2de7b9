"""Custom slash commands and their templates."""

import subprocess
from pathlib import Path

import pytest

from agent.config.loading import load_config
from agent.config.paths import Paths
from agent.custom_commands import TemplatePart, available_commands, expand_template, fill_command
from agent.records.errors import CommandError


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
        TemplatePart("shell", "git log '-3 !`rm x`'"),
        TemplatePart("text", "\nTask: -3 !`rm x`"),
    )


EVIL = (
    "; touch sprung", "$(touch sprung)", "`touch sprung`", "a' ; touch sprung; '",
    '"; touch sprung; "', "\ntouch sprung\n", "a\\", "') ; touch sprung #", "x; }; touch sprung",
    "a[$(touch sprung)]", "EOF\ntouch sprung\n", "$'\\n'touch sprung", "&& touch sprung",
    "> sprung", "*", "~", "${x:=$(touch sprung)}", "-e\\x41", "#", "!!", "% s",
)  # fmt: skip

QUOTING = (
    "printf '<%s>' $1", 'printf "<%s>" "$1"', "printf '<%s>' '$1'", "printf '<%s>' a$1",
    'printf "<%s>" "a $1 b"', """printf '<%s>' "$(printf %s $1)" """,
    """printf '<%s>' "$(printf %s "$1")" """, "printf '<%s>' x'y'$1",
    'printf "<%s>" "it\'s $1"', "printf '<%s>' it\\'s$1", "(printf '<%s>' $1)",
    "[ x = $1 ]; printf '<%s>' $1", "for each in $1; do printf '<%s>' \"$each\"; done",
    "cat <<< $1",
)  # fmt: skip


@pytest.mark.parametrize("template", QUOTING)
def test_an_argument_is_one_word_of_a_command(template: str, tmp_path: Path) -> None:
    """With any text, the shell gets it unchanged and runs nothing of it."""
    for number, value in enumerate(EVIL):
        code = fill_command(template, lambda _, value=value: value)
        folder = tmp_path / str(number)
        folder.mkdir()
        done = subprocess.run(["bash", "-c", code], cwd=folder, capture_output=True, check=False)
        assert value.strip() in done.stdout.decode(), code
        assert not list(folder.iterdir()), code


UNQUOTABLE = (
    "cat <<EOF\n$1\nEOF", "true # $1", "echo $(( $1 ))", "(( $1 ))", "echo ${x:-$1}", "echo $'$1'",
    'eval "echo $1"', 'bash -c "echo $1"', "sh -c 'echo $1'", 'let "x=$1"', "echo ${x:-\"$1\"}",
    "eval echo $1", 'echo "$(case a in a) echo $1;; esac)"', "cat <<'EOF'\n$1\nEOF", "echo $[$1]",
    "bash -c 'eval \"$1\"'", 'echo "${x:-$1}"', 'echo "$(( $1 ))"', "echo x|bash -c \"cat; $1\"",
)  # fmt: skip


@pytest.mark.parametrize("template", UNQUOTABLE)
def test_an_argument_is_not_run_where_it_would_be_code(template: str, tmp_path: Path) -> None:
    """It is refused, or it is text all the same."""
    for number, value in enumerate(EVIL):
        try:
            code = fill_command(template, lambda _, value=value: value)
        except CommandError:
            continue
        folder = tmp_path / str(number)
        folder.mkdir()
        subprocess.run(["bash", "-c", code], cwd=folder, capture_output=True, check=False)
        assert not list(folder.iterdir()), code
    assert "fine" in fill_command(template, lambda _: "fine")


@pytest.mark.parametrize("template", UNQUOTABLE)
def test_code_in_an_argument_is_refused(template: str) -> None:
    with pytest.raises(CommandError, match=r"as code|would run"):
        fill_command(template, lambda _: "\n$(touch sprung); touch sprung\nEOF\ntouch sprung")


def test_an_empty_argument_is_no_word() -> None:
    assert fill_command("git log $1", lambda _: "") == "git log "


def test_piped_text_is_in_no_command() -> None:
    pieces = expand_template("!`echo $ARGUMENTS` $ARGUMENTS", "a b", "; rm -rf x")
    assert pieces == (
        TemplatePart("shell", "echo 'a b'"),
        TemplatePart("text", " a b\n\n; rm -rf x"),
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
