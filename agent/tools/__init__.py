"""The tools, one module and one text file each.

A call takes one path: ``registry`` finds the tool, ``pipeline`` checks the arguments, lets the tool
plan, asks for permission, runs it and truncates the output. The packages hold what tools share:
``core`` (the protocol), ``files``, ``edit_match``, ``search``, ``shell`` and ``web``.
"""
