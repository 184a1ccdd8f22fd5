"""`hashrange certificate`: makes a self-signed certificate and its key, for a first start with TLS.

A self-signed certificate is its own root of trust: clients are given the same file. Nothing is
overwritten. A real certificate, of the company or of a public authority, replaces it any time.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import ipaddress
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

CERTIFICATE_NAME: Final = "hashrange.crt"
KEY_NAME: Final = "hashrange-tls.key"
_LOCAL_NAMES: Final = ("localhost", "127.0.0.1", "::1")
_DAYS_DEFAULT: Final = 825
_DAYS_MAX: Final = 3650
# Clocks differ; a certificate made just now is to be valid everywhere.
_EARLIER: Final = datetime.timedelta(hours=1)


def add_command(commands: Any) -> None:
    """Add the command to the parser."""
    text = "make a self-signed certificate and its key"
    command = commands.add_parser(
        "certificate", help=text, description=f"{text.capitalize()}, and say how to use them."
    )
    command.add_argument(
        "--name",
        action="append",
        default=[],
        metavar="NAME",
        help="host name or address by which clients call the server; may be repeated. "
        "Those of this machine are always included",
    )
    command.add_argument(
        "--days",
        type=int,
        default=_DAYS_DEFAULT,
        metavar="NUMBER",
        help=f"for how long it is valid (default: {_DAYS_DEFAULT})",
    )
    command.add_argument(
        "--output", default=".", metavar="DIR", help="where to put the two files (default: .)"
    )


def run(given: argparse.Namespace) -> int:
    """Make the files and say how to use them; return the exit status."""
    directory = Path(given.output)
    if not 1 <= given.days <= _DAYS_MAX:
        sys.stderr.write(f"hashrange: --days is a number from 1 to {_DAYS_MAX}.\n")
        return 2
    names = list(dict.fromkeys([*_LOCAL_NAMES, socket.gethostname(), *given.name]))
    try:
        certificate, key = make_certificate(names, given.days)
        directory.mkdir(parents=True, exist_ok=True)
        _write_new(directory / KEY_NAME, key, 0o600)
        try:
            _write_new(directory / CERTIFICATE_NAME, certificate, 0o644)
        except OSError:
            (directory / KEY_NAME).unlink()
            raise
    except FileExistsError as error:
        sys.stderr.write(f"hashrange: {error.filename} is there already; nothing was changed.\n")
        return 1
    except (OSError, ValueError) as error:
        sys.stderr.write(f"hashrange: The certificate cannot be made: {error}.\n")
        return 1
    sys.stdout.write(_instructions(directory.absolute(), names, given.days))
    return 0


def make_certificate(names: Sequence[str], days: int) -> tuple[bytes, bytes]:
    """Return a self-signed certificate for names and addresses, and its key, both as PEM."""
    # Slow to import, and no other command needs it.
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key()
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Hashrange")])
    now = datetime.datetime.now(datetime.UTC)
    others = "content_commitment key_encipherment data_encipherment key_agreement key_cert_sign"
    others += " crl_sign encipher_only decipher_only"
    usage = dict.fromkeys(others.split(), False)
    uses = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    identifier = x509.SubjectKeyIdentifier.from_public_key(public)
    extensions = (
        (x509.SubjectAlternativeName([_general_name(name) for name in names]), False),
        # It can vouch for itself and for nothing else, so trusting it gives nothing else away.
        (x509.BasicConstraints(ca=False, path_length=None), True),
        (x509.KeyUsage(digital_signature=True, **usage), True),
        (x509.ExtendedKeyUsage(uses), False),
        (identifier, False),
        (x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), False),
    )
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + datetime.timedelta(days=days))
    )
    for extension, is_critical in extensions:
        builder = builder.add_extension(extension, is_critical)
    certificate = builder.sign(key, hashes.SHA256())
    return (
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )


def _general_name(name: str) -> Any:
    from cryptography import x509

    with contextlib.suppress(ValueError):
        return x509.IPAddress(ipaddress.ip_address(name))
    return x509.DNSName(name)


def _write_new(path: Path, content: bytes, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def _instructions(directory: Path, names: Sequence[str], days: int) -> str:
    certificate, key = directory / CERTIFICATE_NAME, directory / KEY_NAME
    return f"""\
Made {certificate}
 and {key}, the key, which stays on the server.
Valid for {days} days and for: {", ".join(names)}

Start the server with:
  hashrange serve --tls-cert {certificate} --tls-key {key}
The AWS CLI and the SDKs for Python trust it with:
  export AWS_ENDPOINT_URL=https://localhost:8000 AWS_CA_BUNDLE={certificate}
and Node with:
  export NODE_EXTRA_CA_CERTS={certificate}
A pair made for a client can be given to the server as --tls-client-ca, the certificate alone.
"""
