"""The lint stage: format, folder rules, clang-tidy, cppcheck, documentation of the public headers."""
import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools import BUILD, JOBS, ROOT, Failure, logged, say, variant

# Whose compile commands are read: clang-tidy refuses flags that gcc alone knows.
COMPILED = variant("clang")


def all_checks():
    passed = failed = 0
    for check in (format_check, folders, clang_tidy, cppcheck, doxygen):
        code, output = check()
        if code == 0:
            passed += 1
        else:
            failed += 1
            say(f"  FAILED {check.__doc__}\n" + "\n".join(output.splitlines()[-60:]))
    return passed, failed


def tracked(*patterns):
    """The files that git knows, or would: so that build folders never count."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", *patterns], cwd=ROOT, check=True,
                            capture_output=True, text=True)
    return [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]


def format_check():
    """clang-format (mend it with: clang-format-14 -i FILE)"""
    return logged(["clang-format-14", "--dry-run", "-Werror", *tracked("*.c", "*.h", "*.cc")], "clang-format")


def folders():
    """folder rules (tests/lint/folders.py)"""
    return logged(["python3", "tests/lint/folders.py", *tracked("*.c", "*.h", "*.cc")], "folder rules")


def compiled():
    """Our own C files that the build compiles, each once. The simdjson shim is the one file left out of
    clang-tidy and cppcheck: both read simdjson's 5 MB header with it and complain about that alone."""
    commands = json.loads((COMPILED / "compile_commands.json").read_text())
    files = {str(Path(entry["file"]).resolve().relative_to(ROOT)) for entry in commands
             if Path(entry["file"]).resolve().is_relative_to(ROOT)}
    return sorted(name for name in files if name.endswith(".c") and not name.startswith("build"))


def clang_tidy():
    """clang-tidy (.clang-tidy)"""
    def one(name):
        return logged(["clang-tidy-14", "-p", COMPILED, "--quiet", "--warnings-as-errors=*", name], f"clang-tidy {name}")
    with ThreadPoolExecutor(int(JOBS)) as pool:
        results = list(pool.map(one, compiled()))
    bad = [output for code, output in results if code != 0]
    return len(bad), "\n".join(bad)


def cppcheck():
    """cppcheck (tests/lint/cppcheck.txt)"""
    return logged(["cppcheck", "--quiet", "--std=c11", "--enable=warning,performance,portability", "--error-exitcode=1",
                   "--inline-suppr", "-j", JOBS, "--suppressions-list=tests/lint/cppcheck.txt", "-Icore", "-Iabi/include",
                   "-D_GNU_SOURCE", *[name for name in compiled() if not name.startswith("tests/unit/")]], "cppcheck")


def doxygen():
    """doxygen over the public headers (docs/Doxyfile)"""
    (BUILD / "doxygen").mkdir(parents=True, exist_ok=True)
    return logged(["bash", "-c", "(cat docs/Doxyfile; echo \"OUTPUT_DIRECTORY=$0\") | doxygen -", BUILD / "doxygen"], "doxygen")
