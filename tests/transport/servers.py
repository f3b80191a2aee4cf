"""Servers and proxies that run.py connects to. Each listens on a free loopback port and stops with its test."""
import base64
import hashlib
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time

REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


def listen(host="127.0.0.1"):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, 0))
    listener.listen(64)
    return listener


def read_head(connection):
    """The request's head, b"" when the peer closed before its end."""
    head = b""
    while b"\r\n\r\n" not in head:
        part = connection.recv(65536)
        if not part:
            return b""
        head += part
    return head


class Threaded:
    """Accepts on its own thread and runs handle(connection) on one each."""

    def __init__(self, handle, host="127.0.0.1", context=None):
        self.handle, self.context = handle, context
        self.listener = listen(host)
        self.port = self.listener.getsockname()[1]
        self.heads = []
        self.accepted = 0
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.accepted += 1
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True)
            self.handle(self, connection)
        except OSError:
            pass
        finally:
            connection.close()

    def close(self):
        self.listener.close()


def tls_context(certificates, name="good", version=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / f"{name}.pem", certificates / f"{name}.key")
    context.set_alpn_protocols(["h2", "http/1.1"])
    if version:
        context.minimum_version = context.maximum_version = version
    return context


def keep_alive(server, connection):
    """Answers every request; records the heads."""
    while head := read_head(connection):
        server.heads.append(head)
        connection.sendall(REPLY)


def close_notify(server, connection):
    keep = read_head(connection)
    server.heads.append(keep)
    connection.sendall(REPLY)
    connection.unwrap()


def abrupt(server, connection):
    server.heads.append(read_head(connection))
    connection.sendall(REPLY)
    # close() alone sends no close_notify


def reset(server, connection):
    server.heads.append(read_head(connection))
    connection.sendall(REPLY)
    server.heads.append(read_head(connection))  # the client has read the reply: RST cannot overtake it
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def pump(a, b):
    """Copies both ways until one side ends."""

    def one_way(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    thread = threading.Thread(target=one_way, args=(a, b), daemon=True)
    thread.start()
    one_way(b, a)
    thread.join()


def proxy_handler(user=None, password=None, refuse=None, digest=False, drop=False):
    """An HTTP proxy: CONNECT, and absolute-form requests. With a user it wants Basic or Digest."""

    def allowed(head):
        if user is None:
            return True
        match = re.search(rb"\r\nProxy-Authorization: (\w+) ([^\r]*)\r\n", head)
        if not match:
            return False
        if not digest:
            return match[1] == b"Basic" and base64.b64decode(match[2]) == f"{user}:{password}".encode()
        if match[1] != b"Digest":
            return False
        field = {name: value for name, value in re.findall(r'(\w+)="?([^",]*)"?', match[2].decode())}
        method = head.split(b" ")[0].decode()
        first = hashlib.md5(f"{user}:r:{password}".encode()).hexdigest()
        second = hashlib.md5(f"{method}:{field['uri']}".encode()).hexdigest()
        return field["response"] == hashlib.md5(f"{first}:n:{second}".encode()).hexdigest()

    def handle(server, connection):
        while head := read_head(connection):
            server.heads.append(head)
            method, target, _ = head.split(b"\r\n")[0].split(b" ")
            if drop:
                return
            if refuse:
                connection.sendall(f"HTTP/1.1 {refuse} No\r\nContent-Length: 0\r\n\r\n".encode())
                return
            if not allowed(head):
                scheme = 'Digest realm="r", nonce="n"' if digest else 'Basic realm="r"'
                connection.sendall(f"HTTP/1.1 407 No\r\nProxy-Authenticate: {scheme}\r\n"
                                   "Content-Length: 0\r\n\r\n".encode())
                continue
            if method == b"CONNECT":
                host, port = target.decode().rsplit(":", 1)
                with socket.create_connection((host.strip("[]"), int(port))) as upstream:
                    connection.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
                    pump(connection, upstream)
                return
            match = re.match(rb"http://([^/]+):(\d+)(/.*)", target)
            with socket.create_connection((match[1].decode().strip("[]"), int(match[2]))) as upstream:
                upstream.sendall(head.replace(target, match[3], 1))
                connection.sendall(upstream.recv(65536))

    return handle


def socks5(server, connection):
    """RFC 1928, CONNECT without authentication."""
    greeting = connection.recv(2)
    connection.recv(greeting[1])
    connection.sendall(b"\5\0")
    head = connection.recv(4)
    if head[3] == 3:
        host = connection.recv(connection.recv(1)[0]).decode()
    elif head[3] == 4:
        host = socket.inet_ntop(socket.AF_INET6, connection.recv(16))
    else:
        host = socket.inet_ntoa(connection.recv(4))
    port = int.from_bytes(connection.recv(2), "big")
    server.heads.append(f"{head[3]} {host}".encode())
    with socket.create_connection((host, port)) as upstream:
        connection.sendall(b"\5\0\0\1\0\0\0\0\0\0")
        pump(connection, upstream)


class Program:
    """A server that is a program of its own; ready when its port accepts."""

    def __init__(self, arguments, port, text=None, udp=False):
        self.port = port
        self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE)
        if text:
            self.process.stdin.write(text)
            self.process.stdin.close()
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.05)
        self.process.kill()
        raise RuntimeError(f"{arguments[0]} did not start: {self.process.stderr.read().decode()[-2000:]}")

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.process.stderr.close()
        if not self.process.stdin.closed:
            self.process.stdin.close()


def free_port():
    with listen() as listener:
        return listener.getsockname()[1]


def need(program):
    path = shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/bin:/usr/local/bin")
    if not path:
        raise RuntimeError(f"{program} is needed for these tests: ./dev setup installs it")
    return path


def s_server(certificates, *options):
    port = free_port()
    return Program([need("openssl"), "s_server", "-accept", f"127.0.0.1:{port}", "-cert",
                    str(certificates / "good.pem"), "-key", str(certificates / "good.key"), "-www", "-quiet",
                    *options], port)


NODE = """
const fs = require('fs');
const [cert, key] = CERTIFICATES.map((path) => fs.readFileSync(path));
const server = MODULE({cert, key, allowHTTP1: true}, (request, reply) => {
  let size = 0;
  request.on('data', (part) => { size += part.length; });
  request.on('end', () => {
    if (request.url === '/slow') return;
    if (request.url === '/big') return reply.end('x'.repeat(200000));
    reply.end(`${request.method} ${request.httpVersion} ${size} ${request.headers['x-probe']}`);
  });
});
server.keepAliveTimeout = 60000;
server.listen(PORT, '127.0.0.1');
"""


def node(certificates, module="require('https').createServer"):
    port = free_port()
    names = [str(certificates / "good.pem"), str(certificates / "good.key")]
    text = NODE.replace("CERTIFICATES", str(names)).replace("MODULE", module).replace("PORT", str(port))
    return Program([need("node"), "-"], port, text.encode())


NGINX = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log stderr;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
  uwsgi_temp_path {folder}; scgi_temp_path {folder};
  server {{
    listen 127.0.0.1:{port} ssl; keepalive_timeout 1s;
    ssl_certificate {folder}/good.pem; ssl_certificate_key {folder}/good.key;
    ssl_protocols TLSv1.2 TLSv1.3; ssl_session_tickets on;
    location / {{ return 200 "nginx $ssl_protocol"; }}
  }}
}}
"""


def nginx(certificates):
    port = free_port()
    path = certificates / "nginx.conf"
    path.write_text(NGINX.format(folder=certificates, port=port))
    return Program([need("nginx"), "-e", "stderr", "-c", str(path)], port)


def tinyproxy(folder, *lines):
    port = free_port()
    path = folder / "tinyproxy.conf"
    path.write_text("\n".join([f"Port {port}", "Listen 127.0.0.1", "Timeout 30", *lines]) + "\n")
    return Program([need("tinyproxy"), "-d", "-c", str(path)], port)
