"""Builds the package: the C library with CMake, the extension with CFFI, both side by side in `deemster/`.

DEEMSTER_LIBRARY names a libdeemster.so that is built already; it is then taken as it is.
DEEMSTER_CMAKE_ARGS is added to the CMake configuration. DEEMSTER_CARRIED names a libcurl that the package carries.
"""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
NATIVE = HERE / "native"  # an sdist carries the C sources there; a checkout has them two folders up
ROOT = NATIVE if NATIVE.is_dir() else HERE.parent.parent
SONAME = "libdeemster.so.0.1"
SOURCES = ("CMakeLists.txt", "LICENSE", "core", "abi", "build-deps/simdjson")

sys.path.insert(0, str(HERE))
import ffi_build  # noqa: E402

if not sys.platform.startswith("linux"):
    sys.exit("deemster runs on Linux only for now: there is no build for this platform.")
if sysconfig.get_config_var("Py_GIL_DISABLED"):
    sys.exit("deemster has no build for free-threaded Python yet: install it into an ordinary CPython.")


class BuildNative(build_ext):
    """Builds libdeemster first, then the extension that links it, and puts both into the package."""

    def run(self):
        self.library = Path(os.environ["DEEMSTER_LIBRARY"]) if os.environ.get("DEEMSTER_LIBRARY") else self.build_library()
        super().run()
        package = HERE / "deemster" if self.inplace else Path(self.build_lib) / "deemster"
        shutil.copy(self.library.resolve(), package / SONAME)
        self.strip(package / SONAME)
        if os.environ.get("DEEMSTER_CARRIED"):
            shutil.copy(os.environ["DEEMSTER_CARRIED"], package)

    def build_library(self):
        folder = Path(self.build_temp).resolve() / "native"
        folder.mkdir(parents=True, exist_ok=True)
        simdjson = ROOT / "build-deps" / "simdjson"
        options = [
            "-DCMAKE_BUILD_TYPE=Release", "-DDEEMSTER_TESTS=OFF", "-DDEEMSTER_BENCH=OFF", "-DDEEMSTER_PROGRAMS=OFF",
            f"-DDEEMSTER_JSON={'simdjson' if (simdjson / 'simdjson.cpp').is_file() else 'scan'}",
            f"-DDEEMSTER_SIMDJSON_DIR={simdjson}",
        ]
        if shutil.which("ninja"):
            options += ["-G", "Ninja"]
        options += shlex.split(os.environ.get("DEEMSTER_CMAKE_ARGS", ""))
        if shutil.which("cmake") is None:
            sys.exit("deemster builds its C library with CMake: install cmake and a C compiler, or install a wheel.")
        subprocess.run(["cmake", "-S", str(ROOT), "-B", str(folder), *options], check=True)
        subprocess.run(["cmake", "--build", str(folder), "--target", "deemster", "-j", "2"], check=True)
        found = sorted(folder.rglob("libdeemster.so*"))
        if not found:
            sys.exit("The build of the C library left no libdeemster.so: read the messages above.")
        return found[0]

    def build_extension(self, ext):
        source = Path(self.build_temp).resolve() / "_native.c"
        source.parent.mkdir(parents=True, exist_ok=True)
        ffi_build.make(ROOT / "abi" / "include").emit_c_code(str(source))
        folder = source.parent / "link"
        folder.mkdir(exist_ok=True)
        for name in (SONAME, "libdeemster.so"):
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(self.library.resolve())
        ext.sources = [str(source)]
        ext.include_dirs = [str(ROOT / "abi" / "include")]
        ext.library_dirs = [str(folder)]
        # A Python that was built with a run path of its own would leave it in our file.
        self.compiler.linker_so = [flag for flag in self.compiler.linker_so if "rpath" not in flag]
        super().build_extension(ext)
        self.strip(Path(self.get_ext_fullpath(ext.name)))

    @staticmethod
    def strip(path):
        tool = shutil.which("strip")
        if tool and not os.environ.get("DEEMSTER_KEEP_SYMBOLS"):
            path.chmod(0o755)
            subprocess.run([tool, "--strip-unneeded", str(path)], check=True)


class SourceArchive(sdist):
    """Puts the C sources beside the package, so that the archive builds on its own."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        for name in SOURCES:
            source, target = ROOT / name, Path(base_dir) / "native" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            elif source.is_file():
                shutil.copy(source, target)


scratch = os.environ.get("DEEMSTER_SCRATCH") or str(
    (HERE if NATIVE.is_dir() else ROOT) / f"build-python-{sys.version_info[0]}.{sys.version_info[1]}")
os.makedirs(scratch, exist_ok=True)
setup(
    ext_modules=[Extension(
        "deemster._native", sources=[], libraries=["deemster"], py_limited_api=True,
        define_macros=[("Py_LIMITED_API", "0x030A0000")],
        extra_compile_args=["-fvisibility=hidden"],
        extra_link_args=["-Wl,-rpath,$ORIGIN", "-Wl,-z,relro,-z,now"],
    )],
    cmdclass={"build_ext": BuildNative, "sdist": SourceArchive},
    options={
        "bdist_wheel": {"py_limited_api": "cp310"},
        "build": {"build_base": scratch},
        "egg_info": {"egg_base": scratch},
    },
)
