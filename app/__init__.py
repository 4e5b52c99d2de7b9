"""The front ends.

- ``tui``: the Textual application, with its ``screens``, ``widgets``, ``theme`` and ``terminal``;
- ``cli``, ``plain`` (``--plain``), ``acp`` (editors), ``server`` (HTTP): the other front ends;
- ``session_state``: the state of a session, for all of them; ``remote``: a session on a server;
- ``actions``: what a user can do by slash command, key or palette, in ``action_registry``;
- ``startup``, ``text``: before the first frame, and text for users.
"""
