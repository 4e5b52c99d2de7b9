"""Dialogs for requests to the user: permissions, questions of the model, forms, trust.

The path of an answer to a tool: the ``agent.permission`` service publishes a ``PermissionRequest``
and waits; ``app.tui.request_dialogs`` shows a ``PermissionScreen`` for it; the screen closes with a
``PermissionReply``, which ``app.tui.request_dialogs`` gives back to the service; the service then
lets the tool run, or fails the call. A ``Question`` takes the same path through ``QuestionScreen``,
or ``FormScreen`` if it has fields.
"""
