"""Compilers, build tools, linters and test runners."""

from agent.permission.programs.record import Command, Option, Program, Wrapper

_PHP_SITE_OPTIONS = (
    Option(
        "--path --url --ssh --http --user --root -r --uri -l --env", effect="unknown", value="text"
    ),
)
_COMPILER_OPTIONS = (
    Option("-wrapper", effect="execute", value="code"),
    Option("-specs -fplugin -B", effect="execute", value="path"),
)

PROGRAMS = (
    Program(
        "actionlint ava bandit basedpyright biome clang-format clang-tidy codespell coverage "
        "esbuild flake8 golangci-lint golint hadolint isort jest ktlint markdownlint mocha nox "
        "oxlint parcel phpstan phpunit pre-commit prettier psalm pyright pytest rollup rspec "
        "rubocop rustfmt scalafmt shellcheck shfmt staticcheck stylelint swiftlint vite vitest "
        "webpack yamllint",
        always=1,
    ),
    Program("ant astro buf cordova expo gatsby ionic next nuxt protoc rebar3 vue", always=2),
    Program("artisan", always=2, options=_PHP_SITE_OPTIONS, code_runners="tinker"),
    Program(
        "bazel buck2",
        always=2,
        unrated="--output_base --output_user_root --bazelrc --isolation-dir",
    ),
    Program("black gofmt mypy tsc", always=1),
    Program("c++", clusters=False, options=_COMPILER_OPTIONS),
    Program("cc g++ gcc", version="--version -V", clusters=False, options=_COMPILER_OPTIONS),
    Program("chokidar", elsewhere="command", code_options="-c"),
    Program("clang clang++", clusters=False, loads="-fplugin -B", executes="-load -Xclang"),
    Program(
        "cmake",
        always=2,
        clusters=False,
        unrated="-f -j -k -l",
        executes="-C",
        may_execute="-P -E --toolchain",
    ),
    Program("cobc", writes="-o", options=(Option("-x", effect="execute"),)),
    Program("ctags", writes="-f -o", loads="--options"),
    Program(
        "ctest",
        always=1,
        clusters=False,
        loads="--script",
        code="-S",
        options=(Option("--build-and-test", effect="execute"),),
    ),
    Program("dart flutter", always=2, unrated="-d --device-id --packages"),
    Program("dev", subcommands=(Command("exec", wrapper=Wrapper()),)),
    Program(
        "dotnet",
        network="add nuget restore run tool watch workload",
        always=2,
        unrated="--roll-forward --fx-version --additionalprobingpath",
        groups="ef nuget sln tool workload",
        code_runners="exec fsi run script",
    ),
    Program(
        "drush",
        always=2,
        options=_PHP_SITE_OPTIONS,
        code_runners="ev eval php-eval php:cli php:eval php:script",
    ),
    Program("dune", always=2, code_runners="exec utop"),
    Program("eslint", always=1, writes="--output-file -o", loads="--rulesdir"),
    Program(
        "go",
        network="get install mod",
        always=2,
        clusters=False,
        folders="-C",
        may_execute="-exec --exec -toolexec --toolexec -vettool --vettool -overlay -modfile",
        groups="mod work",
        code_runners="generate run",
        subcommands=(Command("get", exact=True), Command("tool", always=3, runs_code=True)),
    ),
    Program(
        "gradle",
        always=2,
        unrated="-p --project-dir -g -P -D -x --gradle-user-home --max-workers --console",
        executes="-b --build-file -c --settings-file -I --init-script",
    ),
    Program(
        "gradlew",
        always=2,
        unrated="-p --project-dir -b --build-file -c --settings-file -g -I -P -D -x "
        "--gradle-user-home --init-script --max-workers --console",
    ),
    Program("java", clusters=False, loads="-javaagent -agentpath -agentlib", executes="-XX"),
    Program("javac", clusters=False, loads="-processorpath", executes="-processor -J"),
    Program(
        "just",
        always=2,
        unrated="--set --color --dotenv-path",
        folders="-d --working-directory",
        executes="-f --justfile --shell",
    ),
    Program("ld", clusters=False, loads="--plugin -plugin"),
    Program("lein", always=2, code_runners="exec repl run"),
    Program(
        "make",
        always=2,
        version="--version -V",
        syntax="make",
        runs_input="language",
        gnu_prefix=True,
        unrated="-I --include-dir -o --old-file -W --what-if",
        folders="-C --directory",
        executes="-f --file --makefile",
        may_execute="--eval -E",
    ),
    Program("meson", always=1, unrated="-f -j -k -l", folders="-C"),
    Program(
        "mix",
        network="deps.get deps.update hex.publish phx.server",
        always=2,
        code_runners="eval run",
    ),
    Program(
        "mvn",
        network="dependency:resolve dependency:go-offline deploy install",
        always=2,
        clusters=False,
        unrated="-f --file -P -pl --projects -t --toolchains -T --threads -D",
        executes="-s --settings -gs",
        may_execute="--global-settings",
    ),
    Program("ng", always=2, groups="generate"),
    Program("ninja", always=1, unrated="-f -j -k -l", folders="-C"),
    Program("nodemon", elsewhere="command", code_options="-x"),
    Program("npm-run-all run-p run-s turbowatch", elsewhere="command"),
    Program("pylint", always=1, code="--init-hook", executes="--load-plugins"),
    Program(
        "rails",
        network="s server",
        always=2,
        groups="db generate",
        code_runners="c console dbc dbconsole r runner",
    ),
    Program(
        "rake",
        always=2,
        unrated="-f --rakefile -C --directory -N -I --gemfile --retry",
        executes="-r",
        may_execute="--execute -e -p -E --require",
    ),
    Program("ruff", always=1, writes="--output-file -o"),
    Program("rustc", writes="-o", executes="-C -Z"),
    Program("sbt", always=2, runs_code=True),
    Program("swift", always=2, code_runners="repl run"),
    Program("symfony", always=2, options=_PHP_SITE_OPTIONS, code_runners="console php"),
    Program(
        "task", always=2, unrated="-t --taskfile -o --output -c --concurrency", folders="-d --dir"
    ),
    Program("tox", always=1, subcommands=(Command("exec", wrapper=Wrapper(), texts="-e"),)),
    Program("wp", always=2, options=_PHP_SITE_OPTIONS, code_runners="eval eval-file shell"),
)
