"""Package managers."""

from agent.permission.programs.record import (
    VERSION_MANAGERS,
    Command,
    Option,
    Program,
    Wrapper,
    wrapping,
)

_PYTHON_PROJECT_OPTIONS = (
    Option("-C --directory", effect="chdir", value="text"),
    Option(
        "-P --project -p -e --env -c --config --manifest-path --data-dir --cache-dir",
        effect="unknown",
        value="text",
    ),
)
_NODE_WORKSPACE_OPTIONS = (
    Option(
        "--prefix -C --dir --workspace -w --filter -F --registry --userconfig "
        "--globalconfig --cache --loglevel --tag --otp --scope --reporter --cwd "
        "--modules-folder --mutex --network-timeout --store-dir --config "
        "--use-yarnrc",
        effect="unknown",
        value="text",
    ),
)
_NPM_EXEC_OPTIONS = (
    Option("-w -p --package --workspace", value="text"),
    Option("--yes --no"),
    Option("-c --call", value="code"),
)
_PIP_OPTIONS = (
    Option("--target", effect="write", value="unknown"),
    Option("--python", effect="execute", value="text"),
    Option("--config-settings --global-option --build-option", effect="execute", value="unknown"),
    Option("--proxy --cache-dir --log --timeout --retries --cert", effect="unknown", value="text"),
)

_NPM_LISTS = Command(
    "ls list la ll",
    effect="read",
    operands="text",
    flags="-a -l -g -p --all --long --global --parseable --json --link --unicode",
    texts="--depth --omit --include",
)
_PIP_LISTS = Command(
    "list show freeze check",
    effect="read",
    operands="text",
    flags="-l -f -v -q -e --local --user --files --verbose --quiet --editable --not-required",
    texts="--format --exclude",
)

PROGRAMS = (
    Program("apk carthage nuget pod rush", always=2, network="add fetch install restore update"),
    Program(
        "apt apt-get",
        network="build-dep dist-upgrade download full-upgrade install source update upgrade",
        always=2,
        unrated="-t --target-release -a",
        executes="-o --option -c --config-file",
    ),
    Program("apt-cache", always=2, unrated="-o --option -c --config-file -t --target-release -a"),
    Program(
        "brew",
        network="bundle fetch install reinstall search tap update upgrade",
        always=2,
        unrated="--prefix -D --installation",
        groups="bundle services tap",
    ),
    Program(
        "bundle",
        network="add install lock outdated update",
        always=2,
        unrated="-f --rakefile -C --directory -N -I -r --gemfile --retry",
        groups="config",
        subcommands=(
            Command("exec", always=3, wrapper=Wrapper(), flags="--keep-file-descriptors"),
        ),
    ),
    wrapping("bunx", network="*", wrapper=Wrapper(named=True), flags="--bun --silent"),
    Program("cabal", always=2, code_runners="exec repl"),
    Program(
        "cargo",
        runs_project="b bench build c check clippy doc r run t test",
        network="add b build c check clippy doc fetch install login owner publish search update "
        "vendor yank",
        always=2,
        unrated="--color -Z --target-dir --lockfile-path",
        folders="-C --manifest-path",
        executes="--config",
        groups="add install nextest run",
        code_runners="script",
        subcommands=(
            Command(
                "watch",
                wrapper=Wrapper(),
                flags="-c -q -n --clear --why --postpone --no-gitignore",
                texts="-x -w -i -d -B --exec --watch --ignore --delay --features",
                options=(Option("-s --shell", value="code"),),
            ),
        ),
    ),
    Program(
        "composer",
        runs_project="run run-script",
        network="create-project install outdated require search update",
        always=2,
        folders="-d --working-dir",
        groups="global run run-script",
        code_runners="exec",
    ),
    Program("corepack", runs_code=True),
    Program(
        "dnf yum",
        network="check-update download install makecache search update upgrade",
        always=2,
        unrated="--releasever --enablerepo --disablerepo -R",
        executes="-c --config",
        may_execute="--setopt",
        options=(Option("--installroot", effect="write", value="text"),),
    ),
    Program("dpkg", writes="--root --admindir", code="--pre-invoke --post-invoke"),
    Program("flatpak port", always=2, unrated="--prefix -D --installation"),
    Program(
        "gem",
        network="fetch install outdated push search update yank",
        always=2,
        may_execute="--editor --config-file -e",
    ),
    Program(
        "hatch",
        always=2,
        options=_PYTHON_PROJECT_OPTIONS,
        groups="env version",
        subcommands=(
            Command("run", always=3, wrapper=Wrapper()),
            Command("shell", runs_code=True, wrapper=Wrapper()),
        ),
    ),
    Program("lerna", always=2, options=_NODE_WORKSPACE_OPTIONS, code_runners="exec run"),
    Program(
        "npm",
        runs_project="restart run run-script start stop t test",
        network="access add audit ci create dev dist-tag exec i init install login org outdated "
        "owner ping preview profile publish search serve start team token up update view whoami x",
        always=2,
        version="--version -V -v",
        version_unless=VERSION_MANAGERS,
        syntax="npm",
        unrated="--dir --workspace -w --filter -F --registry --cache --loglevel --tag --otp "
        "--scope --reporter --cwd --modules-folder --mutex --network-timeout --store-dir --config "
        "--use-yarnrc",
        folders="--prefix -C",
        executes="--userconfig --globalconfig",
        may_execute="--script-shell --node-options --call -c",
        groups="access cache config dist-tag org owner pkg run run-script team token version view",
        code_runners="create explore init",
        subcommands=(
            _NPM_LISTS,
            Command("exec", always=3, wrapper=Wrapper(), options=_NPM_EXEC_OPTIONS),
            Command("x", wrapper=Wrapper(), options=_NPM_EXEC_OPTIONS),
        ),
    ),
    wrapping(
        "npx",
        wrapper=Wrapper(named=True),
        flags="-y -q --yes --no --no-install --quiet --ignore-existing",
        texts="-p --package",
        options=(Option("-c --call", value="code"),),
    ),
    Program(
        "nx",
        runs_project="*",
        always=2,
        options=_NODE_WORKSPACE_OPTIONS,
        groups="affected generate run run-many",
        code_runners="exec",
    ),
    Program("opam", always=2, code_runners="exec"),
    Program("pacman", always=2, unrated="-b --dbpath -r --root --config --cachedir --arch"),
    Program(
        "pdm",
        network="add install lock publish sync update",
        always=2,
        options=_PYTHON_PROJECT_OPTIONS,
        groups="cache config",
        subcommands=(Command("run", always=3, wrapper=Wrapper(), flags="-s -v", texts="-p"),),
    ),
    Program(
        "pip",
        network="download index install search wheel",
        always=2,
        version="--version -V",
        version_unless=VERSION_MANAGERS,
        options=_PIP_OPTIONS,
        groups="cache config index",
        subcommands=(_PIP_LISTS,),
    ),
    Program(
        "pip3",
        network="download index install search wheel",
        always=2,
        version="--version -V",
        version_unless=VERSION_MANAGERS,
        options=_PIP_OPTIONS,
        subcommands=(_PIP_LISTS,),
    ),
    Program(
        "pipenv",
        network="install lock sync update upgrade",
        subcommands=(Command("run shell", wrapper=Wrapper()),),
    ),
    Program(
        "pipx",
        network="inject install reinstall run upgrade",
        always=2,
        subcommands=(Command("run", wrapper=Wrapper(), flags="--quiet", texts="--spec --python"),),
    ),
    Program(
        "pnpm",
        runs_project="restart run start stop t test",
        network="add audit create dev dlx fetch i import install login outdated preview publish "
        "serve start up update",
        always=2,
        syntax="npm",
        unrated="--prefix --workspace -w --filter -F --registry --cache --loglevel --tag --otp "
        "--scope --reporter --cwd --modules-folder --mutex --network-timeout --store-dir "
        "--use-yarnrc",
        folders="--dir -C",
        executes="--userconfig --globalconfig --config",
        may_execute="--script-shell --node-options --call -c",
        groups="config env patch run store",
        code_runners="create",
        subcommands=(
            Command(
                "exec",
                always=3,
                wrapper=Wrapper(),
                flags="-r -c --parallel --recursive --shell-mode",
            ),
            Command("dlx", always=3, wrapper=Wrapper(), flags="-c --silent", texts="--package"),
        ),
    ),
    wrapping("pnpx", network="*"),
    Program(
        "poetry",
        network="add install lock publish search self source update",
        always=2,
        options=_PYTHON_PROJECT_OPTIONS,
        groups="cache config env self source",
        subcommands=(
            Command("run", always=3, wrapper=Wrapper()),
            Command("shell", runs_code=True, wrapper=Wrapper()),
        ),
    ),
    Program("rpm", writes="--root -r", code="--eval -E --pipe", executes="--define -D"),
    Program(
        "rye",
        network="add fetch install lock publish sync",
        always=2,
        options=_PYTHON_PROJECT_OPTIONS,
        groups="toolchain tools",
        subcommands=(Command("run", always=3, wrapper=Wrapper()),),
    ),
    Program("snap", always=2, unrated="--prefix -D --installation", groups="connections refresh"),
    Program("stack", always=2, code_runners="eval exec ghci runghc runhaskell script"),
    Program("turbo", runs_project="*", always=2, options=_NODE_WORKSPACE_OPTIONS, groups="run"),
    Program(
        "uv",
        network="add install lock publish python sync tool",
        always=2,
        unrated="--project --config-file --cache-dir --color --python -p",
        folders="--directory",
        groups="cache pip python self",
        subcommands=(
            Command(
                "run",
                always=3,
                wrapper=Wrapper(),
                flags="-q -n -v --quiet --frozen --locked --no-sync --isolated --active "
                "--all-extras --no-project --offline --no-dev --dev --exact --verbose "
                "--all-groups --all-packages --no-cache",
                texts="-p --extra --group --python --with --package --project --env-file "
                "--with-requirements --with-editable --no-group --only-group",
                folders="--directory",
            ),
            Command(
                "tool",
                always=3,
                runs_code=True,
                subcommands=(
                    Command(
                        "run", wrapper=Wrapper(), flags="-q --quiet", texts="--from --with --python"
                    ),
                ),
            ),
        ),
    ),
    wrapping(
        "uvx",
        network="*",
        wrapper=Wrapper(named=True),
        flags="-q -n --quiet --no-cache --isolated --offline",
        texts="-p --from --with --python --index-url",
    ),
    Program(
        "yarn",
        runs_project="restart run start stop test",
        network="add audit create dev dlx info init install login outdated preview publish serve "
        "start up upgrade",
        always=2,
        unrated="--prefix -C --dir --workspace -w --filter -F --registry --userconfig "
        "--globalconfig --cache --loglevel --tag --otp --scope --reporter --modules-folder "
        "--mutex --network-timeout --store-dir --config",
        folders="--cwd",
        executes="--use-yarnrc",
        groups="cache config npm plugin run set workspaces",
        code_runners="create node",
        subcommands=(
            Command("exec", always=3, wrapper=Wrapper()),
            Command("dlx", always=3, wrapper=Wrapper(), flags="-q --quiet", texts="-p --package"),
            Command("workspace", always=4),
        ),
    ),
    Program(
        "zypper",
        always=2,
        unrated="-c --config --installroot --releasever --enablerepo --disablerepo -R",
    ),
)
