"""Commands that read and write tables of any DynamoDB endpoint, for people at a terminal."""
