"""The prompt, other text fields, and what is pasted or typed into them."""
