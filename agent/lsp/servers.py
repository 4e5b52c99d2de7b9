"""The known language servers, and the selection of those that are used.

Commands are those of the servers' own documentation. Nothing is ever downloaded.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from agent.config.settings_schema import LspServerConfig
from agent.lsp.connection import ServerSpec

_JS = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")
_PY = (".py", ".pyi")
_PY_ROOT = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "pyrightconfig.json")

KNOWN_SERVERS: tuple[ServerSpec, ...] = (
    ServerSpec(
        id="basedpyright",
        command=("basedpyright-langserver", "--stdio"),
        extensions=_PY,
        markers=_PY_ROOT,
    ),
    ServerSpec(
        id="pyright",
        command=("pyright-langserver", "--stdio"),
        extensions=_PY,
        markers=_PY_ROOT,
    ),
    ServerSpec(id="ty", command=("ty", "server"), extensions=_PY, markers=_PY_ROOT),
    ServerSpec(id="gopls", command=("gopls",), extensions=(".go",), markers=("go.work", "go.mod")),
    ServerSpec(
        id="clangd",
        command=("clangd", "--background-index=false"),
        extensions=(".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".hh", ".m", ".mm"),
        markers=("compile_commands.json", "compile_flags.txt", ".clangd", "CMakeLists.txt"),
    ),
    ServerSpec(
        id="lua-ls",
        command=("lua-language-server",),
        extensions=(".lua",),
        markers=(".luarc.json", ".luarc.jsonc"),
    ),
    ServerSpec(id="zls", command=("zls",), extensions=(".zig",), markers=("build.zig",)),
    ServerSpec(
        id="bash",
        command=("bash-language-server", "start"),
        extensions=(".sh", ".bash"),
    ),
    ServerSpec(
        id="yaml-ls",
        command=("yaml-language-server", "--stdio"),
        extensions=(".yaml", ".yml"),
    ),
    ServerSpec(id="terraform", command=("terraform-ls", "serve"), extensions=(".tf", ".tfvars")),
    ServerSpec(id="texlab", command=("texlab",), extensions=(".tex", ".bib")),
    ServerSpec(id="nixd", command=("nixd",), extensions=(".nix",), markers=("flake.nix",)),
    ServerSpec(
        id="gleam", command=("gleam", "lsp"), extensions=(".gleam",), markers=("gleam.toml",)
    ),
    ServerSpec(
        id="dart",
        command=("dart", "language-server"),
        extensions=(".dart",),
        markers=("pubspec.yaml",),
    ),
    ServerSpec(
        id="typescript",
        command=("typescript-language-server", "--stdio"),
        extensions=_JS,
        markers=("tsconfig.json", "jsconfig.json", "package.json"),
        runs_project=True,
    ),
    ServerSpec(
        id="deno",
        command=("deno", "lsp"),
        extensions=(".ts", ".tsx", ".js", ".jsx", ".mjs"),
        markers=("deno.json", "deno.jsonc"),
        runs_project=True,
    ),
    ServerSpec(
        id="rust",
        command=("rust-analyzer",),
        extensions=(".rs",),
        markers=("Cargo.toml",),
        runs_project=True,
    ),
    ServerSpec(
        id="ruby-lsp",
        command=("ruby-lsp",),
        extensions=(".rb", ".rake", ".gemspec"),
        markers=("Gemfile",),
        runs_project=True,
    ),
    ServerSpec(
        id="jdtls",
        command=("jdtls",),
        extensions=(".java",),
        markers=("pom.xml", "build.gradle", "build.gradle.kts"),
        runs_project=True,
    ),
    ServerSpec(
        id="elixir-ls",
        command=("elixir-ls",),
        extensions=(".ex", ".exs"),
        markers=("mix.exs",),
        runs_project=True,
    ),
    ServerSpec(
        id="svelte",
        command=("svelteserver", "--stdio"),
        extensions=(".svelte",),
        markers=("package.json",),
        runs_project=True,
    ),
    ServerSpec(
        id="php intelephense",
        command=("intelephense", "--stdio"),
        extensions=(".php",),
        markers=("composer.json",),
    ),
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
