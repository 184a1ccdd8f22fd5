"""The keys of AWS Key Management Service: what is kept of them, and what they encrypt."""
