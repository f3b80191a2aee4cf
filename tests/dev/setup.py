"""./dev setup: installs what is missing, and only that. Everything the project needs is named here."""
import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from tools import ROOT, VENV, Failure, environment, run, say

# What a fresh Debian 12 with git, a C and C++ compiler, CMake, Python 3 and Node does not have.
PACKAGES = [
    # build
    "ninja-build", "ccache", "pkg-config", "libcurl4-openssl-dev", "libmd-dev", "zlib1g-dev",
    "libmicrohttpd-dev", "libgnutls28-dev", "libyajl-dev", "libcsv-dev", "libuv1-dev", "python3-dev", "python3-venv",
    # tests
    "libcriterion-dev", "valgrind", "strace", "luajit", "nginx-light", "openssl", "tinyproxy", "jq",
    # checks
    "abigail-tools", "clang-14", "clang-format-14", "clang-tidy-14", "llvm-14", "libclang-rt-14-dev",
    "libfuzzer-14-dev", "cppcheck", "doxygen", "gcovr", "binutils",
]
# Languages that open the library without a wrapper in tests/dlopen: a newer one already there is kept.
LANGUAGES = {"rustc": "rustc", "go": "golang-go"}

SIMDJSON = "pysimdjson==7.0.2"  # its sdist carries simdjson's own single-file sources
SIMDJSON_SDIST = "pysimdjson-7.0.2.tar.gz"
SIMDJSON_SHA256 = "44cf276e48912a3b9c7ca362c14da8420a7ac15a9f1a16ec95becff86db3904a"
SIMDJSON_DIR = ROOT / "build-deps" / "simdjson"
# A private Python for each list of packages: ours, and the other people's programs that we test against.
PYTHONS = {VENV: ROOT / "tests" / "requirements.txt",
           ROOT / ".venv-thirdparty": ROOT / "tests" / "thirdparty" / "requirements.txt",
           ROOT / ".venv-compare": ROOT / "compare" / "harness" / "requirements.txt"}


def setup():
    debian_packages()
    for venv, requirements in PYTHONS.items():
        python_packages(venv, requirements)
    simdjson()


def debian_packages():
    wanted = list(PACKAGES)
    path = environment()["PATH"]
    wanted += [package for tool, package in LANGUAGES.items() if not shutil.which(tool, path=path)]
    if not shutil.which("dpkg-query"):
        raise Failure("This is not a Debian system; install these by hand: " + " ".join(wanted))
    missing = [package for package in wanted if not installed(package)]
    if not missing:
        return
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if root and not shutil.which("sudo"):
        raise Failure("Packages are missing; run as root: apt-get install " + " ".join(missing))
    say("setup: installing " + " ".join(missing))
    apt = root + ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-o", "DPkg::Lock::Timeout=300"]
    run(apt + ["update"], "apt-get update", "see that the package sources can be reached.")
    run(apt + ["install", "-y", "--no-install-recommends"] + missing, "apt-get install",
        "run as root: apt-get install " + " ".join(missing))


def installed(package):
    found = subprocess.run(["dpkg-query", "-W", "-f", "${Status}", package], capture_output=True, text=True)
    return found.stdout.startswith("install ok")


def python_packages(venv, requirements):
    """A private Python with the packages of a list, made anew when the list changes."""
    stamp = venv / "requirements.sha256"
    wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    say(f"setup: Python packages of {requirements.relative_to(ROOT)}")
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else "python3"
    run([python, "-m", "venv", venv], "python3 -m venv", "install python3-venv.")
    run([venv / "bin" / "pip", "install", "-q", "--disable-pip-version-check", "-r", requirements], "pip install",
        "see that PyPI can be reached.")
    stamp.write_text(wanted)


def simdjson():
    """The sources of simdjson, checked by SHA-256: Debian's package has no static library."""
    stamp = SIMDJSON_DIR / "sha256"
    if stamp.exists() and stamp.read_text() == SIMDJSON_SHA256:
        return
    say("setup: simdjson sources")
    with tempfile.TemporaryDirectory() as folder:
        run([VENV / "bin" / "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "--no-binary", "pysimdjson",
             "--dest", folder, SIMDJSON], "pip download " + SIMDJSON, "see that PyPI can be reached.")
        archive = Path(folder, SIMDJSON_SDIST)
        found = hashlib.sha256(archive.read_bytes()).hexdigest()
        if found != SIMDJSON_SHA256:
            raise Failure(f"{SIMDJSON_SDIST} has SHA-256 {found}, not {SIMDJSON_SHA256}: do not use it.")
        SIMDJSON_DIR.mkdir(parents=True, exist_ok=True)
        with tarfile.open(archive) as tar:
            for name in ("simdjson.h", "simdjson.cpp"):
                source = tar.extractfile(f"pysimdjson-7.0.2/simdjson/{name}")
                text = source.read()
                target = SIMDJSON_DIR / name
                if not target.exists() or target.read_bytes() != text:
                    target.write_bytes(text)
    stamp.write_text(SIMDJSON_SHA256)
