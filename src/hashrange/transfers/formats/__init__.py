"""How items are written in files: DynamoDB JSON, Amazon Ion and CSV."""
