"""Old clients: each abi/frozen/VERSION holds the header of that version and a client of that time, never edited. Each is
built against its own header and run with today's library, over a mock.
usage: frozen.py LIBRARY MOCK WORK-FOLDER COMPILER"""
import os
import subprocess
import sys
from pathlib import Path

from interface import ROOT, Results


def main(library, mock, work, compiler):
    results, work = Results(), Path(work)
    work.mkdir(parents=True, exist_ok=True)
    folders = sorted((ROOT / "abi" / "frozen").glob("*"))
    results.check(folders, "there is no frozen client")
    server = subprocess.Popen([mock, "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().strip()
        for folder in folders:
            program = work / f"client-{folder.name}"
            subprocess.run([compiler, "-std=c11", "-Wall", "-Werror", "-I", folder, folder / "client.c", library, "-o", program],
                           check=True)
            ran = subprocess.run([program, url], capture_output=True, text=True, timeout=60,
                                 env={**os.environ, "LD_LIBRARY_PATH": str(Path(library).parent)})
            results.check(ran.returncode == 0, f"the client of {folder.name}: {ran.stdout}{ran.stderr}")
    finally:
        server.terminate()
        server.wait()
    results.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
