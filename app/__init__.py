"""The front ends: the Textual interface (``tui``), the command line (``cli``), ``--plain``
(``console``) and editors (``acp``).
"""
