"""Version control."""

from dataclasses import replace

from agent.permission.programs.record import Command, Listing, Option, Program, Wrapper

_REPOSITORY_OPTIONS = (
    Option(
        "-R --repository --cwd --config --username --password --config-dir "
        "--config-option --at-op --at-operation --color --encoding",
        effect="unknown",
        value="text",
    ),
)

_SUBMODULES = Option("--ignore-submodules", effect="execute", value="joined", harmless="all dirty")
"""With another value git runs in submodules, with their configuration."""
_DIFF_OPTIONS = (
    Option(
        "-p -u -R -w -b -z -a -s -W --patch --no-patch --raw --patch-with-raw --patch-with-stat "
        "--stat --numstat --shortstat --dirstat --cumulative --dirstat-by-file --check --summary "
        "--name-only --name-status --compact-summary --binary --full-index --color --no-color "
        "--abbrev --no-abbrev --no-prefix --function-context --break-rewrites --find-renames "
        "--find-copies --find-copies-harder --irreversible-delete --no-renames --rename-empty "
        "--follow --no-follow --minimal --patience --histogram --ignore-all-space "
        "--ignore-space-change --ignore-space-at-eol --ignore-cr-at-eol --ignore-blank-lines "
        "--indent-heuristic --no-indent-heuristic --word-diff --color-words --color-moved "
        "--no-color-moved --relative --no-relative --text --exit-code --quiet --unified "
        "--pickaxe-all --pickaxe-regex --no-ext-diff "
        "--no-textconv --cached --staged --merge-base --ita-invisible-in-index -t -r --root"
    ),
    Option("-M -C -B -U -X -D", value="joined"),
    Option(
        "-S -G -l -I --stat-width --stat-name-width --stat-count --diff-filter --diff-algorithm "
        "--anchored --word-diff-regex --color-moved-ws --src-prefix --dst-prefix --line-prefix "
        "--ws-error-highlight --inter-hunk-context --rotate-to --skip-to --find-object "
        "--ignore-matching-lines --output-indicator-new --output-indicator-old "
        "--output-indicator-context",
        value="text",
    ),
    Option("-O", value="path"),
    _SUBMODULES,
)
_UNSTAGED_LISTING = Listing(
    needs="--name-only",
    keeps="--diff-filter -z -r -M -C -w -b --relative --no-relative --no-renames --find-renames "
    "--no-color --no-ext-diff",
    nul="-z",
    bare=True,
    tracked=True,
)
_DIFF_LISTING = replace(
    _UNSTAGED_LISTING,
    keeps=f"{_UNSTAGED_LISTING.keeps} --cached --staged --merge-base",
    bare=False,
    tracked=False,
)
_STATUS_LISTING = replace(_DIFF_LISTING, needs="--name-status", nul="", column="added")
_INDEX_LISTING = Listing(
    keeps="-c -d -m -u -x -z --cached --deleted --modified --exclude --full-name --error-unmatch "
    "--deduplicate",
    nul="-z",
    tracked=True,
)
_LOG_OPTIONS = (
    *_DIFF_OPTIONS,
    Option(
        "-m -c -g -i -E -F -P --oneline --graph --all --branches --tags --remotes --decorate "
        "--no-decorate --clear-decorations --source --use-mailmap --no-mailmap --full-diff "
        "--pretty --format --abbrev-commit --no-abbrev-commit --merges --no-merges "
        "--first-parent --reverse --date-order --author-date-order --topo-order --walk-reflogs "
        "--boundary --left-right --left-only --right-only --cherry --cherry-mark --cherry-pick "
        "--simplify-merges --simplify-by-decoration --full-history --dense --sparse "
        "--ancestry-path --show-pulls --no-walk --do-walk --relative-date --parents --children "
        "--notes --no-notes --no-expand-tabs --expand-tabs --log-size --cc --no-diff-merges "
        "--dd --regexp-ignore-case --extended-regexp --fixed-strings "
        "--perl-regexp --invert-grep --all-match --count --objects --timestamp --not --stdin "
        "--no-min-parents --no-max-parents --no-standard-notes --encoding --unpacked -h "
        "--reflog --merge --header --exclude-first-parent-only --no-commit-id"
    ),
    Option(
        "-n --max-count --skip --since --after --until --before --author --committer --grep "
        "--grep-reflog --date --glob --exclude --min-parents --max-parents --decorate-refs "
        "--decorate-refs-exclude --since-as-filter",
        value="text",
    ),
    # remerge makes objects of the merge that it repeats.
    Option(
        "--diff-merges",
        effect="write",
        value="text",
        harmless="off none on m first-parent 1 separate c combined cc dense-combined",
    ),
    Option("-L", value="path"),
)
_REF_OPTIONS = (
    Option("-i --ignore-case --color --no-color"),
    Option(
        "--sort --format --points-at --contains --no-contains --merged --no-merged", value="text"
    ),
)
_LISTS_REFS = "-l --list --contains --no-contains --merged --no-merged --points-at"
_CONFIG_OPTIONS = (
    Option(
        "-l --list --get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool "
        "--global --system --local --worktree --bool --int --path --bool-or-int --bool-or-str "
        "--expiry-date -z --null --includes --no-includes --show-origin --show-scope "
        "--fixed-value --no-type"
    ),
    Option("--type --default --blob", value="text"),
    Option("-f --file", value="path"),
)
_MESSAGE_OPTIONS = (
    Option(
        "-m --message -F --file --author --date --cleanup --trailer", effect="unknown", value="text"
    ),
)

PROGRAMS = (
    Program(
        "gh",
        network="*",
        always=2,
        unrated="-R --repo --hostname",
        groups="auth cache extension gist issue label pr project release repo ruleset run search "
        "secret variable workflow",
    ),
    Program(
        "git",
        network="clone fetch lfs ls-remote pull push submodule svn",
        always=2,
        version="--version -V version",
        syntax="git",
        flags="-P --no-pager --no-optional-locks --literal-pathspecs --no-replace-objects",
        executes="-c --git-dir --work-tree --exec-path --config-env --namespace --super-prefix",
        options=(Option("-C", effect="chdir", value="path"),),
        shared_options=(
            Option("--git-dir --work-tree", effect="chdir", value="path"),
            Option("--output", effect="write", value="path"),
            Option(
                "--ext-diff --open-files-in-pager --exec --upload-pack --receive-pack --exec-path "
                "--config-env --config --template --upload-archive --extcmd --tool "
                "--strategy-option",
                effect="execute",
                value="unknown",
            ),
            Option(
                "--textconv --filters --show-signature --text --tags --track --to --title",
                effect="unknown",
                value="unknown",
            ),
        ),
        groups="bundle flow lfs maintenance sparse-checkout subtree svn",
        subcommands=(
            Command(
                "diff",
                effect="read",
                operands="read",
                options=(*_DIFF_OPTIONS, Option("--no-index", reach="recursive")),
                listings=(_UNSTAGED_LISTING, _DIFF_LISTING, _STATUS_LISTING),
            ),
            Command(
                "log show whatchanged rev-list diff-files diff-index diff-tree",
                effect="read",
                operands="read",
                options=_LOG_OPTIONS,
                listings=(
                    replace(
                        _DIFF_LISTING,
                        keeps=f"{_DIFF_LISTING.keeps} -n -1 --format --pretty --max-count "
                        "--since --until --author --all --no-merges --first-parent --reverse",
                        empty="--format --pretty",
                    ),
                ),
            ),
            Command(
                "annotate blame",
                effect="read",
                operands="read",
                flags="-b -c -l -t -s -e -f -n -p -w --root --show-stats --progress --no-progress "
                "--show-name --show-number --porcelain --line-porcelain --show-email "
                "--color-lines --color-by-age --minimal --abbrev --first-parent",
                texts="-L --ignore-rev --date --since",
                paths="-S --ignore-revs-file --contents",
                options=(Option("-M -C", value="joined"),),
            ),
            Command("cat-file", effect="read", operands="read", flags="-e -p -t -s"),
            Command(
                "ls-files",
                effect="read",
                operands="read",
                listings=(
                    _INDEX_LISTING,
                    replace(
                        _INDEX_LISTING,
                        keeps=f"{_INDEX_LISTING.keeps} -o -i --others --ignored --exclude-standard",
                        tracked=False,
                    ),
                ),
                flags="-c -d -m -o -i -s -k -t -v -f -u -z --cached --deleted --modified --others "
                "--ignored --stage --killed --directory --eol --no-empty-directory --unmerged "
                "--exclude-standard --full-name --error-unmatch --abbrev --debug --deduplicate",
                texts="-x --exclude --with-tree --format",
                paths="-X --exclude-from",
            ),
            Command(
                "status",
                effect="read",
                operands="read",
                listings=(
                    Listing(
                        needs="-s --short --porcelain",
                        keeps="-u --untracked-files --no-renames",
                        column="added",
                    ),
                ),
                flags="-s -b -v -z --short --branch --show-stash --porcelain --long --verbose "
                "--untracked-files --ignored --column --no-column --ahead-behind "
                "--no-ahead-behind --renames --no-renames --find-renames --null",
                options=(Option("-u -M", value="joined"), _SUBMODULES),
            ),
            Command(
                "rev-parse",
                effect="read",
                flags="-q --quiet --verify --short --abbrev-ref --symbolic --all --branches "
                "--symbolic-full-name --tags --remotes --not --revs-only --no-revs --flags "
                "--no-flags --show-toplevel --git-dir --absolute-git-dir --git-common-dir "
                "--show-prefix --show-cdup --is-inside-work-tree --is-inside-git-dir "
                "--is-bare-repository --is-shallow-repository --show-superproject-working-tree "
                "--show-object-format --path-format --local-env-vars --disambiguate "
                "--end-of-options --since --until",
                texts="--default --git-path --prefix",
            ),
            Command(
                "shortlog",
                effect="read",
                flags="-s -n -c -e -w --summary --numbered --email --committer --all --branches "
                "--tags --remotes --merges --no-merges --first-parent --no-mailmap",
                texts="--group --since --until --after --before --author --grep --max-count",
            ),
            Command(
                "describe name-rev",
                effect="read",
                flags="--all --tags --long --first-parent --abbrev --exact-match --always --dirty "
                "--broken --contains --debug --name-only --undefined",
                texts="--candidates --match --exclude --refs",
            ),
            Command(
                "for-each-ref",
                effect="read",
                flags="-s -p --shell --perl --python --tcl",
                texts="--count --exclude",
                options=_REF_OPTIONS,
            ),
            Command(
                "ls-tree",
                effect="read",
                listings=(
                    Listing(
                        needs="--name-only", keeps="-r -t -d -z --full-name --full-tree", nul="-z"
                    ),
                ),
                flags="-d -r -t -l -z --long --name-only --name-status --object-only --full-name "
                "--full-tree --abbrev",
                texts="--format",
            ),
            Command(
                "cherry count-objects merge-base show-branch show-ref version check-ignore "
                "check-attr range-diff",
                effect="read",
                flags="-a -q -v -d -s -H -n -z --verbose --human-readable --all --octopus "
                "--independent --is-ancestor --fork-point --abbrev --quiet --tags --heads "
                "--branches --verify --head --dereference --hash --exists --color --no-color "
                "--list --current --topics --sparse --build-options --stdin --non-matching "
                "--no-index --cached --stat --oneline --left-only --right-only --no-patch "
                "--no-dual-color",
                texts="--creation-factor --source",
            ),
            Command(
                "hash-object",
                effect="read",
                operands="read",
                flags="--stdin --no-filters --literally",
                texts="-t",
            ),
            Command(
                "grep",
                effect="read",
                operands="pattern",
                listings=(
                    Listing(
                        needs="-l -L --files-with-matches --name-only --files-without-match",
                        keeps="-v -i -w -a -I -E -G -F -P -n -z -h -H -e --cached --invert-match "
                        "--ignore-case --word-regexp --extended-regexp --fixed-strings "
                        "--perl-regexp --full-name --null --and --or --not",
                        nul="-z --null",
                        tracked=True,
                    ),
                ),
                flags="-v -i -w -a -I -r -E -G -F -P -n -l -L -z -o -c -p -W -q -h -H --cached "
                "--invert-match --ignore-case --word-regexp --text --recursive --no-recursive "
                "--extended-regexp --basic-regexp --fixed-strings --perl-regexp --line-number "
                "--column --full-name --files-with-matches --name-only --files-without-match "
                "--null --only-matching --count --color --no-color --break --heading "
                "--show-function --function-context --and --or --not --quiet --all-match "
                "--exclude-standard --no-textconv",
                texts="-A -B -C -m --max-depth --context --before-context --after-context "
                "--threads --max-count",
                options=(
                    Option("--untracked --no-index --no-exclude-standard", reach="recursive"),
                    Option("-e", value="text", gives_pattern=True),
                    Option("-f", value="path", gives_pattern=True),
                    Option("-O", effect="execute", value="joined"),
                ),
            ),
            Command(
                "branch",
                effect="write",
                operands="none",
                reads_with=_LISTS_REFS,
                flags="-a -r -v -q -l --list --all --remotes --verbose --show-current --column "
                "--no-column --abbrev --no-abbrev --quiet",
                options=(*_REF_OPTIONS, Option("-M -C", effect="unknown", explicit=True)),
            ),
            Command(
                "tag",
                effect="write",
                operands="none",
                reads_with=f"-n {_LISTS_REFS}",
                flags="-l --list --column --no-column",
                options=(
                    *_REF_OPTIONS,
                    *_MESSAGE_OPTIONS,
                    Option("-d", effect="unknown", explicit=True),
                    Option("-n", value="joined"),
                ),
            ),
            Command(
                "remote",
                always=3,
                effect="read",
                operands="none",
                flags="-v --verbose",
                subcommands=(Command("get-url", effect="read", flags="--push --all"),),
            ),
            Command(
                "stash",
                always=3,
                effect="write",
                options=_MESSAGE_OPTIONS,
                subcommands=(
                    Command("list", effect="read", operands="text", options=_LOG_OPTIONS),
                    Command("show", effect="read", options=_DIFF_OPTIONS),
                    Command("push save store", effect="write", options=_MESSAGE_OPTIONS),
                ),
            ),
            Command(
                "reflog",
                always=3,
                effect="read",
                operands="text",
                options=_LOG_OPTIONS,
                subcommands=(
                    Command("show", effect="read", operands="text", options=_LOG_OPTIONS),
                    Command("list exists", effect="read"),
                    Command("expire delete drop write", effect="write"),
                ),
            ),
            Command(
                "worktree",
                always=3,
                effect="write",
                subcommands=(Command("list", effect="read", flags="-v -z --porcelain"),),
            ),
            Command(
                "config",
                always=3,
                effect="write",
                operands="one",
                reads_with="-l --list --get --get-all --get-regexp --get-urlmatch --get-color "
                "--get-colorbool",
                options=_CONFIG_OPTIONS,
                subcommands=(
                    Command(
                        "get",
                        effect="read",
                        flags="--all",
                        texts="--value --url",
                        options=_CONFIG_OPTIONS,
                    ),
                    Command("list", effect="read", options=_CONFIG_OPTIONS),
                    Command("edit set unset rename-section remove-section", effect="write"),
                ),
            ),
            Command(
                "commit", options=(*_MESSAGE_OPTIONS, Option("-n", effect="unknown", explicit=True))
            ),
            Command("merge", options=_MESSAGE_OPTIONS),
            Command("notes", always=3, options=_MESSAGE_OPTIONS),
            Command("add", operands="read"),
            Command("switch", options=(Option("-C", effect="unknown", explicit=True),)),
            Command("apply checkout mv restore rm", effect="write", operands="change"),
            Command("clone", effect="write", operands="copy", executes="-u -c"),
            Command("am init reset", effect="write"),
            Command("clean", effect="write", destructive=True),
            Command(
                "submodule",
                always=3,
                effect="write",
                subcommands=(
                    Command(
                        "foreach", wrapper=Wrapper(joined=True), flags="-q --recursive --quiet"
                    ),
                ),
            ),
            Command("fetch", effect="network", may_execute="-u"),
            Command("pull push", effect="network"),
            Command("archive format-patch", writes="-o"),
            Command("rebase", code="-x"),
            Command("bisect", always=3, subcommands=(Command("run", wrapper=Wrapper()),)),
            Command("for-each-repo", wrapper=Wrapper(), texts="--config"),
            Command("daemon instaweb mergetool", effect="execute"),
            Command("difftool", effect="execute", code="-x"),
            Command("filter-branch", effect="execute", destructive=True),
            Command("filter-repo", destructive=True),
        ),
    ),
    Program(
        "glab",
        network="*",
        always=2,
        unrated="-R --repo --hostname",
        groups="auth ci issue mr release repo",
    ),
    Program("hg svn", always=2, options=_REPOSITORY_OPTIONS),
    Program("hub", network="*", always=2, unrated="-R --repo --hostname"),
    Program(
        "jj",
        always=2,
        options=_REPOSITORY_OPTIONS,
        groups="bookmark config file git op operation workspace",
    ),
)
