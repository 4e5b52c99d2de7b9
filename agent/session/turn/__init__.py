"""One turn: the loop, its steps, the stream and the tool executor."""
