"""``opencode-py run``: one prompt without the full screen (spec 11, F2)."""
