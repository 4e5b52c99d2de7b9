"""Databases and migrations."""

from agent.permission.programs.record import Option, Program

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
    Program("mongosh", always=2, runs_code=True, may_execute="--eval --file -f"),
    Program(
        "mysql",
        always=2,
        runs_code=True,
        syntax="database",
        runs_input="escapes",
        may_execute="--pager --execute -e --defaults-file --init-command",
        options=(Option("--tee", effect="write", value="unknown"),),
    ),
    Program("prisma", always=2, options=_MIGRATION_OPTIONS, groups="db migrate"),
    Program(
        "psql",
        always=2,
        runs_code=True,
        version="--version -V",
        syntax="database",
        runs_input="escapes",
        may_execute="--command -c --file -f",
        options=(Option("--output -o --log-file -L", effect="write", value="unknown"),),
    ),
    Program(
        "redis-cli",
        always=2,
        unrated="-h -p -s -a -u -n -r -i --user --pass --tls-ca",
        may_execute="--eval",
        options=(Option("--rdb", effect="write", value="unknown"),),
    ),
    Program("sequelize", always=2, code_runners="db"),
    Program(
        "sqlite3",
        always=2,
        runs_code=True,
        version="--version -V",
        syntax="database",
        runs_input="escapes",
    ),
)
