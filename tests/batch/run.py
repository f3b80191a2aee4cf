"""Runs a batch test program against a mock of its own. usage: run.py MOCK PROGRAM"""
import subprocess
import sys
import tempfile


def main(mock, program):
    server = subprocess.Popen([mock, "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().strip()
        with tempfile.TemporaryDirectory() as folder:
            return subprocess.run([program, url, folder], timeout=120, check=False).returncode
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
