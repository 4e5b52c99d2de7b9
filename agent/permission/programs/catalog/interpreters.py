"""Interpreters and shells."""

from agent.permission.programs.record import VERSION_MANAGERS, Command, Option, Program, Wrapper

_LANGUAGE_OPTIONS = Option(
    "--eval --print --require --import --loader --experimental-loader --env-file "
    "--run --process-code --process-file --check",
    effect="execute",
    value="unknown",
)
"""Long options with which some interpreter runs code; they count for all of them."""


PROGRAMS = (
    Program("ash mksh oksh posh rbash", shell_kind="posix"),
    Program("bash sh", exact=True, version="--version -V", shell_kind="posix"),
    Program(
        "bun",
        network="add create dev i install outdated publish serve start update x",
        always=2,
        interpreter=True,
        runs_input="language",
        unrated="--prefix -C --dir --workspace -w --filter -F --registry --userconfig "
        "--globalconfig --cache --loglevel --tag --otp --scope --reporter --modules-folder "
        "--mutex --network-timeout --store-dir --config --use-yarnrc",
        options=(
            Option("-e -p -r", effect="execute", value="unknown"),
            Option("--cwd", effect="chdir", value="text"),
            _LANGUAGE_OPTIONS,
        ),
        subcommands=(
            Command("pm run", always=3),
            Command("x", always=3, wrapper=Wrapper(), flags="--bun --silent"),
            Command("create", runs_code=True),
        ),
    ),
    Program("csh elvish nu tcsh xonsh yash", shell_kind="other"),
    Program("dash ksh", exact=True, shell_kind="posix"),
    Program(
        "deno",
        network="add cache install publish serve task update",
        always=2,
        interpreter=True,
        runs_input="language",
        options=(_LANGUAGE_OPTIONS,),
        subcommands=(Command("run task", always=3), Command("x", wrapper=Wrapper())),
    ),
    Program(
        "elixir",
        interpreter=True,
        options=(Option("-e -S -r", effect="execute", value="unknown"), _LANGUAGE_OPTIONS),
    ),
    Program("fish", exact=True, shell_kind="other"),
    Program(
        "julia",
        runs_code=True,
        interpreter=True,
        options=(Option("-e -E -L", effect="execute", value="unknown"), _LANGUAGE_OPTIONS),
    ),
    Program(
        "lua",
        exact=True,
        version="--version -V",
        interpreter=True,
        runs_input="language",
        options=(Option("-e -l -i", effect="execute", value="unknown"), _LANGUAGE_OPTIONS),
    ),
    Program(
        "node",
        exact=True,
        version="--version -V -v",
        version_unless=VERSION_MANAGERS,
        interpreter=True,
        runs_input="language",
        texts="-C",
        options=(Option("-e -p -r -c", effect="execute", value="unknown"), _LANGUAGE_OPTIONS),
    ),
    Program(
        "node20",
        version="--version -V",
        version_unless=VERSION_MANAGERS,
        interpreter=True,
        texts="-C",
        options=(Option("-e -p -r -c", effect="execute", value="unknown"), _LANGUAGE_OPTIONS),
    ),
    Program(
        "nodejs",
        interpreter=True,
        texts="-C",
        options=(Option("-e -p -r -c", effect="execute", value="unknown"), _LANGUAGE_OPTIONS),
    ),
    Program("octave", options=(Option("--eval", effect="execute", value="code"),)),
    Program(
        "osascript",
        interpreter=True,
        elsewhere="command",
        runs_input="shell",
        options=(Option("-e -l", effect="execute", value="unknown"), _LANGUAGE_OPTIONS),
    ),
    Program(
        "perl",
        exact=True,
        version="--version -V",
        interpreter=True,
        runs_input="language",
        options=(
            Option("-e -E -M -m -I -S -x -n -p", effect="execute", value="unknown"),
            _LANGUAGE_OPTIONS,
        ),
    ),
    Program(
        "php",
        network="artisan serve -S",
        exact=True,
        version="--version -V",
        interpreter=True,
        runs_input="language",
        options=(
            Option("-r -B -R -F -E -f -d -z -c", effect="execute", value="unknown"),
            _LANGUAGE_OPTIONS,
        ),
    ),
    Program(
        "powershell pwsh",
        interpreter=True,
        options=(Option("-c -C -e -E -f -F", effect="execute", value="unknown"), _LANGUAGE_OPTIONS),
    ),
    Program(
        "pypy",
        interpreter=True,
        texts="-X -W",
        options=(Option("-c -m", effect="execute", value="text"), _LANGUAGE_OPTIONS),
    ),
    Program(
        "python python3",
        network="flask gunicorn http.server pip runserver uvicorn",
        exact=True,
        version="--version -V",
        version_unless=VERSION_MANAGERS,
        interpreter=True,
        runs_input="language",
        texts="-X -W",
        options=(Option("-c -m", effect="execute", value="text"), _LANGUAGE_OPTIONS),
    ),
    Program("R ghc kotlin luajit nim zig"),
    Program(
        "Rscript groovy",
        interpreter=True,
        options=(Option("-e", effect="execute", value="unknown"), _LANGUAGE_OPTIONS),
    ),
    Program(
        "ruby",
        exact=True,
        interpreter=True,
        runs_input="language",
        texts="-C",
        options=(
            Option("-e -I -r -x -n -p -S", effect="execute", value="unknown"),
            _LANGUAGE_OPTIONS,
        ),
    ),
    Program("tclsh", interpreter=True, options=(_LANGUAGE_OPTIONS,)),
    Program("zsh", exact=True, version="--version -V", shell_kind="other"),
)
