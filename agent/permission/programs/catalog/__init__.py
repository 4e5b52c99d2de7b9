"""The records of all known programs, by subject.

To add a program, write a ``Program`` in the module of its subject, or add its name to a record with
the same facts. Options that change nothing are its ``flags``, ``texts`` and ``paths``, all others
are in a list that says what they do; an option whose effect is not known is left out, so that it
asks.
"""
