"""A certificate authority of one test run, made by the openssl command."""
import subprocess
from pathlib import Path

CA_CONFIG = """
[ca]
default_ca = own
[own]
dir = {folder}
database = {folder}/index.txt
new_certs_dir = {folder}
serial = {folder}/serial
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
[good]
subjectAltName = DNS:localhost,IP:127.0.0.1,IP:::1
basicConstraints = CA:false
[other]
subjectAltName = DNS:other.example
basicConstraints = CA:false
"""


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def make(folder):
    """Fills the folder with ca.pem and NAME.pem, NAME.key for the names good, wrong_host, expired (all by
    that authority) and unknown (by another one, other_ca.pem)."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "ca.cnf"
    config.write_text(CA_CONFIG.format(folder=folder))
    (folder / "index.txt").write_text("")
    (folder / "serial").write_text("1000\n")
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    for ca in ("ca", "other_ca"):
        openssl("req", "-x509", *key, "-days", "30", "-subj", f"/CN=deemster test {ca}", "-keyout",
                str(folder / f"{ca}.key"), "-out", str(folder / f"{ca}.pem"))
    for name, section, ca, start, end in (
        ("good", "good", "ca", "20200101000000Z", "20491231000000Z"),
        ("wrong_host", "other", "ca", "20200101000000Z", "20491231000000Z"),
        ("expired", "good", "ca", "20200101000000Z", "20200201000000Z"),
        ("unknown", "good", "other_ca", "20200101000000Z", "20491231000000Z"),
    ):
        request = folder / f"{name}.csr"
        openssl("req", *key, "-new", "-subj", f"/CN={name}", "-keyout", str(folder / f"{name}.key"), "-out",
                str(request))
        openssl("ca", "-batch", "-notext", "-config", str(config), "-extensions", section, "-startdate", start,
                "-enddate", end, "-cert", str(folder / f"{ca}.pem"), "-keyfile", str(folder / f"{ca}.key"),
                "-in", str(request), "-out", str(folder / f"{name}.pem"))
