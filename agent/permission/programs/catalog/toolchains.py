"""Toolchains, environments and their versions."""

from agent.permission.programs.record import Command, Option, Program, Wrapper

PROGRAMS = (
    Program(
        "asdf",
        always=2,
        options=(Option("-C --cd -E --env -j --jobs", effect="unknown", value="text"),),
        subcommands=(
            Command("plugin", always=3),
            Command("exec", wrapper=Wrapper()),
        ),
    ),
    Program(
        "conda",
        always=2,
        options=(Option("-n --name -p --prefix -r --root-prefix", effect="unknown", value="text"),),
        subcommands=(
            Command("config env", always=3),
            Command(
                "run",
                wrapper=Wrapper(),
                options=(
                    Option("-v --no-capture-output --live-stream"),
                    Option("-n -p", value="text"),
                    Option("--cwd", effect="chdir", value="text"),
                ),
            ),
        ),
    ),
    Program(
        "devbox",
        subcommands=(
            Command(
                "run",
                wrapper=Wrapper(),
                options=(
                    Option("-q"),
                    Option("-c", value="text"),
                ),
            ),
        ),
    ),
    Program(
        "devenv",
        subcommands=(Command("shell", wrapper=Wrapper()),),
    ),
    Program(
        "direnv",
        subcommands=(Command("exec", wrapper=Wrapper(operands_before=1)),),
    ),
    Program(
        "fnm",
        always=2,
        subcommands=(
            Command("exec", wrapper=Wrapper(), options=(Option("--using", value="text"),)),
        ),
    ),
    Program(
        "jenv",
        always=2,
        subcommands=(Command("exec", runs_code=True),),
    ),
    Program(
        "mamba",
        always=2,
        options=(Option("-n --name -p --prefix -r --root-prefix", effect="unknown", value="text"),),
        subcommands=(
            Command("config env", always=3),
            Command(
                "run",
                wrapper=Wrapper(),
                options=(
                    Option("-v"),
                    Option("-n -p", value="text"),
                ),
            ),
        ),
    ),
    Program(
        "micromamba",
        options=(Option("-n --name -p --prefix -r --root-prefix", effect="unknown", value="text"),),
        subcommands=(Command("run", wrapper=Wrapper(), options=(Option("-n -p", value="text"),)),),
    ),
    Program(
        "mise",
        always=2,
        options=(Option("-C --cd -E --env -j --jobs", effect="unknown", value="text"),),
        subcommands=(
            Command("run settings", always=3),
            Command("exec", always=3, wrapper=Wrapper()),
            Command("x", wrapper=Wrapper()),
        ),
    ),
    Program(
        "nix",
        always=2,
        elsewhere="command",
        code_options="-c",
        options=(
            Option("--option -I --store --eval-store -f --file", effect="unknown", value="text"),
        ),
        subcommands=(
            Command("flake profile store", always=3),
            Command("develop", always=3, runs_code=True),
            Command("eval repl shell", runs_code=True),
            Command("run", runs_code=True, wrapper=Wrapper()),
        ),
    ),
    Program(
        "nodenv pyenv rbenv",
        always=2,
        subcommands=(Command("exec", wrapper=Wrapper()),),
    ),
    Program(
        "nvm",
        always=2,
        subcommands=(Command("exec", wrapper=Wrapper(operands_before=1)),),
    ),
    Program(
        "pixi",
        always=2,
        options=(
            Option(
                "-C --directory -P --project -p -e --env -c --config "
                "--manifest-path --data-dir --cache-dir",
                effect="unknown",
                value="text",
            ),
        ),
        subcommands=(
            Command(
                "run",
                always=3,
                wrapper=Wrapper(),
                options=(
                    Option("-q"),
                    Option("-e", value="text"),
                ),
            ),
            Command("global task", always=3),
        ),
    ),
    Program(
        "rustup",
        always=2,
        options=(Option("-v", effect="unknown", value="text"),),
        subcommands=(
            Command("component override target toolchain", always=3),
            Command("run", wrapper=Wrapper(operands_before=1), options=(Option("--install"),)),
        ),
    ),
    Program("sdk", always=2),
    Program(
        "update-alternatives",
        options=(
            Option("--install", effect="write", value="unknown"),
            Option("--force", effect="write"),
        ),
    ),
    Program(
        "volta",
        always=2,
        subcommands=(
            Command(
                "run",
                wrapper=Wrapper(),
                options=(Option("--node --npm --yarn", value="text"),),
            ),
        ),
    ),
)
