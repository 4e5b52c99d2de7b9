"""Programs and functions of the user's that hear of what happens and may object (spec 10, H1, H2).

They can make a decision stricter, never milder than a rule: an ``allow`` of theirs saves a question
that no rule asks, a ``deny`` always holds (spec 3, T3).
"""
