"""Databases and migrations."""

from agent.permission.programs.record import Command, Option, Program

_MIGRATION_OPTIONS = (
    Option(
        "-c --config -n --name -x --config-dir --database-url --schema --knexfile --env",
        effect="unknown",
        value="text",
    ),
)

PROGRAMS = (
    Program("alembic diesel flyway knex liquibase", always=2, options=_MIGRATION_OPTIONS),
    Program("drizzle-kit sqlx", always=2),
    Program(
        "mongosh",
        always=2,
        runs_code=True,
        options=(Option("--eval --file -f", effect="execute", value="unknown"),),
    ),
    Program(
        "mysql",
        always=2,
        runs_code=True,
        syntax="database",
        runs_input="escapes",
        options=(
            Option("--tee", effect="write", value="unknown"),
            Option(
                "--pager --execute -e --defaults-file --init-command",
                effect="execute",
                value="unknown",
            ),
        ),
    ),
    Program(
        "prisma",
        always=2,
        options=_MIGRATION_OPTIONS,
        subcommands=(Command("db migrate", always=3),),
    ),
    Program(
        "psql",
        always=2,
        runs_code=True,
        version="--version -V",
        syntax="database",
        runs_input="escapes",
        options=(
            Option("--output -o --log-file -L", effect="write", value="unknown"),
            Option("--command -c --file -f", effect="execute", value="unknown"),
        ),
    ),
    Program(
        "redis-cli",
        always=2,
        unrated="-h -p -s -a -u -n -r -i --user --pass --tls-ca",
        options=(
            Option("--rdb", effect="write", value="unknown"),
            Option("--eval", effect="execute", value="unknown"),
        ),
    ),
    Program("sequelize", always=2, subcommands=(Command("db", runs_code=True),)),
    Program(
        "sqlite3",
        always=2,
        runs_code=True,
        version="--version -V",
        syntax="database",
        runs_input="escapes",
    ),
)
