"""How many words name a command (spec 3, B5; spec 4, M7): ``git status``, ``npm run build``.

The longest prefix in the table decides. Only programs that people approve by their
subcommand stand here; for all others see ``offered``.
"""

import re
from collections.abc import Sequence

from agent.permission.syntax.lexicon import names
from agent.permission.syntax.words import Word

_ONE = """
ls cat head tail wc pwd echo printf grep egrep fgrep rg ag ack find fd sort uniq cut tr nl rev tac
comm diff cmp paste join fold column expand md5sum sha1sum sha256sum sha512sum cksum basename
dirname realpath readlink stat file du df tree date uname whoami id groups hostname which type
uptime nproc arch tty seq sleep true false test jq yq xxd hexdump od strings touch mkdir ps top
free lsof lscpu pytest tox nox ruff black isort flake8 pylint mypy pyright basedpyright bandit
coverage eslint prettier tsc jest vitest mocha ava webpack rollup vite esbuild parcel biome oxlint
stylelint rustfmt gofmt golint golangci-lint staticcheck clang-format clang-tidy shellcheck shfmt
hadolint yamllint markdownlint ctest ninja meson phpunit phpstan psalm rspec rubocop swiftlint
ktlint scalafmt ansible-lint tflint actionlint codespell pre-commit pandoc hugo jekyll mkdocs
sphinx-build doxygen tokei cloc scc hyperfine bat exa eza delta
"""

_TWO = """
git hg svn jj npm pnpm yarn bun deno pip pip3 pipx uv poetry pdm hatch rye conda mamba pixi cargo
rustup go gradle gradlew mvn ant sbt lein mix rebar3 stack cabal dune opam dotnet nuget swift pod
carthage flutter dart composer artisan bundle gem rails rake make just task cmake bazel buck2
docker podman nerdctl buildah skopeo kubectl oc helm k9s kind minikube k3d skaffold kustomize argocd
flux istioctl terraform tofu terragrunt pulumi cdk sam serverless sls sst packer vagrant nomad
consul vault ansible-galaxy aws gcloud az doctl heroku fly flyctl vercel netlify wrangler firebase
supabase railway gh glab hub systemctl journalctl service launchctl apt apt-get apt-cache dnf yum
zypper pacman apk brew port snap flatpak nix nvm fnm volta asdf mise pyenv rbenv nodenv jenv sdk nx
turbo lerna rush ng vue next nuxt astro gatsby expo ionic cordova prisma drizzle-kit sequelize
knex alembic flyway liquibase diesel sqlx wp drush symfony tmux openssl ip nmcli ufw redis-cli
psql mysql mongosh sqlite3 protoc buf grpcurl stripe
"""

_THREE = {
    "git": "remote stash submodule worktree bisect notes reflog bundle lfs flow subtree svn config "
    "maintenance sparse-checkout",
    "npm": "run run-script exec view config cache access dist-tag org owner team token version pkg",
    "pnpm": "run exec dlx store config env patch",
    "yarn": "run exec dlx workspace workspaces config cache plugin set npm",
    "bun": "run x pm",
    "deno": "task run",
    "pip": "cache config index",
    "uv": "pip run tool python cache self",
    "poetry": "run env config cache source self",
    "pdm": "run config cache",
    "hatch": "run env version",
    "rye": "run tools toolchain",
    "conda": "env config",
    "mamba": "env config",
    "pixi": "run global task",
    "cargo": "add run install nextest",
    "rustup": "component target toolchain override",
    "go": "mod work tool",
    "dotnet": "tool nuget ef sln workload",
    "bundle": "exec config",
    "composer": "run run-script global",
    "docker": "compose builder buildx container context image manifest network plugin secret "
    "service stack swarm system trust volume",
    "podman": "compose container image machine network pod secret system volume generate",
    "nerdctl": "compose container image network volume",
    "kubectl": "rollout config auth certificate set top create get describe apply delete",
    "oc": "adm auth get describe",
    "helm": "repo plugin registry dependency get show",
    "minikube": "addons config image",
    "kind": "create delete get",
    "terraform": "workspace state providers",
    "tofu": "workspace state providers",
    "pulumi": "stack config plugin",
    "vault": "kv auth secrets policy token",
    "consul": "kv acl",
    "gh": "pr issue repo release run workflow auth gist label secret variable cache project "
    "ruleset search extension",
    "argocd": "app repo cluster proj account cert",
    "nomad": "job node alloc deployment namespace var volume acl operator",
    "jj": "git bookmark operation op workspace config file",
    "glab": "mr issue repo release ci auth",
    "aws": "s3 ec2 iam lambda ecs eks ecr rds sqs sns logs cloudformation sts ssm dynamodb",
    "gcloud": "compute container projects config iam auth run functions storage services sql",
    "az": "vm group aks acr account storage webapp network functionapp keyvault",
    "doctl": "compute kubernetes apps databases registry",
    "fly": "apps secrets volumes machine",
    "flyctl": "apps secrets volumes machine",
    "heroku": "config pg apps addons",
    "wrangler": "kv r2 d1 pages secret",
    "supabase": "db functions migration",
    "firebase": "functions hosting emulators",
    "brew": "services bundle tap",
    "snap": "connections refresh",
    "nix": "flake profile store develop",
    "ip": "addr link netns route neigh rule",
    "nmcli": "connection device",
    "openssl": "req x509 rsa s_client",
    "ng": "generate",
    "nx": "run run-many affected generate",
    "turbo": "run",
    "prisma": "migrate db",
    "rails": "generate db",
    "mise": "run exec settings",
    "asdf": "plugin",
    "stripe": "customers events listen",
}

_FOUR = {
    "yarn": "workspace",
    "gcloud": "compute container sql iam storage functions run projects services",
    "az": "network storage sql keyvault aks role ad monitor",
    "doctl": "compute kubernetes databases",
    "wrangler": "kv",
    "docker": "buildx/imagetools trust/key trust/signer",
    "aws": "ec2/wait",
}
"""Groups in groups: four words tell what is done."""

EXACT = names(
    "rm rmdir dd mkfs kill killall pkill chmod chown chgrp shutdown reboot curl wget mv cp ln tee "
    "truncate install rsync scp sftp tar unzip zip patch shred sed awk gawk mawk nawk vi vim nvim "
    "emacs nano less more man python python3 node ruby perl php lua bash sh zsh dash fish ksh "
    "xargs crontab at"
)
"""Programs whose every argument matters: only the exact line is offered."""


EXACT_USES = {
    name: names(uses)
    for name, uses in {
        "go": "run tool generate", "rails": "runner r console c dbconsole dbc",
        "mix": "run eval", "artisan": "tinker", "yarn": "node create", "npm": "init create explore",
        "pnpm": "create", "bun": "create", "drush": "php:eval php-eval ev eval php:script php:cli",
        "wp": "eval eval-file shell", "stack": "exec runghc runhaskell ghci script eval",
        "cabal": "exec repl", "dune": "exec utop", "opam": "exec", "swift": "run repl",
        "dotnet": "run exec script fsi", "lein": "run repl exec", "nx": "exec", "lerna": "exec run",
        "fly": "ssh", "flyctl": "ssh", "composer": "exec", "hatch": "shell", "poetry": "shell",
        "symfony": "php console", "heroku": "ps:exec", "nix": "develop shell run eval repl",
        "terraform": "console", "railway": "run shell ssh", "sequelize": "db", "uv": "tool",
        "cargo": "script", "julia": "", "psql": "", "mysql": "", "mongosh": "", "sqlite3": "",
        "sbt": "", "openssl": "", "corepack": "", "jenv": "exec",
    }.items()
}  # fmt: skip
"""Subcommands that run any code or program, by program (all of it where none stands): their
exact line is all that is offered."""


def runs_anything(texts: Sequence[str]) -> bool:
    """Whether the subcommand may run any code: its exact line is all that is offered."""
    uses = EXACT_USES.get(texts[0])
    return uses is not None and (not uses or (len(texts) > 1 and texts[1] in uses))


def _table() -> dict[tuple[str, ...], int]:
    table: dict[tuple[str, ...], int] = {(name,): 1 for name in _ONE.split()}
    table |= {(name,): 2 for name in _TWO.split()}
    for name, subcommands in _THREE.items():
        table |= {(name, subcommand): 3 for subcommand in subcommands.split()}
    for program, subcommands in _FOUR.items():
        for words in subcommands.split():
            table[(program, *words.split("/"))] = 4
    return table


ARITY = _table()
"""Words of the name by the longest prefix that stands here."""

LISTED = EXACT | {first for first, *_ in ARITY} | set(EXACT_USES)
"""Programs that this module has a word on."""

_VARIES = re.compile(r"[*?\n]|^[~$]")
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9]*([-:.][a-z0-9]+)*")


def arity(words: Sequence[str]) -> int:
    """How many words name a command that begins with *words*, which may be fewer; 1 for a
    program that is not in the table."""
    for length in (3, 2, 1):
        found = ARITY.get(tuple(words[:length]))
        if found is not None and len(words) >= length:
            return found
    return 1


def arity_of(program: str) -> int:
    """How many words name a use of *program*; 1 if it has no subcommands here."""
    return ARITY.get((program,), 1)


def offered(words: Sequence[Word], *, exact_only: bool = False) -> str | None:
    """The pattern offered for "always", None where none may be (security facts, section 8).

    It is a literal prefix that ends before the first flag, with `` *``; else the exact line.
    """
    texts = [word.text for word in words]
    exact_only = exact_only or "/" in texts[0] or runs_anything(texts)
    known = (texts[0],) in ARITY and texts[0] not in EXACT
    if not exact_only and texts[0] not in EXACT:
        length = arity(texts) if known else 2
        if known and len(texts) < length:
            # A bare group such as ``git stash``: a prefix would cover all that is below it.
            return " ".join(texts) if all(word.literal for word in words) else None
        prefix = words[:length]
        usable = (known or len(words) > 2) and all(
            word.literal and (at == 0 or _SUBCOMMAND.fullmatch(word.text))
            for at, word in enumerate(prefix)
        )
        if usable:
            return " ".join(texts[:length]) + " *"
        if known and ARITY[texts[0],] > 1:
            return None
    exact = " ".join(texts)
    # A variable holds something else in the next line.
    fixed = not _VARIES.search(exact) and all(word.literal and not word.parts for word in words)
    return exact if fixed else None
