"""What a command is called when flags stand inside its name (spec 4, M7): ``npm --prefix web
publish`` is ``npm publish``.

Deny rules look at these names, nothing else: what is allowed or offered is matched as it is
written. A flag that is not known is read both ways, with and without a value, so that none of
them hides what runs.
"""

import posixpath
import re
from collections.abc import Sequence

from agent.permission.programs.interpreters import TAKING
from agent.permission.syntax.lexicon import names
from agent.permission.syntax.words import Word, as_written, literal_word

_TABLE = """
npm pnpm yarn bun npx lerna nx turbo: --prefix -C --dir --workspace -w --filter -F --registry
    --userconfig --globalconfig --cache --loglevel --tag --otp --scope --reporter --cwd
    --modules-folder --mutex --network-timeout --store-dir --config --use-yarnrc
cargo: --manifest-path --config --color -Z --target-dir --lockfile-path -C
docker podman nerdctl: -H --host -c --context --config -l --log-level --tlscacert --tlscert
    --tlskey --url --connection --identity --root --runroot --storage-driver -f --file -p
    --project-name --profile --env-file --project-directory --progress --parallel --ansi -n
    --namespace
kubectl oc k9s argocd flux istioctl kustomize: -n --namespace --context --cluster --user
    --kubeconfig -s --server --as --as-group --token --request-timeout --certificate-authority
    --client-key --client-certificate -f --filename -o --output -l --selector
helm: -n --namespace --kube-context --kubeconfig --kube-token --kube-apiserver --registry-config
    --repository-cache --repository-config
minikube kind k3d: -p --profile --name --kubeconfig -c --cluster
terraform tofu terragrunt: -chdir
pulumi: -C --cwd -s --stack --color -v --verbose
aws: --profile --region --output --endpoint-url --query --ca-bundle --color --cli-read-timeout
    --cli-connect-timeout
gcloud: --project --account --configuration --zone --region --format --filter --verbosity
    --impersonate-service-account --billing-project
az: --subscription --output -o --query --resource-group -g
doctl: -t --access-token -c --config --context -o --output -u --api-url
gh glab hub: -R --repo --hostname
fly flyctl heroku: -a --app -c --config -t --access-token -o --org -r --remote
vercel netlify wrangler firebase supabase railway: --cwd -t --token -S --scope -A --local-config
    -Q --global-config --project -P -c --config --site -s --auth --workdir --project-ref -e
    --env
pip pip3: --proxy --cache-dir --log --timeout --retries --python --cert
uv: --directory --project --config-file --cache-dir --color --python -p
poetry pdm hatch rye pixi: -C --directory -P --project -p -e --env -c --config --manifest-path
    --data-dir --cache-dir
conda mamba micromamba: -n --name -p --prefix -r --root-prefix
go: -C
rustup: -v
mvn: -f --file -P -pl --projects -s --settings -gs -t --toolchains -T --threads -D
gradle gradlew: -p --project-dir -b --build-file -c --settings-file -g -I -P -D -x
    --gradle-user-home --init-script --max-workers --console
make gmake: -C --directory -f --file --makefile -I --include-dir -o --old-file -W --what-if
just: -f --justfile -d --working-directory --shell --set --color --dotenv-path
task: -t --taskfile -d --dir -o --output -c --concurrency
rake bundle: -f --rakefile -C --directory -N -I -r --gemfile --retry
composer: -d --working-dir
dotnet: --roll-forward --fx-version --additionalprobingpath
systemctl journalctl: -H --host -M --machine -t --type -p --property -n --lines -o --output
    --root --state
apt apt-get apt-cache: -o --option -c --config-file -t --target-release -a
dnf yum zypper: -c --config --installroot --releasever --enablerepo --disablerepo -R
pacman: -b --dbpath -r --root --config --cachedir --arch
brew port snap flatpak: --prefix -D --installation
nix: --option -I --store --eval-store -f --file
hg svn jj: -R --repository --cwd --config --username --password --config-dir --config-option
    --at-op --at-operation --color --encoding
ansible-galaxy vault consul nomad: -s --server --token --api-key -address -namespace -ca-cert
    -region -http-addr -token
redis-cli: -h -p -s -a -u -n -r -i --user --pass --tls-ca
tmux: -L -S -f -c -T
bazel buck2: --output_base --output_user_root --bazelrc --isolation-dir
cmake ninja meson: -C -f -j -k -l
wp drush symfony artisan: --path --url --ssh --http --user --root -r --uri -l --env
ip: -n -netns -f -family -b -batch -rcvbuf
flutter dart: -d --device-id --packages
mise asdf: -C --cd -E --env -j --jobs
alembic flyway liquibase diesel prisma knex: -c --config -n --name -x --config-dir
    --database-url --schema --knexfile --env
"""
"""Programs, and those of their flags before or inside the name that take the next word. From the
manuals."""


def _flags() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for entry in _TABLE.strip().replace("\n    ", " ").splitlines():
        programs, flags = entry.split(": ")
        found |= dict.fromkeys(programs.split(), names(flags))
    return found


VALUE_FLAGS = _flags()
"""The flags that take the next word, by program."""

LISTED = frozenset({*VALUE_FLAGS, "corepack", "python", "pypy"})
"""Programs that this module has a word on."""

ALONE = names("""
-v -vv -vvv -V --verbose -q --quiet -s --silent --debug -d --json --yes -y --no-color --color
--help -h --version -D -r --recursive -g --global --offline --locked --frozen -i --ignore-case
--no-input -n --dry-run --force -f --user --system --no-interaction --no-progress --stack-trace
""")
"""Flags that mostly stand alone; for a program that gives one a value its own entry counts."""

_MOST_WORDS = 3
_MOST_READINGS = 24
_MOST_STEPS = 5_000
"""Places that are looked at in one command; no two readings meet in one of them twice."""


def called(base: str, words: Sequence[Word]) -> tuple[str, ...]:
    """The names that *base* with the arguments *words* may go by, beside the one it has.

    Each is the name, of up to three words, without the flags inside, and all that follows.
    ``python -m pip`` is ``pip``, and ``corepack pnpm`` is ``pnpm``.
    """
    if base == "corepack":
        return _in_place(words)
    if re.fullmatch(r"(python|pypy)[\d.]*", base):
        taking = False
        for at, word in enumerate(words):
            if not taking and re.fullmatch(r"-[BEIOPsSuq]*m", word.text):
                return _in_place(words[at + 1 :])
            if not taking and not word.text.startswith("-"):
                return ()
            taking = not taking and word.text[-1] in TAKING["python"]
    return _without_flags(base, words) if base in VALUE_FLAGS else ()


def _in_place(words: Sequence[Word]) -> tuple[str, ...]:
    if not words:
        return ()
    base = posixpath.basename(words[0].text)
    return (as_written((literal_word(base), *words[1:])), *_without_flags(base, words[1:]))


def _without_flags(base: str, words: Sequence[Word]) -> tuple[str, ...]:
    texts = [word.text for word in words]
    found: dict[str, None] = {}
    open_readings: list[tuple[int, tuple[str, ...]]] = [(0, (base,))]
    seen: set[tuple[int, tuple[str, ...]]] = set()
    while open_readings and len(found) < _MOST_READINGS and len(seen) < _MOST_STEPS:
        at, name = here = open_readings.pop()
        if here in seen:
            continue
        seen.add(here)
        if at >= len(texts) or texts[at] == "--":
            rest = texts[at + 1 :]
            found[" ".join([*name, *rest])] = None
            continue
        text = texts[at]
        if text.startswith("-") and len(text) > 1:
            open_readings += [(at + step, name) for step in flag_steps(base, text)]
        elif text.startswith("+") and base in ("cargo", "rustup"):
            open_readings.append((at + 1, name))
        else:
            found[" ".join([*name, *texts[at:]])] = None
            if len(name) < _MOST_WORDS:
                open_readings.append((at + 1, (*name, text)))
    written = " ".join([base, *texts])
    return tuple(one for one in found if one != written)


def flag_steps(base: str, flag: str) -> tuple[int, ...]:
    """How many words *flag* takes up, in each reading."""
    taking = VALUE_FLAGS.get(base, frozenset())
    name, joined, _ = flag.partition("=")
    if joined:
        return (1,)
    if name in taking:
        return (2,)
    short = name[:2]
    if not name.startswith("--") and len(name) > 2 and short in taking:
        return (1,)  # joined to its letter: -nprod, -C/there
    if name in ALONE or re.fullmatch(r"--no-[\w-]+", name):
        return (1,)
    return (1, 2)
