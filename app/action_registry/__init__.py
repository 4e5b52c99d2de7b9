"""The registry of actions, their key map, and the context that an action gets.

The actions of the full screen are in ``app.actions``, the commands of ``--plain`` in ``app.plain``,
and slash commands that users write themselves in ``agent.custom_commands``.
"""
