"""Version control."""

from agent.permission.programs.record import Command, Option, Program, Wrapper

_REPOSITORY_OPTIONS = (
    Option(
        "-R --repository --cwd --config --username --password --config-dir "
        "--config-option --at-op --at-operation --color --encoding",
        effect="unknown",
        value="text",
    ),
)

PROGRAMS = (
    Program(
        "gh",
        network="*",
        always=2,
        version="--version -V",
        options=(Option("-R --repo --hostname", effect="unknown", value="text"),),
        subcommands=(
            Command(
                "auth cache extension gist issue label pr project release repo ruleset "
                "run search secret variable workflow",
                always=3,
            ),
        ),
    ),
    Program(
        "git",
        network="clone fetch lfs ls-remote pull push submodule svn",
        always=2,
        version="--version -V version",
        syntax="git",
        options=(
            Option("-P --no-pager --no-optional-locks --literal-pathspecs --no-replace-objects"),
            Option("-C", effect="chdir", value="path"),
            Option(
                "-c --git-dir --work-tree --exec-path --config-env --namespace --super-prefix",
                effect="execute",
                value="text",
            ),
        ),
        shared_options=(
            Option(
                "--no-ext-diff --exclude-standard --output-indicator-new "
                "--output-indicator-old --output-indicator-context --stat --text --tags "
                "--track --topo-order --to --title"
            ),
            Option("--no-index", effect="read"),
            Option("--git-dir --work-tree", effect="chdir", value="path"),
            Option("--output", effect="write", value="path"),
            Option(
                "--ext-diff --open-files-in-pager --exec --upload-pack --receive-pack "
                "--exec-path --config-env --config --template --upload-archive --extcmd "
                "--tool --strategy-option",
                effect="execute",
                value="unknown",
            ),
            Option(
                "--textconv --filters --show-signature --contents --ignore-revs-file "
                "--exclude-from --exclude-per-directory --help --stdin --batch "
                "--batch-command --batch-check --pathspec-from-file --parseopt --sq-quote "
                "--unpacked --submodule --recurse-submodules",
                effect="unknown",
                value="unknown",
            ),
        ),
        subcommands=(
            Command(
                "annotate blame cat-file diff diff-files diff-index diff-tree log ls-files "
                "show status whatchanged",
                effect="read",
                operands="read",
            ),
            Command(
                "check-ignore cherry count-objects describe for-each-ref ls-tree merge-base "
                "name-rev range-diff rev-list rev-parse shortlog show-branch show-ref version",
                effect="read",
            ),
            Command(
                "grep",
                effect="read",
                operands="pattern",
                options=(Option("-O", effect="execute", value="unknown"),),
            ),
            Command("add", operands="read"),
            Command("branch", options=(Option("-M -C", explicit=True),)),
            Command("commit", options=(Option("-n", explicit=True),)),
            Command("switch", options=(Option("-C", explicit=True),)),
            Command("tag", options=(Option("-d", explicit=True),)),
            Command("apply checkout mv restore rm", effect="write", operands="change"),
            Command(
                "clone",
                effect="write",
                operands="copy",
                options=(Option("-u -c", effect="execute", value="text"),),
            ),
            Command("am init reset", effect="write"),
            Command("clean", effect="write", destructive=True),
            Command("config stash worktree", always=3, effect="write"),
            Command(
                "submodule",
                always=3,
                effect="write",
                subcommands=(
                    Command(
                        "foreach",
                        wrapper=Wrapper(joined=True),
                        options=(Option("-q --recursive --quiet"),),
                    ),
                ),
            ),
            Command(
                "bundle flow lfs maintenance notes reflog remote sparse-checkout subtree svn",
                always=3,
            ),
            Command(
                "fetch",
                effect="network",
                options=(Option("-u", effect="execute", value="unknown"),),
            ),
            Command("pull push", effect="network"),
            Command("archive format-patch", options=(Option("-o", effect="write", value="path"),)),
            Command("rebase", options=(Option("-x", effect="execute", value="code"),)),
            Command("bisect", always=3, subcommands=(Command("run", wrapper=Wrapper()),)),
            Command(
                "for-each-repo", wrapper=Wrapper(), options=(Option("--config", value="text"),)
            ),
            Command("daemon instaweb mergetool", effect="execute"),
            Command(
                "difftool",
                effect="execute",
                options=(Option("-x", effect="execute", value="code"),),
            ),
            Command("filter-branch", effect="execute", destructive=True),
            Command("filter-repo", destructive=True),
        ),
    ),
    Program(
        "glab",
        network="*",
        always=2,
        options=(Option("-R --repo --hostname", effect="unknown", value="text"),),
        subcommands=(Command("auth ci issue mr release repo", always=3),),
    ),
    Program("hg svn", always=2, options=_REPOSITORY_OPTIONS),
    Program(
        "hub",
        network="*",
        always=2,
        options=(Option("-R --repo --hostname", effect="unknown", value="text"),),
    ),
    Program(
        "jj",
        always=2,
        options=_REPOSITORY_OPTIONS,
        subcommands=(Command("bookmark config file git op operation workspace", always=3),),
    ),
)
