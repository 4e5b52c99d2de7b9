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
    Program(
        "artisan",
        always=2,
        options=_PHP_SITE_OPTIONS,
        subcommands=(Command("tinker", runs_code=True),),
    ),
    Program(
        "bazel buck2",
        always=2,
        unrated="--output_base --output_user_root --bazelrc --isolation-dir",
    ),
    Program("black gofmt mypy tsc", always=1),
    Program("c++", clusters=False, options=_COMPILER_OPTIONS),
    Program("cc g++ gcc", version="--version -V", clusters=False, options=_COMPILER_OPTIONS),
    Program("chokidar", elsewhere="command", code_options="-c"),
    Program(
        "clang clang++",
        clusters=False,
        options=(
            Option("-fplugin -B", effect="execute", value="path"),
            Option("-load -Xclang", effect="execute", value="text"),
        ),
    ),
    Program(
        "cmake",
        always=2,
        clusters=False,
        unrated="-f -j -k -l",
        options=(
            Option("-C", effect="execute", value="text"),
            Option("-P -E --toolchain", effect="execute", value="unknown"),
        ),
    ),
    Program(
        "cobc", options=(Option("-o", effect="write", value="path"), Option("-x", effect="execute"))
    ),
    Program(
        "ctags",
        options=(
            Option("-f -o", effect="write", value="path"),
            Option("--options", effect="execute", value="path"),
        ),
    ),
    Program(
        "ctest",
        always=1,
        clusters=False,
        options=(
            Option("-S", effect="execute", value="code"),
            Option("--script", effect="execute", value="path"),
            Option("--build-and-test", effect="execute"),
        ),
    ),
    Program("dart flutter", always=2, unrated="-d --device-id --packages"),
    Program("dev", subcommands=(Command("exec", wrapper=Wrapper()),)),
    Program(
        "dotnet",
        network="add nuget restore run tool watch workload",
        always=2,
        unrated="--roll-forward --fx-version --additionalprobingpath",
        subcommands=(
            Command("ef nuget sln tool workload", always=3),
            Command("exec fsi run script", runs_code=True),
        ),
    ),
    Program(
        "drush",
        always=2,
        options=_PHP_SITE_OPTIONS,
        subcommands=(Command("ev eval php-eval php:cli php:eval php:script", runs_code=True),),
    ),
    Program("dune", always=2, subcommands=(Command("exec utop", runs_code=True),)),
    Program(
        "eslint",
        always=1,
        options=(
            Option("--output-file -o", effect="write", value="path"),
            Option("--rulesdir", effect="execute", value="path"),
        ),
    ),
    Program(
        "go",
        network="get install mod",
        always=2,
        clusters=False,
        options=(
            Option("-C", effect="chdir", value="text"),
            Option(
                "-exec --exec -toolexec --toolexec -vettool --vettool -overlay -modfile",
                effect="execute",
                value="unknown",
            ),
        ),
        subcommands=(
            Command("get", exact=True),
            Command("mod work", always=3),
            Command("tool", always=3, runs_code=True),
            Command("generate run", runs_code=True),
        ),
    ),
    Program(
        "gradle",
        always=2,
        unrated="-p --project-dir -g -P -D -x --gradle-user-home --max-workers --console",
        options=(
            Option(
                "-b --build-file -c --settings-file -I --init-script",
                effect="execute",
                value="text",
            ),
        ),
    ),
    Program(
        "gradlew",
        always=2,
        unrated="-p --project-dir -b --build-file -c --settings-file -g -I -P -D -x "
        "--gradle-user-home --init-script --max-workers --console",
    ),
    Program(
        "java",
        clusters=False,
        options=(
            Option("-javaagent -agentpath -agentlib", effect="execute", value="path"),
            Option("-XX", effect="execute", value="text"),
        ),
    ),
    Program(
        "javac",
        clusters=False,
        options=(
            Option("-processor -J", effect="execute", value="text"),
            Option("-processorpath", effect="execute", value="path"),
        ),
    ),
    Program(
        "just",
        always=2,
        unrated="--set --color --dotenv-path",
        options=(
            Option("-f --justfile --shell", effect="execute", value="text"),
            Option("-d --working-directory", effect="chdir", value="text"),
        ),
    ),
    Program(
        "ld", clusters=False, options=(Option("--plugin -plugin", effect="execute", value="path"),)
    ),
    Program("lein", always=2, subcommands=(Command("exec repl run", runs_code=True),)),
    Program(
        "make",
        always=2,
        version="--version -V",
        syntax="make",
        runs_input="language",
        gnu_prefix=True,
        unrated="-I --include-dir -o --old-file -W --what-if",
        options=(
            Option("-f --file --makefile", effect="execute", value="text"),
            Option("--eval -E", effect="execute", value="unknown"),
            Option("-C --directory", effect="chdir", value="text"),
        ),
    ),
    Program(
        "meson",
        always=1,
        unrated="-f -j -k -l",
        options=(Option("-C", effect="chdir", value="text"),),
    ),
    Program(
        "mix",
        network="deps.get deps.update hex.publish phx.server",
        always=2,
        subcommands=(Command("eval run", runs_code=True),),
    ),
    Program(
        "mvn",
        network="dependency:resolve dependency:go-offline deploy install",
        always=2,
        clusters=False,
        unrated="-f --file -P -pl --projects -t --toolchains -T --threads -D",
        options=(
            Option("-s --settings -gs", effect="execute", value="text"),
            Option("--global-settings", effect="execute", value="unknown"),
        ),
    ),
    Program("ng", always=2, subcommands=(Command("generate", always=3),)),
    Program(
        "ninja",
        always=1,
        unrated="-f -j -k -l",
        options=(Option("-C", effect="chdir", value="text"),),
    ),
    Program("nodemon", elsewhere="command", code_options="-x"),
    Program("npm-run-all run-p run-s turbowatch", elsewhere="command"),
    Program(
        "pylint",
        always=1,
        options=(
            Option("--init-hook", effect="execute", value="code"),
            Option("--load-plugins", effect="execute", value="text"),
        ),
    ),
    Program(
        "rails",
        network="s server",
        always=2,
        subcommands=(
            Command("db generate", always=3),
            Command("c console dbc dbconsole r runner", runs_code=True),
        ),
    ),
    Program(
        "rake",
        always=2,
        unrated="-f --rakefile -C --directory -N -I --gemfile --retry",
        options=(
            Option("-r", effect="execute", value="text"),
            Option("--execute -e -p -E --require", effect="execute", value="unknown"),
        ),
    ),
    Program("ruff", always=1, options=(Option("--output-file -o", effect="write", value="path"),)),
    Program(
        "rustc",
        options=(
            Option("-o", effect="write", value="path"),
            Option("-C -Z", effect="execute", value="text"),
        ),
    ),
    Program("sbt", always=2, runs_code=True),
    Program("swift", always=2, subcommands=(Command("repl run", runs_code=True),)),
    Program(
        "symfony",
        always=2,
        options=_PHP_SITE_OPTIONS,
        subcommands=(Command("console php", runs_code=True),),
    ),
    Program(
        "task",
        always=2,
        unrated="-t --taskfile -o --output -c --concurrency",
        options=(Option("-d --dir", effect="chdir", value="text"),),
    ),
    Program("tox", always=1, subcommands=(Command("exec", wrapper=Wrapper(), texts="-e"),)),
    Program(
        "wp",
        always=2,
        options=_PHP_SITE_OPTIONS,
        subcommands=(Command("eval eval-file shell", runs_code=True),),
    ),
)
