"""What a front end knows of a session: snapshots and events, without Textual."""
