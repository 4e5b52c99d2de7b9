"""The selection of language servers and formatters."""

from pathlib import Path

import pytest

from agent.config.settings_schema import FormatterConfig, LspServerConfig
from agent.lsp.formatters import KNOWN_FORMATTERS as FORMATTERS
from agent.lsp.formatters import Formatter, active_formatters
from agent.lsp.servers import KNOWN_SERVERS, active_servers


def installed(*names: str):
    return lambda name: f"/bin/{name}" if name in names else None


def ids(servers) -> list[str]:
    return [one.id for one in servers]


def test_servers_that_run_no_project_code_are_on_by_default() -> None:
    which = installed("pyright-langserver", "gopls", "rust-analyzer", "typescript-language-server")
    assert ids(active_servers(None, which)) == ["pyright", "gopls"]
    assert ids(active_servers(True, which)) == ["pyright", "gopls", "typescript", "rust"]
    assert active_servers(False, which) == ()
    assert active_servers(None, which)[0].command == ("/bin/pyright-langserver", "--stdio")


def test_one_server_per_kind_of_file_the_users_own_first() -> None:
    which = installed("pyright-langserver", "basedpyright-langserver", "mine")
    assert ids(active_servers(None, which)) == ["basedpyright"]
    mine = LspServerConfig(command=("mine", "--stdio"), extensions=(".py", ".pyw"))
    assert ids(active_servers({"own": mine}, which)) == ["own", "basedpyright"]
    assert active_servers({"own": mine}, which)[1].extensions == (".pyi",)
    assert ids(active_servers({"basedpyright": LspServerConfig(disabled=True)}, which)) == [
        "pyright"
    ]


def test_a_custom_server_needs_a_command_and_extensions() -> None:
    assert active_servers({"own": LspServerConfig(command=("mine",))}, installed("mine")) == ()


def test_naming_a_server_that_runs_project_code_enables_it() -> None:
    given = {"rust": LspServerConfig(initialization={"cargo": {"features": "all"}})}
    (server,) = active_servers(given, installed("rust-analyzer"))
    assert server.initialization == {"cargo": {"features": "all"}}


def test_every_known_server_and_formatter_is_complete() -> None:
    assert len({s.id for s in KNOWN_SERVERS}) == len(KNOWN_SERVERS)
    for server in KNOWN_SERVERS:
        assert server.command
        assert all(end.startswith(".") for end in server.extensions)
    assert len({f.id for f in FORMATTERS}) == len(FORMATTERS)
    for formatter in FORMATTERS:
        assert "$FILE" in formatter.command
        assert all(end.startswith(".") for end in formatter.extensions)


def test_formatters_are_off_by_default() -> None:
    which = installed("gofmt", "ruff")
    assert active_formatters(None, which) == ()
    assert active_formatters(False, which) == ()
    assert ids(active_formatters(True, which)) == ["gofmt", "ruff"]
    assert ids(active_formatters({"ruff": FormatterConfig(disabled=True)}, which)) == ["gofmt"]
    own = FormatterConfig(command=("ruff", "check", "--fix", "$FILE"), extensions=(".py",))
    (mine,) = active_formatters(
        {"fix": own, "ruff": FormatterConfig(disabled=True)}, installed("ruff")
    )
    assert mine.argv("/a b.py") == ("/bin/ruff", "check", "--fix", "/a b.py")


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("pyproject.toml", "[tool.ruff]\n", True),
        ("pyproject.toml", "[project]\n", False),
        ("ruff.toml", "", True),
        ("other", "", False),
    ],
)
def test_a_formatter_runs_where_the_project_has_settings_for_it(
    tmp_path: Path, name: str, text: str, wanted: bool
) -> None:
    (tmp_path / name).write_text(text)
    file = tmp_path / "src" / "a.py"
    file.parent.mkdir()
    ruff = next(one for one in FORMATTERS if one.id == "ruff")
    assert ruff.applies_to(str(file), tmp_path) is wanted
    assert not ruff.applies_to(str(file) + ".txt", tmp_path)
    assert Formatter(id="x", command=("x", "$FILE"), extensions=(".py",)).applies_to(
        "/a.py", tmp_path
    )
