"""Plugins: Python code of the user's that adds tools, hooks, providers and themes.

A plugin is a file in ``plugins/`` (or ``tools/``) of a config folder, or an installed package with
an entry point in the group ``opencode_py.plugins``. It has one function:

    def register(plugin):
        @plugin.tool
        def weather(city: Annotated[str, "Name of the city"], days: int = 1) -> str:
            "Tells the weather of a city."
            return f"{city}: sunny for {days} days"

        @plugin.hook("PreToolUse", matcher="bash")
        def no_push(call):
            if "git push" in call.details["tool_input"]["command"]:
                return plugin.answer(decision="deny", reason="Pushing is done by hand here.")

        plugin.provider("lab", {"options": {"baseURL": "http://127.0.0.1:8080/v1"}})
        plugin.theme("sea", {"primary": "#5aa9e6", "background": "#0b1d2a"})

A plugin runs within this program, with the user's rights. A project's plugins are loaded only
with trust.
"""
