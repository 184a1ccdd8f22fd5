"""In-process calls: boto3 on `hashrange.testing` against boto3 on moto, without any server."""
