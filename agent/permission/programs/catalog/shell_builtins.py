"""Builtins of the shell."""

from agent.permission.programs.record import Option, Program, Wrapper, printer, wrapping

PROGRAMS = (
    Program(
        ". alias bind compgen complete compopt dirs enable export fc getopts hash history local "
        "mapfile readarray readonly shopt source unalias",
        builtin=True,
        changes_shell=True,
    ),
    Program(": break continue exit return shift", effect="read", operands="text", builtin=True),
    Program("[", syntax="test", builtin=True),
    Program("bg caller disown eval fg logout suspend times trap ulimit", builtin=True),
    wrapping("builtin", builtin=True),
    Program("cd pushd", effect="read", operands="folders", syntax="state", builtin=True),
    wrapping(
        "command",
        effect="read",
        syntax="command",
        builtin=True,
        wrapper=Wrapper(inert=True),
        flags="-p",
    ),
    Program("declare let typeset unset", builtin=True, changes_shell=True, evaluates_names=True),
    printer("echo", syntax="echo", builtin=True),
    wrapping("exec", builtin=True, flags="-c -l", texts="-a"),
    printer("false true", builtin=True),
    Program(
        "jobs",
        effect="read",
        operands="text",
        builtin=True,
        flags="-l -p -r -s",
        options=(Option("-x", effect="execute"),),
    ),
    Program("kill", exact=True, destructive=True, builtin=True),
    Program("popd set", effect="read", operands="text", syntax="state", builtin=True),
    printer("printf", syntax="test", builtin=True, evaluates_names=True),
    Program("pwd", always=1, effect="read", operands="none", builtin=True, flags="-L -P"),
    Program(
        "read", effect="read", operands="text", syntax="state", builtin=True, evaluates_names=True
    ),
    printer("test", syntax="test", builtin=True),
    printer("type", builtin=True, flags="-a -f -p -t -P"),
    Program("umask", effect="read", operands="none", builtin=True, flags="-S"),
    Program("wait", effect="read", operands="text", builtin=True, evaluates_names=True),
)
