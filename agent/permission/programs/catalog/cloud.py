"""Cloud services, infrastructure and secrets."""

from agent.permission.programs.record import Command, Option, Program, Wrapper

_HOSTING_OPTIONS = (
    Option(
        "--cwd -t --token -S --scope -A --local-config -Q --global-config "
        "--project -P -c --config --site -s --auth --workdir --project-ref -e "
        "--env",
        effect="unknown",
        value="text",
    ),
)
_FLY_OPTIONS = (
    Option(
        "-a --app -c --config -t --access-token -o --org -r --remote",
        effect="unknown",
        value="text",
    ),
)

PROGRAMS = (
    Program("ansible ansible-console salt", elsewhere="command"),
    Program(
        "ansible-galaxy",
        always=2,
        unrated="-s --server --token --api-key -address -namespace -ca-cert -region -http-addr "
        "-token",
    ),
    Program("ansible-lint tflint", always=1),
    Program(
        "aws",
        network="*",
        always=2,
        unrated="--profile --region --output --query --ca-bundle --color --cli-read-timeout "
        "--cli-connect-timeout",
        options=(Option("--endpoint-url", effect="network", value="text"),),
        groups="cloudformation dynamodb ecr ecs eks iam lambda logs rds s3 sns sqs ssm sts",
        subcommands=(Command("ec2", always=3, groups="wait"),),
    ),
    Program(
        "aws-vault",
        subcommands=(
            Command(
                "exec",
                wrapper=Wrapper(operands_before=1),
                flags="-n -s --no-session --server",
                texts="-d --duration",
            ),
        ),
    ),
    Program(
        "az",
        network="*",
        always=2,
        unrated="--subscription --output -o --query --resource-group -g",
        groups="account acr functionapp group vm webapp",
        subcommands=(Command("ad aks keyvault monitor network role sql storage", always=4),),
    ),
    Program("cdk sam serverless sls sst", always=2),
    Program("chamber", subcommands=(Command("exec", wrapper=Wrapper(operands_before=1)),)),
    Program(
        "doctl",
        always=2,
        unrated="-t --access-token -c --config --context -o --output -u --api-url",
        groups="apps registry",
        subcommands=(Command("compute databases kubernetes", always=4),),
    ),
    Program(
        "doppler",
        subcommands=(
            Command(
                "run",
                wrapper=Wrapper(),
                texts="-p -c --project --config",
                options=(Option("--command", value="code"),),
            ),
        ),
    ),
    Program(
        "dotenv",
        wrapper=Wrapper(named=True),
        flags="-q -o",
        texts="-e -f -p -c",
        subcommands=(Command("run", wrapper=Wrapper()),),
    ),
    Program("dotenvx", subcommands=(Command("run", wrapper=Wrapper(), flags="-q", texts="-f -k"),)),
    Program(
        "firebase",
        network="*",
        always=2,
        options=_HOSTING_OPTIONS,
        groups="emulators functions hosting",
    ),
    Program(
        "fly flyctl",
        always=2,
        options=_FLY_OPTIONS,
        groups="apps machine secrets volumes",
        code_runners="ssh",
    ),
    Program(
        "gcloud",
        network="*",
        always=2,
        unrated="--project --account --configuration --zone --region --format --filter "
        "--verbosity --impersonate-service-account --billing-project",
        groups="auth config",
        subcommands=(
            Command(
                "compute",
                always=4,
                subcommands=(Command("ssh", wrapper=Wrapper(operands_before=1)),),
            ),
            Command("container functions iam projects run services sql storage", always=4),
        ),
    ),
    Program(
        "heroku",
        network="*",
        always=2,
        options=_FLY_OPTIONS,
        groups="addons apps config pg",
        code_runners="ps:exec",
        subcommands=(
            Command("run", wrapper=Wrapper(), flags="-x", texts="-a -s"),
            Command("local:run", wrapper=Wrapper(), texts="-e -p"),
        ),
    ),
    Program(
        "infisical",
        subcommands=(
            Command(
                "run",
                wrapper=Wrapper(),
                texts="--env --path",
                options=(Option("--command", value="code"),),
            ),
        ),
    ),
    Program("netlify vercel", network="*", always=2, options=_HOSTING_OPTIONS),
    Program(
        "op",
        subcommands=(Command("run", wrapper=Wrapper(), flags="--no-masking", texts="--env-file"),),
    ),
    Program(
        "pulumi",
        always=2,
        destructive_words="delete destroy rm prune down",
        unrated="-s --stack --color -v --verbose",
        folders="-C --cwd",
        groups="config plugin stack",
    ),
    Program("puppet", code="--execute -e"),
    Program("railway", always=2, options=_HOSTING_OPTIONS, code_runners="run shell ssh"),
    Program("stripe", always=2, groups="customers events listen"),
    Program("supabase", always=2, options=_HOSTING_OPTIONS, groups="db functions migration"),
    Program(
        "terraform",
        network="apply destroy get import init plan refresh",
        always=2,
        destructive_words="delete destroy rm prune down",
        clusters=False,
        folders="-chdir",
        may_execute="-plugin-dir",
        groups="providers state workspace",
        code_runners="console",
    ),
    Program("terragrunt", always=2, folders="-chdir"),
    Program(
        "tofu",
        always=2,
        destructive_words="delete destroy rm prune down",
        folders="-chdir",
        groups="providers state workspace",
    ),
    Program(
        "wrangler",
        network="*",
        always=2,
        options=_HOSTING_OPTIONS,
        groups="d1 pages r2 secret",
        subcommands=(Command("kv", always=4),),
    ),
)
