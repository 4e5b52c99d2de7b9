"""The known language servers, and the selection of those that are used.

Commands are those of the servers' own documentation. Nothing is ever downloaded.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from agent.config.settings_schema import LspServerConfig
from agent.lsp.connection import ServerSpec

_JS = ".ts .tsx .js .jsx .mjs .cjs .mts .cts"
_PY = ".py .pyi"
_PY_ROOT = "pyproject.toml setup.py setup.cfg requirements.txt pyrightconfig.json"


def _server(
    name: str, command: str, extensions: str, markers: str = "", *, runs_project: bool = False
) -> ServerSpec:
    """Return a server by texts whose words are those of its command, its extensions and markers."""
    return ServerSpec(
        id=name,
        command=tuple(command.split()),
        extensions=tuple(extensions.split()),
        markers=tuple(markers.split()),
        runs_project=runs_project,
    )


KNOWN_SERVERS: tuple[ServerSpec, ...] = (
    _server("basedpyright", "basedpyright-langserver --stdio", _PY, _PY_ROOT),
    _server("pyright", "pyright-langserver --stdio", _PY, _PY_ROOT),
    _server("ty", "ty server", _PY, _PY_ROOT),
    _server("gopls", "gopls", ".go", "go.work go.mod"),
    _server(
        "clangd",
        "clangd --background-index=false",
        ".c .h .cc .cpp .cxx .hpp .hh .m .mm",
        "compile_commands.json compile_flags.txt .clangd CMakeLists.txt",
    ),
    _server("lua-ls", "lua-language-server", ".lua", ".luarc.json .luarc.jsonc"),
    _server("zls", "zls", ".zig", "build.zig"),
    _server("bash", "bash-language-server start", ".sh .bash"),
    _server("yaml-ls", "yaml-language-server --stdio", ".yaml .yml"),
    _server("terraform", "terraform-ls serve", ".tf .tfvars"),
    _server("texlab", "texlab", ".tex .bib"),
    _server("nixd", "nixd", ".nix", "flake.nix"),
    _server("gleam", "gleam lsp", ".gleam", "gleam.toml"),
    _server("dart", "dart language-server", ".dart", "pubspec.yaml"),
    _server(
        "typescript",
        "typescript-language-server --stdio",
        _JS,
        "tsconfig.json jsconfig.json package.json",
        runs_project=True,
    ),
    _server(
        "deno", "deno lsp", ".ts .tsx .js .jsx .mjs", "deno.json deno.jsonc", runs_project=True
    ),
    _server("rust", "rust-analyzer", ".rs", "Cargo.toml", runs_project=True),
    _server("ruby-lsp", "ruby-lsp", ".rb .rake .gemspec", "Gemfile", runs_project=True),
    _server("jdtls", "jdtls", ".java", "pom.xml build.gradle build.gradle.kts", runs_project=True),
    _server("elixir-ls", "elixir-ls", ".ex .exs", "mix.exs", runs_project=True),
    _server("svelte", "svelteserver --stdio", ".svelte", "package.json", runs_project=True),
    _server("php intelephense", "intelephense --stdio", ".php", "composer.json"),
)

Which = Callable[[str], str | None]


def active_servers(
    setting: bool | Mapping[str, LspServerConfig] | None, find_program: Which = shutil.which
) -> tuple[ServerSpec, ...]:
    """Return the servers in use, with the path of each program.

    Servers of the settings come first; of several for one kind of file the first that is installed
    is used.

    *setting* is the ``lsp`` key: false for none, true for all that are found, servers by id, or
    None, where those that run nothing of the project are used.
    """
    if setting is False:
        return ()
    named: Mapping[str, LspServerConfig] = {}
    if not isinstance(setting, bool) and setting is not None:
        named = setting
    known = {spec.id: spec for spec in KNOWN_SERVERS}
    wanted = [_changed(known.get(name), name, given) for name, given in named.items()]
    wanted += [
        spec
        for spec in KNOWN_SERVERS
        if spec.id not in named and (setting is True or not spec.runs_project)
    ]
    return tuple(_found(wanted, find_program))


def _changed(spec: ServerSpec | None, name: str, given: LspServerConfig) -> ServerSpec | None:
    if given.disabled:
        return None
    spec = spec or ServerSpec(id=name, command=(), extensions=())
    changed = replace(
        spec,
        command=given.command or spec.command,
        extensions=given.extensions or spec.extensions,
        env=given.env,
        initialization=given.initialization,
    )
    return changed if changed.command and changed.extensions else None


def _found(wanted: Iterable[ServerSpec | None], which: Which) -> Iterator[ServerSpec]:
    served: set[str] = set()
    for spec in wanted:
        if spec is None or served.issuperset(spec.extensions):
            continue
        program = which(spec.command[0])
        if program is None:
            continue
        left = tuple(end for end in spec.extensions if end not in served)
        served.update(left)
        yield replace(spec, command=(program, *spec.command[1:]), extensions=left)
