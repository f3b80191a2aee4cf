"""Run by wheel.sh in a fresh venv that holds the wheel alone: https to a mock server through the libcurl that it carries."""

import subprocess
import sys
import tempfile
from pathlib import Path

import deemster

mock = sys.argv[1]
with tempfile.TemporaryDirectory() as folder:
    key, certificate = Path(folder, "key.pem"), Path(folder, "certificate.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    server = subprocess.Popen([mock, "--port", "0", "--quiet", f"--tls={certificate}", str(key)], stdout=subprocess.PIPE, text=True)
    try:
        url = next(word for word in server.stdout.readline().split() if word.startswith("https"))
        with deemster.TypeSafeClient(api_key="test-key", base_url=url, ca_file=certificate, proxy="") as client:
            share = client.system_one("x", {"q": deemster.Noul(instructions="Is it?")}).nouls["q"].noul
        maps = Path("/proc/self/maps").read_text()
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()
assert 0 <= share <= 1
assert "libdeemster-curl.so.4" in maps and "/libcurl" not in maps and "libssl" not in maps, "the system's libraries were used"
print(f"{sys.version.split()[0]}: https by the carried libcurl, {url.partition(':')[0]} answer {share}")
