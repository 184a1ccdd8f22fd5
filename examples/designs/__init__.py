"""Public designs, declared with the toolkit."""
