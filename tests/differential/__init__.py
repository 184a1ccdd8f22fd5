"""The same random requests to Hashrange and to DynamoDB Local; the answers must agree."""
