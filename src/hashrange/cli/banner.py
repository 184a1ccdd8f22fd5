"""The message of a server that is ready: its address and how to connect."""

from __future__ import annotations

import sys

from hashrange import __version__
from hashrange.config import Settings

_ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def greet(settings: Settings, host: str, port: int) -> None:
    """Print how to connect, or log it when messages are for machines."""
    if settings.log_format == "json":
        import logging

        logging.getLogger("hashrange").info("listening on %s", endpoint(host, port))
        return
    sys.stdout.write(greeting(settings, host, port))
    sys.stdout.flush()


def endpoint(host: str, port: int) -> str:
    """Return the URL that clients on this machine use."""
    host = _ANY_ADDRESS.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def greeting(settings: Settings, host: str, port: int) -> str:
    """Return the text for people."""
    url = endpoint(host, port)
    if settings.in_memory:
        data = "in memory, gone when the server stops"
    else:
        data = str(settings.data_dir.absolute())
    if settings.auth:
        keys, arguments = "those of the users of this server (see: aws iam)", ""
    elif settings.credentials is not None:
        keys, arguments = f"those of {settings.credentials}", ""
    else:
        keys = "any, for example AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local"
        arguments = ', aws_access_key_id="local", aws_secret_access_key="local"'
    return f"""\
Hashrange {__version__} is ready on {url}
  data         {data}
  credentials  {keys}
  every SDK    export AWS_ENDPOINT_URL_DYNAMODB={url}
  AWS CLI      aws dynamodb list-tables --endpoint-url {url} --region us-east-1
  boto3        boto3.client("dynamodb", endpoint_url="{url}", region_name="us-east-1"{arguments})
Press Ctrl-C to stop.
"""
