"""Certificates made for one test: an authority, and what it vouches for."""

from __future__ import annotations

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)


class Authority:
    """Signs certificates of servers. `file` is what a client trusts."""

    def __init__(self, folder: Path, name: str = "Test authority") -> None:
        self._folder = folder
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            _certificate(self._name, self._name, self._key.public_key(), age=DAY, life=2 * DAY)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.file = folder / f"{name.replace(' ', '-')}.pem"
        self.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def server(self, *hosts: str, age: timedelta = DAY, life: timedelta = 2 * DAY) -> ssl.SSLContext:
        """A server's context with a certificate for these hosts, made `age` ago and good for `life`."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0])])
        unsigned = _certificate(name, self._name, key.public_key(), age=age, life=life)
        signed = unsigned.add_extension(_hosts(hosts), critical=False).sign(self._key, hashes.SHA256())
        return _context(self._folder, key, signed)


def self_signed(folder: Path, *hosts: str) -> tuple[ssl.SSLContext, Path]:
    """A server's context whose certificate nobody vouches for, and the certificate's own file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0])])
    unsigned = _certificate(name, name, key.public_key(), age=DAY, life=2 * DAY)
    signed = unsigned.add_extension(_hosts(hosts), critical=False).sign(key, hashes.SHA256())
    file = folder / "self-signed.pem"
    file.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    return _context(folder, key, signed), file


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, *, age: timedelta, life: timedelta
) -> x509.CertificateBuilder:
    made = datetime.now(UTC) - age
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(made)
        .not_valid_after(made + life)
    )


def _hosts(hosts: tuple[str, ...]) -> x509.SubjectAlternativeName:
    names: list[x509.GeneralName] = []
    for host in hosts:
        try:
            names.append(x509.IPAddress(ipaddress.ip_address(host)))
        except ValueError:
            names.append(x509.DNSName(host))
    return x509.SubjectAlternativeName(names)


def _context(folder: Path, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> ssl.SSLContext:
    file = folder / f"server-{certificate.serial_number}.pem"
    file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context
