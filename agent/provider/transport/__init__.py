"""HTTP to providers: streams, framing, retries and errors."""
