"""A certificate authority for a test, and a certificate of it for this machine."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def certificates(folder: Path) -> tuple[Path, Path]:
    """Write a key with a certificate for 127.0.0.1, and the certificate of its authority; return both files."""
    now = datetime.datetime.now(datetime.UTC)
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)]) for text in ("Test CA", "127.0.0.1")]

    def signed(subject: int, *extensions: tuple[x509.ExtensionType, bool]) -> bytes:
        builder = (
            x509.CertificateBuilder()
            .subject_name(names[subject])
            .issuer_name(names[0])
            .public_key(keys[subject].public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
        )
        for extension, is_critical in extensions:
            builder = builder.add_extension(extension, is_critical)
        return builder.sign(keys[0], hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    chain, authority = folder / "server.pem", folder / "authority.pem"
    authority.write_bytes(signed(0, (x509.BasicConstraints(ca=True, path_length=None), True)))
    key = keys[1].private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    chain.write_bytes(key + signed(1, (x509.SubjectAlternativeName([address]), False)))
    return chain, authority
