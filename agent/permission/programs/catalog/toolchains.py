"""Toolchains, environments and their versions."""

from agent.permission.programs.record import Command, Option, Program, Wrapper

PROGRAMS = (
    Program(
        "asdf",
        always=2,
        unrated="-C --cd -E --env -j --jobs",
        groups="plugin",
        subcommands=(Command("exec", wrapper=Wrapper()),),
    ),
    Program(
        "conda",
        always=2,
        unrated="-n --name -p --prefix -r --root-prefix",
        groups="config env",
        subcommands=(
            Command(
                "run",
                wrapper=Wrapper(),
                flags="-v --no-capture-output --live-stream",
                texts="-n -p",
                folders="--cwd",
            ),
        ),
    ),
    Program("devbox", subcommands=(Command("run", wrapper=Wrapper(), flags="-q", texts="-c"),)),
    Program("devenv", subcommands=(Command("shell", wrapper=Wrapper()),)),
    Program("direnv", subcommands=(Command("exec", wrapper=Wrapper(operands_before=1)),)),
    Program("fnm", always=2, subcommands=(Command("exec", wrapper=Wrapper(), texts="--using"),)),
    Program("jenv", always=2, code_runners="exec"),
    Program(
        "mamba",
        always=2,
        unrated="-n --name -p --prefix -r --root-prefix",
        groups="config env",
        subcommands=(Command("run", wrapper=Wrapper(), flags="-v", texts="-n -p"),),
    ),
    Program(
        "micromamba",
        unrated="-n --name -p --prefix -r --root-prefix",
        subcommands=(Command("run", wrapper=Wrapper(), texts="-n -p"),),
    ),
    Program(
        "mise",
        always=2,
        unrated="-C --cd -E --env -j --jobs",
        groups="run settings",
        subcommands=(Command("exec", always=3, wrapper=Wrapper()), Command("x", wrapper=Wrapper())),
    ),
    Program(
        "nix",
        always=2,
        elsewhere="command",
        code_options="-c",
        unrated="--option -I --store --eval-store -f --file",
        groups="flake profile store",
        code_runners="eval repl shell",
        subcommands=(
            Command("develop", always=3, runs_code=True),
            Command("run", runs_code=True, wrapper=Wrapper()),
        ),
    ),
    Program("nodenv pyenv rbenv", always=2, subcommands=(Command("exec", wrapper=Wrapper()),)),
    Program("nvm", always=2, subcommands=(Command("exec", wrapper=Wrapper(operands_before=1)),)),
    Program(
        "pixi",
        always=2,
        unrated="-C --directory -P --project -p -e --env -c --config --manifest-path --data-dir "
        "--cache-dir",
        groups="global task",
        subcommands=(Command("run", always=3, wrapper=Wrapper(), flags="-q", texts="-e"),),
    ),
    Program(
        "rustup",
        always=2,
        unrated="-v",
        groups="component override target toolchain",
        subcommands=(Command("run", wrapper=Wrapper(operands_before=1), flags="--install"),),
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
        subcommands=(Command("run", wrapper=Wrapper(), texts="--node --npm --yarn"),),
    ),
)
