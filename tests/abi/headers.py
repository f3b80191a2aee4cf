"""The public headers, each alone, in every dialect that callers use, with warnings as errors.
usage: headers.py"""
import shutil
import subprocess

from interface import EXPERIMENTAL, INCLUDE, STABLE, Results

DIALECTS = [("gcc", "c", "c99"), ("gcc", "c", "c11"), ("g++", "c++", "c++11"),
            ("clang-14", "c", "c99"), ("clang-14", "c", "c11"), ("clang++-14", "c++", "c++11")]


def main():
    results = Results()
    for compiler, language, standard in DIALECTS:
        for header in (STABLE, EXPERIMENTAL):
            if not results.check(shutil.which(compiler), f"{compiler} is not installed"):
                continue
            found = subprocess.run([compiler, f"-std={standard}", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                                    "-x", language, "-I", INCLUDE, "-"], input=f'#include "{header}"\nint unused;\n',
                                   capture_output=True, text=True)
            results.check(found.returncode == 0, f"{header} as {standard} by {compiler}:\n{found.stderr}")
    results.end()


if __name__ == "__main__":
    main()
