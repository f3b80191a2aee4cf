"""Folder rules: reads the #include lines of the files named on the command line and fails on one that
goes the wrong way. The rules are the table below."""
import re
import sys
from pathlib import Path

# Which folders of core each one may know, besides itself and the public headers.
KNOWS = {
    "base": [],
    "json": ["base"],
    "http1": ["base"],
    "questions": ["base", "json"],
    "answers": ["base", "json", "questions"],
    "protocol": ["base", "json", "http1", "questions", "answers"],
    "transport": ["base", "http1"],
    "engine": ["base", "json", "http1", "questions", "answers", "protocol", "transport"],
    "batch": ["base", "json", "http1", "questions", "answers", "protocol", "transport", "engine"],
}
# A header of another library belongs to one place alone.
OWNERS = {
    "simdjson.h": ["core/json/"],
    "curl/": ["core/transport/", "bench/", "compare/", "tests/"],
    "sha2.h": ["core/base/"],
    "zlib.h": ["core/http1/", "core/transport/", "compare/", "tests/"],
    "microhttpd.h": ["compare/"],
}
PUBLIC = ("deemster.h", "deemster_experimental.h")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.M)


def problem(path, header):
    """What is wrong when the file at `path` includes `header`, or None."""
    for start, owners in OWNERS.items():
        if header.startswith(start) and not path.startswith(tuple(owners)):
            return f"only {', '.join(owners)} may include <{header}>"
    target = header.split("/")[0]
    in_core = target in KNOWS and "/" in header
    if path.startswith("core/"):
        own = path.split("/")[1]
        if in_core and target != own and target not in KNOWS[own]:
            return f"core/{own} may not know core/{target}"
    elif path.startswith("abi/include/"):
        if header not in PUBLIC and not re.fullmatch(r"std\w+\.h", header):
            return "a public header includes standard headers alone"
    elif path.startswith(("bindings/", "compare/", "docs/", "abi/frozen/")) and in_core:
        return "outside the core only the public headers may be included"
    return None


def main(paths):
    found = 0
    for path in paths:
        text = Path(path).read_text(encoding="utf-8")
        for match in INCLUDE.finditer(text):
            wrong = problem(path, match.group(2))
            if wrong:
                line = text.count("\n", 0, match.start(2)) + 1
                print(f"{path}:{line}: {match.group(2)}: {wrong}")
                found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
