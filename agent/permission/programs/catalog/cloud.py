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
        subcommands=(
            Command(
                "cloudformation dynamodb ecr ecs eks iam lambda logs rds s3 sns sqs ssm sts",
                always=3,
            ),
            Command("ec2", always=3, subcommands=(Command("wait", always=4),)),
        ),
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
        subcommands=(
            Command("account acr functionapp group vm webapp", always=3),
            Command("ad aks keyvault monitor network role sql storage", always=4),
        ),
    ),
    Program("cdk sam serverless sls sst", always=2),
    Program("chamber", subcommands=(Command("exec", wrapper=Wrapper(operands_before=1)),)),
    Program(
        "doctl",
        always=2,
        unrated="-t --access-token -c --config --context -o --output -u --api-url",
        subcommands=(
            Command("compute databases kubernetes", always=4),
            Command("apps registry", always=3),
        ),
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
        subcommands=(Command("emulators functions hosting", always=3),),
    ),
    Program(
        "fly flyctl",
        always=2,
        options=_FLY_OPTIONS,
        subcommands=(
            Command("apps machine secrets volumes", always=3),
            Command("ssh", runs_code=True),
        ),
    ),
    Program(
        "gcloud",
        network="*",
        always=2,
        unrated="--project --account --configuration --zone --region --format --filter "
        "--verbosity --impersonate-service-account --billing-project",
        subcommands=(
            Command(
                "compute",
                always=4,
                subcommands=(Command("ssh", wrapper=Wrapper(operands_before=1)),),
            ),
            Command("container functions iam projects run services sql storage", always=4),
            Command("auth config", always=3),
        ),
    ),
    Program(
        "heroku",
        network="*",
        always=2,
        options=_FLY_OPTIONS,
        subcommands=(
            Command("addons apps config pg", always=3),
            Command("ps:exec", runs_code=True),
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
        options=(Option("-C --cwd", effect="chdir", value="text"),),
        subcommands=(Command("config plugin stack", always=3),),
    ),
    Program("puppet", options=(Option("--execute -e", effect="execute", value="code"),)),
    Program(
        "railway",
        always=2,
        options=_HOSTING_OPTIONS,
        subcommands=(Command("run shell ssh", runs_code=True),),
    ),
    Program("stripe", always=2, subcommands=(Command("customers events listen", always=3),)),
    Program(
        "supabase",
        always=2,
        options=_HOSTING_OPTIONS,
        subcommands=(Command("db functions migration", always=3),),
    ),
    Program(
        "terraform",
        network="apply destroy get import init plan refresh",
        always=2,
        destructive_words="delete destroy rm prune down",
        clusters=False,
        options=(
            Option("-plugin-dir", effect="execute", value="unknown"),
            Option("-chdir", effect="chdir", value="text"),
        ),
        subcommands=(
            Command("providers state workspace", always=3),
            Command("console", runs_code=True),
        ),
    ),
    Program("terragrunt", always=2, options=(Option("-chdir", effect="chdir", value="text"),)),
    Program(
        "tofu",
        always=2,
        destructive_words="delete destroy rm prune down",
        options=(Option("-chdir", effect="chdir", value="text"),),
        subcommands=(Command("providers state workspace", always=3),),
    ),
    Program(
        "wrangler",
        network="*",
        always=2,
        options=_HOSTING_OPTIONS,
        subcommands=(Command("kv", always=4), Command("d1 pages r2 secret", always=3)),
    ),
)
