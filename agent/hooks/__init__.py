"""Hooks: the user's programs and functions that are notified of events and can object.

They can make a decision stricter, never more lenient than a rule: their ``allow`` saves a question
that no rule asks, their ``deny`` always counts. The events are reported by
``agent.session.session_hooks``, ``agent.session.prompt.request_hooks`` and
``agent.tools.core.call_hooks``.
"""
