"""Runs steps against two mocks, one of them over TLS. usage: steps.py STEPS MOCK WORK-FOLDER"""
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "transport"))
import certificates  # noqa: E402


def main(program, mock, folder):
    work = Path(folder)
    work.mkdir(parents=True, exist_ok=True)
    certificates.make(work)
    servers = [subprocess.Popen([mock, "--port", "0", *more], stdout=subprocess.PIPE, text=True)
               for more in ([], ["--tls", work / "good.pem", work / "good.key"])]
    try:
        plain, tls = (server.stdout.readline().strip() for server in servers)
        return subprocess.run([program, tls, work / "ca.pem", plain], timeout=120, check=False).returncode
    finally:
        for server in servers:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
