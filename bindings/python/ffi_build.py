"""Makes the CFFI module from the public headers, so that the two cannot drift apart."""

import re
from pathlib import Path

HEADERS = ("deemster.h", "deemster_experimental.h")


def declarations(text):
    """What CFFI's parser reads of one header: types, functions and constants, without the preprocessor."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    constants = re.findall(r"^#define (DEEM_[A-Z0-9_]+) (\d+)u?\s*$", text, re.MULTILINE)
    text = re.sub(r"^[ \t]*#.*?(?<!\\)$", "", text, flags=re.MULTILINE)
    text = text.replace('extern "C" {', "").replace("DEEM_API ", "")
    text = re.sub(r"^}\s*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\n{2,}", "\n", text).strip()
    return "\n".join([text, *(f"#define {name} {value}" for name, value in constants)])


def cdef(folder):
    """The declarations of all public headers in a folder."""
    return "\n".join(declarations((Path(folder) / name).read_text(encoding="utf-8")) for name in HEADERS)


def make(folder):
    """The builder of the extension module."""
    from cffi import FFI

    ffi = FFI()
    ffi.cdef(cdef(folder))
    ffi.set_source("deemster._native", "".join(f'#include "{name}"\n' for name in HEADERS), py_limited_api=True)
    return ffi


if __name__ == "__main__":
    print(cdef(Path(__file__).resolve().parents[2] / "abi" / "include"))
