"""`hashrange copy`: a table from one DynamoDB endpoint to another."""
