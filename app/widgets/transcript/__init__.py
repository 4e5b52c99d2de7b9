"""The transcript: a session drawn as lines.

The path of a streamed chunk to the screen:

- ``app.session_state.live`` gives each event of the bus to ``app.session_state.view.SessionView``,
  which applies it (``PartDelta``) to its copy of the message and reports a ``Change``.
- ``transcript.Transcript.update`` takes the change once a frame, and ``layout.Layout`` updates the
  items of the changed message (``items``).
- ``layout.draw_item`` chooses the renderer of the item: ``markdown`` for text, ``message_lines``
  for user messages and reasoning, ``tool_calls`` for calls, which draw their ``blocks``. A renderer
  returns a list of ``lines.Line``.
- ``viewport`` decides which rows are on the screen, and ``Transcript.render_line`` paints them.
"""
