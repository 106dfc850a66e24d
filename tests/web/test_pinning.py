"""The connection goes to the address that was checked: rebinding, TLS names, proxies."""

import datetime
import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from alita_tui.spine.errors import AddressRefused, WebError


class Dns:
    """Gives one answer after the other, and counts them."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def __call__(self, host, port):
        self.asked.append(host)
        return self.answers.pop(0)


async def test_the_name_is_resolved_once_and_the_checked_address_is_used(site, make_room):
    dns = Dns(("127.0.0.1",))
    room = make_room(allowed_private=(f"rebind.test:{site.port}",), resolver=dns)
    site.html("/", "hello", "text/plain")
    page = await room.read(f"http://rebind.test:{site.port}/")
    assert (page.text, page.url) == ("hello", f"http://rebind.test:{site.port}/")
    assert dns.asked == ["rebind.test"]
    assert site.requests[0][1]["host"] == f"rebind.test:{site.port}"


async def test_a_name_that_turns_private_on_a_later_hop_is_refused(site, make_room):
    """The first answer lies in a listed network, the second does not."""
    dns = Dns(("127.0.0.1",), ("127.0.0.2",))
    room = make_room(allowed_private=("127.0.0.1/32",), resolver=dns)
    site.routes["/"] = (302, {"Location": "/again"}, b"")
    with pytest.raises(AddressRefused, match=r"rebind.test \(127.0.0.2\)"):
        await room.read(f"http://rebind.test:{site.port}/")
    assert len(site.requests) == 1


async def test_a_dead_address_is_skipped_for_the_next(site, make_room):
    room = make_room(allowed_private=("127.0.0.0/8",), resolver=Dns(("127.0.0.9", "127.0.0.1")))
    site.html("/", "hello", "text/plain")
    assert (await room.read(f"http://two.test:{site.port}/")).text == "hello"


async def test_an_international_name_is_sent_in_its_ascii_form(site, make_room):
    dns = Dns(("127.0.0.1",))
    room = make_room(allowed_private=("127.0.0.0/8",), resolver=dns)
    site.html("/", "hello", "text/plain")
    await room.read(f"http://bücher.test:{site.port}/")
    assert dns.asked == ["xn--bcher-kva.test"]
    assert site.requests[0][1]["host"] == f"xn--bcher-kva.test:{site.port}"


@pytest.fixture
def secure_site(site, tmp_path, monkeypatch):
    """The site behind TLS with a certificate for good.test, trusted through SSL_CERT_FILE."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "good.test")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("good.test")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = tmp_path / "cert.pem"
    pem.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    secret = tmp_path / "key.pem"
    secret.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, secret)
    site.names = []
    context.sni_callback = lambda _socket, name, _context: site.names.append(name)
    site.server.socket = context.wrap_socket(site.server.socket, server_side=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    return site


async def test_the_certificate_is_checked_for_the_name_and_not_the_address(secure_site, make_room):
    room = make_room(allowed_private=("127.0.0.0/8",), resolver=Dns(("127.0.0.1",), ("127.0.0.1",)))
    secure_site.html("/", "hello", "text/plain")
    assert (await room.read(f"https://good.test:{secure_site.port}/")).text == "hello"
    assert secure_site.names == ["good.test"]
    with pytest.raises(WebError, match="certificate") as caught:
        await room.read(f"https://bad.test:{secure_site.port}/")
    assert "SSL_CERT_FILE" in caught.value.hint
    assert len(secure_site.requests) == 1


async def test_an_unknown_authority_is_a_tls_error(secure_site, make_room, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE")
    room = make_room(allowed_private=("127.0.0.0/8",), resolver=Dns(("127.0.0.1",)))
    with pytest.raises(WebError, match="certificate"):
        await room.read(f"https://good.test:{secure_site.port}/")


async def test_a_proxy_of_the_environment_is_used_and_the_guard_still_holds(site, make_room):
    async def nothing(host, port):
        raise OSError("only the proxy resolves")

    room = make_room(environ={"HTTP_PROXY": site.url, "no_proxy": ".direct.test"}, resolver=nothing)
    site.html("/page", "through the proxy", "text/plain")
    assert (await room.read("http://far.test/page")).text == "through the proxy"
    assert site.requests[0][0] == "http://far.test/page"
    for url in ("http://10.0.0.1/", f"http://127.0.0.1:{site.port}/", "http://2130706433/"):
        with pytest.raises(AddressRefused):
            await room.read(url)
    with pytest.raises(WebError, match="has no address"):
        await room.read("http://a.direct.test/page")
    assert len(site.requests) == 1


async def test_an_unusable_proxy_is_reported(make_room):
    room = make_room(environ={"https_proxy": "socks9://x"}, resolver=Dns(("8.8.8.8",)))
    with pytest.raises(WebError, match="proxy"):
        await room.read("https://far.test/")
