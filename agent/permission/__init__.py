"""Permissions: whether a call runs, asks the user, or is denied.

A command asks unless it is proven to change nothing: no list of dangerous commands decides. The
path of a command line such as ``git push``:

- ``shell.analysis.command_needs`` parses it (``syntax``) and walks its commands (``shell.walker``);
- ``shell.command_needs.Commands`` decides for each: allowed if ``programs.read_only`` proves from
  the program's record in ``programs.catalog`` that it only reads, else *ask*;
- ``service.PermissionService.ask`` applies the rules (``rules.evaluate``), asks the user where they
  say so, and returns the answer to the waiting tool.
"""
