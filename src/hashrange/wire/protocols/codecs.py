"""The table of codecs; imported when a neighbour service is first called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hashrange.wire.protocols.aws_json import AwsJson
from hashrange.wire.protocols.codec import Codec
from hashrange.wire.protocols.query import Query
from hashrange.wire.protocols.rest_json_codec import RestJsonCodec
from hashrange.wire.protocols.rest_xml import RestXml
from hashrange.wire.protocols.rpc_cbor import RpcCbor

_ALL: Final[tuple[Codec, ...]] = (AwsJson(), Query(), RpcCbor(), RestJsonCodec(), RestXml())
CODECS: Final[Mapping[str, Codec]] = {codec.name: codec for codec in _ALL}
