"""The plugin process: handshake, TLS, services and the end. PROTOCOL.md, sections 1 to 3."""

import argparse
import base64
import concurrent.futures
import json
import os
import signal
import socket
import sys
import tempfile
import threading
import time

import grpc

from . import codec, errors, messages
from .codec import MAX_FRAME
from .device import OpenDevice
from .errors import BurnError
from .stream import Stream, Streams

COOKIE = "c7a9f5d0-burn-backend"
PROTOCOL = 2
HANDSHAKE = "1|1|unix|{}|grpc|{}"
GRACE = 1.0  # seconds between the loss of the host and the end


def log(level, message):
    print(json.dumps({"@level": level, "@message": message, "@module": "plugin", "@timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())}),
          file=sys.stderr, flush=True)


def failed(e):
    """The reply to a call that failed: the error is its first field."""
    return messages.field(1, codec.error(e))


class Services:
    """The gRPC methods, all with raw bytes."""

    def __init__(self, backend, end):
        self.backend, self.end = backend, end
        self.devices, self.streams = {}, Streams()  # devices by handle
        self.called = threading.Event()

    def handlers(self):
        def unary(f):
            return grpc.unary_unary_rpc_method_handler(f)

        def generic(service, methods):
            return grpc.method_handlers_generic_handler(service, methods)

        return [
            generic("burn.wire.v1.Backend", {"Hello": unary(self.hello), "Open": unary(self.open), "Close": unary(self.close),
                                             "Memory": unary(self.memory),
                                             "Stream": grpc.stream_stream_rpc_method_handler(self.stream)}),
            generic("grpc.health.v1.Health", {"Check": unary(lambda request, context: b"\x08\x01")}),
            generic("plugin.GRPCController", {"Shutdown": unary(self.shutdown)}),
        ]

    def hello(self, request, context):
        self.called.set()
        h = messages.hello_request(request)
        version = PROTOCOL if h["min"] <= PROTOCOL <= h["max"] else 0
        reply = messages.hello_reply(PROTOCOL, PROTOCOL, version, self.backend)
        try:
            if version and self.backend.configure:
                self.backend.configure(h["options"], h["threads"])
        except ValueError as e:
            reply += messages.field(messages.HELLO_ERROR, codec.error(BurnError(errors.ATTR, str(e))))
        return reply

    def open(self, request, context):
        handle, index, generation = messages.open_request(request)
        if index >= len(self.backend.devices):
            return failed(BurnError(errors.NOT_FOUND, f"device {index}, want one below {len(self.backend.devices)}"))
        if handle == 0 or self.devices.setdefault(handle, device := OpenDevice(self.backend, generation)) is not device:
            return failed(BurnError(errors.PROTOCOL, f"handle {handle} is not new"))
        return messages.open_reply(self.backend)

    def close(self, request, context):
        device = self.devices.pop(messages.handle(dict(messages.fields(request))), None)
        if device is None:
            return failed(BurnError(errors.CLOSED, "device"))
        device.close()
        return b""

    def close_all(self):
        """Ends all devices: gRPC does not tell over which connection they were opened, so they end with the last one."""
        while self.devices:
            self.devices.popitem()[1].close()

    def memory(self, request, context):
        device = self.devices.get(messages.handle(dict(messages.fields(request))))
        return failed(BurnError(errors.CLOSED, "device")) if device is None else messages.memory_reply(*device.usage())

    def stream(self, frames, context):
        yield from Stream(self.devices, self.streams).serve(frames, context.is_active)

    def shutdown(self, request, context):
        self.end()
        return b""


def self_signed():
    """A new key and certificate for localhost: PEM of the key, PEM and DER of the certificate."""
    import datetime

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost"), x509.NameAttribute(NameOID.ORGANIZATION_NAME, "burn")])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=1)).not_valid_after(now + datetime.timedelta(days=3650))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(digital_signature=True, key_encipherment=True, key_agreement=True, key_cert_sign=True,
                                     content_commitment=False, data_encipherment=False, crl_sign=False, encipher_only=False,
                                     decipher_only=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256()))
    pem = serialization.Encoding.PEM
    return (key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()), certificate.public_bytes(pem),
            certificate.public_bytes(serialization.Encoding.DER))


def accepted(fd, path):
    """Whether a file of this process is a connection to the socket at path."""
    copy = os.dup(fd)
    try:
        s = socket.socket(fileno=copy)
    except OSError:  # no socket
        os.close(copy)
        return False
    with s:
        return s.family == socket.AF_UNIX and s.getsockname() == path and not s.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)


def connected(path):
    """Whether there is a connection to the socket at path, which gRPC does not tell."""
    for fd in os.listdir("/dev/fd"):
        try:
            if accepted(int(fd), path):
                return True
        except OSError:  # closed by now
            pass
    return False


def watch_connections(path, called, end):
    """Calls end whenever connections were there and none is left. called is an event that every Hello sets, for connections that
    are shorter than the time between two looks."""
    def poll():
        there = False
        while True:
            before = there or called.is_set()
            there = connected(path)
            if before and not there:
                called.clear()
                end()
            time.sleep(0.2)
    threading.Thread(target=poll, daemon=True).start()


def watch(end):
    """Calls end when the host is gone: its pipe ends, or the process has another parent."""
    if os.environ.get("BURN_HOST_PIPE") == "stdin":
        def pipe():
            while os.read(0, 4096):
                pass
            end()
        threading.Thread(target=pipe, daemon=True).start()
    host = int(os.environ.get("BURN_HOST_PID", "0") or "0")
    if host:
        def parent():
            while os.getppid() == host:
                time.sleep(0.25)
            end()
        threading.Thread(target=parent, daemon=True).start()


def serve(backend, hosted):
    """Listens, prints how to connect, and serves until the end."""
    done = threading.Event()
    services = Services(backend, done.set)
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(max_workers=256), options=[
        ("grpc.max_receive_message_length", MAX_FRAME), ("grpc.max_send_message_length", MAX_FRAME), ("grpc.so_reuseport", 0)])
    server.add_generic_rpc_handlers(services.handlers())
    folder = tempfile.mkdtemp(prefix="plugin", dir=os.environ.get("PLUGIN_UNIX_SOCKET_DIR") or None)
    path = os.path.join(folder, "socket")
    certificate, client = "", os.environ.get("PLUGIN_CLIENT_CERT", "") if hosted else ""
    if client:
        key, pem, der = self_signed()
        credentials = grpc.ssl_server_credentials([(key, pem)], root_certificates=client.encode(), require_client_auth=True)
        server.add_secure_port("unix:" + path, credentials)
        certificate = base64.b64encode(der).rstrip(b"=").decode()
    else:
        server.add_insecure_port("unix:" + path)
    server.start()
    signal.signal(signal.SIGINT, signal.SIG_IGN if hosted else lambda *_: done.set())
    signal.signal(signal.SIGTERM, lambda *_: done.set())
    if hosted:
        watch(done.set)
        watch_connections(path, services.called, done.set)
        print(HANDSHAKE.format(path, certificate), flush=True)
    else:
        watch_connections(path, services.called, services.close_all)
        attach = {backend.name: {"pid": os.getpid(), "network": "unix", "addr": path, "protocol": PROTOCOL}}
        print(f"BURN_REATTACH='{json.dumps(attach)}'", flush=True)
    done.wait()
    server.stop(GRACE / 2)
    for remove, what in ((os.unlink, path), (os.rmdir, folder)):
        try:
            remove(what)
        except OSError:
            pass
    sys.stdout.flush()
    os._exit(0)  # whatever threads are still at work


def main(backend):
    """The main function of a plugin."""
    parser = argparse.ArgumentParser(prog=f"burn-backend-{backend.name}")
    parser.add_argument("--version", action="store_true", help="print name, version, protocol and platform")
    parser.add_argument("--debug", action="store_true", help="serve without a host, and print a value for BURN_REATTACH")
    args = parser.parse_args()
    if args.version:
        print(f"burn-backend-{backend.name} {backend.version}, protocol {PROTOCOL}, {sys.platform}")
    elif args.debug:
        serve(backend, hosted=False)
    elif os.environ.get("BURN_PLUGIN") != COOKIE:
        sys.exit(f"burn-backend-{backend.name} is a plugin of burn and is started by it: see `burn devices`")
    else:
        serve(backend, hosted=True)
