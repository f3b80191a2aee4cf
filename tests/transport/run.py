"""Connections against real servers: TLS by Python's ssl, OpenSSL's s_server, Node and nginx; proxies by Python and
tinyproxy.

run.py BIN_FOLDER WORK_FOLDER [unittest arguments]: BIN_FOLDER holds the programs transport_*."""
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
import unittest
import warnings
from pathlib import Path

import certificates
import servers

BIN = Path(sys.argv[1]).resolve()
WORK = Path(sys.argv[2]).resolve()
GET = "send:GET / HTTP/1.1\\r\\nHost: h\\r\\n\\r\\n"
HELLO = "recv:43"
V1_2, V1_3 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
CA = f"ca={WORK}/ca.pem"


def clean_environment(**more):
    names = ("proxy", "ssl_cert", "curl_ca")
    kept = {name: value for name, value in os.environ.items() if not any(part in name.lower() for part in names)}
    return {**kept, **more}


def probe(*arguments, **environment):
    """Runs the probe program and gives its lines as objects."""
    result = subprocess.run([BIN / "transport_probe", *map(str, arguments)], capture_output=True, text=True,
                            timeout=60, env=clean_environment(**environment))
    if result.returncode != 0:
        raise AssertionError(f"the probe ended with {result.returncode}: {result.stderr[-3000:]} {result.stdout}")
    return [json.loads(line) for line in result.stdout.splitlines()]


class Case(unittest.TestCase):
    def start(self, server):
        self.addCleanup(server.close)
        return server

    def serve(self, handle, host="127.0.0.1", context=None):
        return self.start(servers.Threaded(handle, host, context))

    def expect(self, line, **facts):
        for name, value in facts.items():
            self.assertEqual(line.get(name), value, line)

    def expect_ok(self, lines):
        for line in lines:
            self.assertIn(line.get("io", "ok"), ("ok", "closed"), lines)


class Tls(Case):
    def test_versions_and_names(self):
        for version in (V1_2, V1_3):
            server = self.serve(servers.keep_alive, context=servers.tls_context(WORK, version=version))
            for host in ("127.0.0.1", "localhost"):
                with self.subTest(version=version, host=host):
                    lines = probe(host, server.port, "tls=1", CA, "connect", GET, HELLO, GET, HELLO, "probe")
                    self.expect_ok(lines)
                    self.assertGreater(lines[0]["tls_us"], 0)
                    self.assertGreater(lines[0]["connect_us"], 0)
                    self.expect(lines[2], bytes=43)
                    self.expect(lines[4], bytes=43)
                    self.expect(lines[5], found="alive")

    def test_ipv6(self):
        server = self.serve(servers.keep_alive, "::1", servers.tls_context(WORK))
        for host in ("::1", "localhost"):
            self.expect_ok(probe(host, server.port, "tls=1", CA, "connect", GET, HELLO))

    def test_alpn_offers_http_1_1_alone(self):
        chosen = []

        def handle(server, connection):
            chosen.append(connection.selected_alpn_protocol())
            servers.keep_alive(server, connection)

        server = self.serve(handle, context=servers.tls_context(WORK))
        self.expect_ok(probe("127.0.0.1", server.port, "tls=1", CA, "connect", GET, HELLO))
        self.assertEqual(chosen, ["http/1.1"])

    def test_bad_certificates(self):
        for name, word in (("wrong_host", "127.0.0.1"), ("expired", "expired"), ("unknown", "issuer")):
            with self.subTest(name):
                server = self.serve(servers.keep_alive, context=servers.tls_context(WORK, name))
                line, = probe("127.0.0.1", server.port, "tls=1", CA, "connect")
                self.expect(line, io="error", failure="certificate", code=303)
                self.assertIn(word, line["message"])
                self.assertIn("ca.pem", line["message"])
                self.assertEqual(server.heads, [])

    def test_other_authority_and_folder_of_certificates(self):
        server = self.serve(servers.keep_alive, context=servers.tls_context(WORK, "unknown"))
        self.expect_ok(probe("127.0.0.1", server.port, "tls=1", f"ca={WORK}/other_ca.pem", "connect", GET, HELLO))
        folder = WORK / "hashed"
        folder.mkdir(exist_ok=True)
        (folder / "other.pem").write_text((WORK / "other_ca.pem").read_text())
        certificates.openssl("rehash", str(folder))
        self.expect_ok(probe("127.0.0.1", server.port, "tls=1", f"cadir={folder}", "connect", GET, HELLO))
        line, = probe("127.0.0.1", server.port, "tls=1", CA, "connect")
        self.expect(line, failure="certificate")

    def test_authorities_from_the_environment(self):
        server = self.serve(servers.keep_alive, context=servers.tls_context(WORK))
        ask = ("127.0.0.1", server.port, "tls=1", "connect", GET, HELLO)
        self.expect_ok(probe(*ask, SSL_CERT_FILE=f"{WORK}/ca.pem"))
        self.expect_ok(probe(*ask, CURL_CA_BUNDLE=f"{WORK}/ca.pem"))
        self.expect(probe("127.0.0.1", server.port, "tls=1", "connect")[0], failure="certificate")
        line = probe(*ask, SSL_CERT_FILE="/does/not/exist")[0]
        self.expect(line, action="new", code=104)
        self.assertIn("SSL_CERT_FILE", line["message"])

    def test_file_without_a_certificate(self):
        server = self.serve(servers.keep_alive, context=servers.tls_context(WORK))
        line, = probe("127.0.0.1", server.port, "tls=1", f"ca={__file__}", "connect")
        self.expect(line, io="error", failure="ca setting", code=104)

    def test_old_version_is_refused(self):
        context = servers.tls_context(WORK)
        context.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings(action="ignore"):
            context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
        server = self.serve(servers.keep_alive, context=context)
        line, = probe("127.0.0.1", server.port, "tls=1", CA, "connect")
        self.expect(line, io="error", failure="tls", code=303)

    def test_plain_server(self):
        def handle(server, connection):
            connection.recv(1000)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        line, = probe("127.0.0.1", self.serve(handle).port, "tls=1", CA, "connect")
        self.expect(line, io="error", failure="tls", code=303)

    def test_close_in_the_handshake(self):
        line, = probe("127.0.0.1", self.serve(lambda server, connection: connection.recv(10)).port, "tls=1", CA,
                      "connect")
        self.expect(line, io="error", code=303)

    def test_tickets_come_on_an_idle_connection(self):
        def late_tickets(server, connection):
            # Python sends TLS 1.3 tickets with the handshake; they lie unread on the client's idle connection.
            servers.keep_alive(server, connection)

        context = servers.tls_context(WORK, version=V1_3)
        context.num_tickets = 4
        server = self.serve(late_tickets, context=context)
        lines = probe("127.0.0.1", server.port, "tls=1", CA, "connect", "wait:100", "probe", "probe", GET, HELLO,
                      "probe")
        self.assertEqual([line["found"] for line in lines if "found" in line], ["alive"] * 3)
        self.expect(lines[4], bytes=43)

    def test_orderly_and_abrupt_close(self):
        for version in (V1_2, V1_3):
            context = servers.tls_context(WORK, version=version)
            for handle, end in ((servers.close_notify, "closed"), (servers.abrupt, "error"),
                                (servers.reset, "error")):
                with self.subTest(version=version, handle=handle.__name__):
                    server = self.serve(handle, context=context)
                    more = (GET,) if handle is servers.reset else ()
                    lines = probe("127.0.0.1", server.port, "tls=1", CA, "connect", GET, HELLO, *more, "recv:1",
                                  "probe")
                    self.expect(lines[2], bytes=43)
                    self.expect(lines[-2], io=end)
                    if end == "error":
                        self.expect(lines[-2], failure="reset", code=300)
                    self.expect(lines[-1], found="closed")

    def test_unasked_bytes_on_an_idle_connection(self):
        def handle(server, connection):
            read = servers.read_head(connection)
            connection.sendall(servers.REPLY + b"surplus" if read else b"")
            connection.recv(1)

        server = self.serve(handle, context=servers.tls_context(WORK))
        lines = probe("127.0.0.1", server.port, "tls=1", CA, "connect", GET, "wait:100", "probe")
        self.expect(lines[2], found="bytes")

    def test_large_request_and_reply(self):
        size = 3_000_000

        def handle(server, connection):
            got = 0
            while got < 100_000:
                got += len(connection.recv(65536))
            connection.sendall(b"y" * size)

        server = self.serve(handle, context=servers.tls_context(WORK))
        lines = probe("127.0.0.1", server.port, "tls=1", CA, "connect", "send:" + "x" * 100_000, f"recv:{size}")
        self.expect(lines[1], bytes=100_000)
        self.expect(lines[2], bytes=size, head="y" * 300)

    def test_child_of_a_fork_leaves_the_connection_whole(self):
        for version in (V1_2, V1_3):
            server = self.serve(servers.keep_alive, context=servers.tls_context(WORK, version=version))
            lines = probe("127.0.0.1", server.port, "tls=1", CA, "connect", GET, HELLO, "child", "probe", GET, HELLO)
            self.expect(lines[3], status=0)
            self.expect(lines[4], found="alive")
            self.expect(lines[6], bytes=43)
            self.assertEqual(server.accepted, 2)


class OtherServers(Case):
    def test_s_server(self):
        for options in (("-tls1_2",), ("-tls1_3",), ("-tls1_3", "-num_tickets", "5"),
                        ("-tls1_2", "-cipher", "ECDHE-ECDSA-AES256-GCM-SHA384")):
            with self.subTest(options):
                server = self.start(servers.s_server(WORK, *options))
                lines = probe("localhost", server.port, "tls=1", CA, "connect", "wait:50", "probe",
                              "send:GET / HTTP/1.0\\r\\n\\r\\n", "recv:1000000")
                self.expect(lines[1], found="alive")
                self.assertTrue(lines[3]["head"].startswith("HTTP/1.0 200 ok"), lines)
                self.assertGreater(lines[3]["bytes"], 500)

    def test_node(self):
        server = self.start(servers.node(WORK))
        lines = probe("127.0.0.1", server.port, "tls=1", CA, "connect", GET, "recv:100", "wait:50", "probe", GET,
                      "recv:100", "close", "full:POST:/:{}", "full:GET:/")
        self.assertTrue(lines[2]["head"].startswith("HTTP/1.1 200 OK"), lines)
        self.expect(lines[3], found="alive")
        self.assertTrue(lines[5]["head"].startswith("HTTP/1.1 200 OK"), lines)
        self.expect(lines[7], io="ok", status=200, body="POST 1.1 2 yes", version=11, reused=0, sent=2)
        self.expect(lines[8], io="ok", status=200, body="GET 1.1 0 yes", reused=1)

    def test_nginx_and_its_keep_alive_limit(self):
        server = self.start(servers.nginx(WORK))
        lines = probe("127.0.0.1", server.port, "tls=1", CA, "connect", GET, "recv:100", "probe", GET, "recv:100",
                      "wait:1500", "probe", "close", "full:GET:/")
        self.assertIn("nginx TLSv1.3", lines[2]["head"])
        self.expect(lines[3], found="alive")
        self.assertIn("nginx TLSv1.3", lines[5]["head"])
        self.expect(lines[6], found="closed")
        self.expect(lines[8], status=200, body="nginx TLSv1.3")

    def test_http2_by_full_libcurl(self):
        server = self.start(servers.node(WORK, "require('http2').createSecureServer"))
        lines = probe("127.0.0.1", server.port, "tls=1", CA, "full2=1", "full:POST:/:{}", "full:GET:/",
                      "full:POST:/:abc")
        self.expect(lines[0], status=200, version=20, body="POST 2.0 2 yes", reused=0)
        self.expect(lines[1], status=200, version=20, body="GET 2.0 0 yes", reused=1)
        self.expect(lines[2], status=200, version=20, body="POST 2.0 3 yes", reused=1)


class Full(Case):
    def test_deadline_cancel_and_limit(self):
        server = self.start(servers.node(WORK))
        where = ("127.0.0.1", server.port, "tls=1", CA)
        self.expect(probe(*where, "deadline=200", "full:GET:/slow")[0], io="error", failure="timeout", code=310)
        self.expect(probe(*where, "cancel=100", "full:GET:/slow")[0], io="error", failure="cancelled", code=3)
        self.expect(probe(*where, "full:GET:/big")[0], io="error", failure="too large", code=700)
        self.expect(probe(*where, "full:HEAD:/")[0], status=200, bytes=0)
        self.expect(probe(*where, "full:DELETE:/x")[0], status=200, body="DELETE 1.1 0 yes")

    def test_deadline_and_cancel_while_nobody_answers(self):
        silent = servers.listen()
        self.addCleanup(silent.close)
        where = ("127.0.0.1", silent.getsockname()[1], "tls=1", CA)
        self.expect(probe(*where, "deadline=200", "full:GET:/")[0], failure="timeout")
        self.expect(probe(*where, "cancel=100", "full:GET:/")[0], failure="cancelled")

    def test_replies_that_break(self):
        for reply, failure, code in (
            (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "truncated", 304),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe", "truncated", 304),
            (b"", "reset", 300),
            (b"no http at all\r\n\r\n", "framing", 306),
            (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20000 + b"\r\n", "too large", 700),
        ):
            with self.subTest(reply[:60]):
                def handle(server, connection, reply=reply):
                    servers.read_head(connection)
                    connection.sendall(reply)

                line, = probe("127.0.0.1", self.serve(handle).port, "full:GET:/")
                self.expect(line, io="error", failure=failure, code=code)

    def test_headers_are_the_callers_alone(self):
        server = self.serve(servers.keep_alive)
        self.expect(probe("127.0.0.1", server.port, "full:GET:/p?q=1")[0], status=200, body="hello")
        self.assertEqual(server.heads, [f"GET /p?q=1 HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX-Probe: yes\r\n"
                                        "Content-Type: application/json\r\n\r\n".encode()])


class Names(Case):
    def test_refused_names_the_host(self):
        port = servers.free_port()
        for options in ((), ("curl=1",), ("tls=1", CA)):
            line, = probe("localhost", port, *options, "connect")
            self.expect(line, io="error", failure="refused", code=302)
            self.assertIn(f"localhost:{port}", line["message"])

    def test_localhost_with_one_family(self):
        for host in ("127.0.0.1", "::1"):
            server = self.serve(servers.keep_alive, host)
            for options in ((), ("curl=1",)):
                self.expect_ok(probe("localhost", server.port, *options, "connect", GET, HELLO))


class Proxies(Case):
    def target(self):
        return self.serve(servers.keep_alive, context=servers.tls_context(WORK))

    def test_tunnel(self):
        target = self.target()
        proxy = self.serve(servers.proxy_handler())
        lines = probe("127.0.0.1", target.port, "tls=1", CA, f"proxy=http://127.0.0.1:{proxy.port}", "connect", GET,
                      HELLO, "probe")
        self.expect_ok(lines)
        self.expect(lines[0], route=3)
        self.expect(lines[3], found="alive")
        self.assertTrue(proxy.heads[0].startswith(f"CONNECT 127.0.0.1:{target.port} HTTP/1.1\r\n".encode()))
        self.assertNotIn(b"Proxy-Authorization", proxy.heads[0])

    def test_tunnel_with_basic(self):
        target = self.target()
        proxy = self.serve(servers.proxy_handler("us er", "p@ss"))
        where = ("127.0.0.1", target.port, "tls=1", CA)
        self.expect_ok(probe(*where, f"proxy=http://us%20er:p%40ss@127.0.0.1:{proxy.port}", "connect", GET, HELLO))
        for user in ("us%20er:s3cret@", ""):
            line, = probe(*where, f"proxy=http://{user}127.0.0.1:{proxy.port}", "connect")
            self.expect(line, io="error", failure="proxy authentication", code=305)
            self.assertNotIn("s3cret", line["message"])
            self.assertIn("407", line["message"])

    def test_tunnel_refused_or_dropped(self):
        target = self.target()
        for options, word in (({"refuse": 403}, "403"), ({"refuse": 502}, "502"), ({"drop": True}, "through")):
            with self.subTest(options):
                proxy = self.serve(servers.proxy_handler(**options))
                line, = probe("127.0.0.1", target.port, "tls=1", CA, f"proxy=http://u:s3cret@127.0.0.1:{proxy.port}",
                              "connect")
                self.expect(line, io="error", failure="proxy", code=305)
                self.assertIn(word, line["message"])
                self.assertNotIn("s3cret", line["message"])
                self.assertIn("***", line["message"])

    def test_proxy_that_is_not_there(self):
        port = servers.free_port()
        line, = probe("127.0.0.1", 9, "tls=1", CA, f"proxy=http://127.0.0.1:{port}", "connect")
        self.expect(line, io="error", failure="refused", code=302)
        self.assertIn(f"through http://127.0.0.1:{port}", line["message"])

    def test_bad_certificate_behind_a_tunnel(self):
        target = self.serve(servers.keep_alive, context=servers.tls_context(WORK, "expired"))
        proxy = self.serve(servers.proxy_handler())
        line, = probe("127.0.0.1", target.port, "tls=1", CA, f"proxy=http://127.0.0.1:{proxy.port}", "connect")
        self.expect(line, io="error", failure="certificate")

    def test_absolute_form(self):
        target = self.serve(servers.keep_alive)
        proxy = self.serve(servers.proxy_handler())
        request = f"send:GET http://127.0.0.1:{target.port}/ HTTP/1.1\\r\\nHost: h\\r\\n\\r\\n"
        for options in ((), ("curl=1",)):
            lines = probe("127.0.0.1", target.port, *options, f"proxy=http://127.0.0.1:{proxy.port}", "connect",
                          request, HELLO, "probe")
            self.expect_ok(lines)
            self.expect(lines[0], route=2)
            self.expect(lines[2], bytes=43)
        self.assertEqual(len(proxy.heads), 2)

    def test_tls_to_the_proxy(self):
        proxy = self.serve(servers.proxy_handler("u", "p"), context=servers.tls_context(WORK))
        target, plain = self.target(), self.serve(servers.keep_alive)
        setting = f"proxy=https://u:p@127.0.0.1:{proxy.port}"
        self.expect_ok(probe("127.0.0.1", target.port, "tls=1", CA, setting, "connect", GET, HELLO))
        request = (f"send:GET http://127.0.0.1:{plain.port}/ HTTP/1.1\\r\\nHost: h\\r\\n"
                   "Proxy-Authorization: Basic dTpw\\r\\n\\r\\n")
        lines = probe("127.0.0.1", plain.port, CA, setting, "connect", request, HELLO)
        self.expect(lines[0], route=2)
        self.expect(lines[2], bytes=43)

    def test_socks5(self):
        target, plain = self.target(), self.serve(servers.keep_alive)
        proxy = self.serve(servers.socks5)
        for scheme, kind in (("socks5", b"1"), ("socks5h", b"3")):
            lines = probe("localhost", target.port, "tls=1", CA, f"proxy={scheme}://127.0.0.1:{proxy.port}",
                          "connect", GET, HELLO)
            if scheme == "socks5h":
                self.assertEqual(proxy.heads[-1], b"3 localhost")
            self.expect_ok(lines)
        self.expect_ok(probe("127.0.0.1", plain.port, f"proxy=socks5://127.0.0.1:{proxy.port}", "connect", GET, HELLO))

    def test_tinyproxy(self):
        target, plain = self.target(), self.serve(servers.keep_alive)
        proxy = self.start(servers.tinyproxy(WORK, "BasicAuth user secret"))
        setting = f"proxy=http://user:secret@127.0.0.1:{proxy.port}"
        self.expect_ok(probe("127.0.0.1", target.port, "tls=1", CA, setting, "connect", GET, HELLO, GET, HELLO))
        line = probe("127.0.0.1", target.port, "tls=1", CA, f"proxy=http://user:wrong@127.0.0.1:{proxy.port}",
                     "connect")[0]
        self.expect(line, failure="proxy authentication")
        lines = probe("127.0.0.1", plain.port, setting, "full:GET:/")
        self.expect(lines[0], status=200, body="hello")

    def test_digest_by_full_libcurl(self):
        target = self.target()
        proxy = self.serve(servers.proxy_handler("user", "secret", digest=True))
        setting = f"proxy=http://user:secret@127.0.0.1:{proxy.port}"
        where = ("127.0.0.1", target.port, "tls=1", CA, setting)
        self.expect(probe(*where, "any=1", "full:GET:/")[0], status=200, body="hello")
        self.expect(probe(*where, "full:GET:/")[0], failure="proxy authentication")


class Programs(Case):
    """The other programs of this folder, each with its own verdict."""

    def run_program(self, name, *arguments, **environment):
        result = subprocess.run([BIN / f"transport_{name}", *map(str, arguments)], capture_output=True, text=True,
                                timeout=240, env=clean_environment(**environment))
        self.assertEqual(result.returncode, 0, result.stdout[-2000:] + result.stderr[-4000:])

    def test_threads(self):
        server = self.start(servers.node(WORK))
        self.run_program("threads", server.port, WORK / "ca.pem")

    def test_names(self):
        self.run_program("names")

    def test_leaving_main_with_threads_in_tls(self):
        server = self.start(servers.node(WORK))
        for run in range(100):
            with self.subTest(run=run):
                # Threads that are still there at the end hold memory: that is no leak.
                self.run_program("exit_threads", server.port, WORK / "ca.pem", 10 + run % 40,
                                 ASAN_OPTIONS="detect_leaks=0")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    certificates.make(WORK)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
