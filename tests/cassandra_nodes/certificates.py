"""A certificate for a node, signed by an authority of its own: ca.pem and node.p12."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import NameOID

STORE_PASSWORD: Final = "hashrange-tests"
_DAYS: Final = 30


def write_certificates(folder: Path) -> None:
    """Write the authority's certificate, and the node's with its key as Java wants it."""
    authority_key, node_key = (rsa.generate_private_key(65537, 2048) for _ in range(2))
    authority = _certificate("authority", "authority", authority_key, authority_key)
    node = _certificate("node", "authority", node_key, authority_key)
    (folder / "ca.pem").write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    # What Java reads without further settings.
    encryption = serialization.BestAvailableEncryption(STORE_PASSWORD.encode())
    store = pkcs12.serialize_key_and_certificates(b"node", node_key, node, [authority], encryption)
    (folder / "node.p12").write_bytes(store)


def _certificate(
    subject: str, issuer: str, key: rsa.RSAPrivateKey, signer: rsa.RSAPrivateKey
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    authority = x509.BasicConstraints(ca=subject == issuer, path_length=None)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=_DAYS))
        .add_extension(authority, critical=True)
        .sign(signer, hashes.SHA256())
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
