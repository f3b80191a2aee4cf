"""The installed tree, moved elsewhere: a consumer is built by pkg-config and by find_package, shared and static, and run.
usage: installed.py BUILD-FOLDER WORK-FOLDER"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

from interface import Results

CONSUMER = """#include <deemster.h>
#include <stdio.h>
int main(void) {
    deem_question_set_builder *builder;
    if (deem_question_set_builder_new(&builder) != DEEM_OK) {
        return 1;
    }
    deem_question_set_builder_free(builder);
    puts(deem_version());
    return 0;
}
"""
PROJECT = """cmake_minimum_required(VERSION 3.22)
project(consumer C CXX)
find_package(deemster 0.1 REQUIRED)
add_executable(shared consumer.c)
target_link_libraries(shared PRIVATE deemster::deemster)
add_executable(static consumer.c)
target_link_libraries(static PRIVATE deemster::static)
set_target_properties(static PROPERTIES LINKER_LANGUAGE CXX)
"""


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, **options).stdout


def main(build, work):
    results, work = Results(), Path(work)
    shutil.rmtree(work, ignore_errors=True)
    source = work / "consumer"
    source.mkdir(parents=True)
    run("cmake", "--install", build, "--prefix", work / "first")
    (work / "first").rename(work / "moved")
    prefix = work / "moved"
    (source / "consumer.c").write_text(CONSUMER)
    (source / "CMakeLists.txt").write_text(PROJECT)

    packages = next(prefix.rglob("pkgconfig"))
    libraries = packages.parent
    environment = {**os.environ, "PKG_CONFIG_PATH": str(packages), "LD_LIBRARY_PATH": str(libraries)}
    flags = run("pkg-config", "--cflags", "--libs", "deemster", env=environment).split()
    results.check(str(prefix) in " ".join(flags), f"pkg-config does not follow the move: {flags}")
    run("cc", source / "consumer.c", "-o", work / "by-pkg-config", *flags)
    results.check(run(work / "by-pkg-config", env=environment) == "0.1.0\n", "the pkg-config consumer")

    run("cmake", "-S", source, "-B", work / "cmake", f"-DCMAKE_PREFIX_PATH={prefix}", env=environment)
    run("cmake", "--build", work / "cmake", env=environment)
    for name in ("shared", "static"):
        results.check(run(work / "cmake" / name, env=environment) == "0.1.0\n", f"the {name} find_package consumer")
    results.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
