"""Exported names: headers, version script, abi/symbols.md and the built library say the same.
usage: names.py LIBRARY"""
import re
import sys

from interface import EXPERIMENTAL, INCLUDE, ROOT, SONAME, STABLE, Results, constants, nodes, output, prototypes


def listed():
    """abi/symbols.md: {name: (header, since, deprecated)}."""
    rows, header = {}, None
    for line in (ROOT / "abi" / "symbols.md").read_text().splitlines():
        if line.startswith("## "):
            header = line[3:]
        row = re.fullmatch(r"\| `(\w+)` \| ([\d.]+) \| (-|[\d.]+) \| (.+) \|", line)
        if row:
            assert row[1] not in rows, f"{row[1]} is listed twice"
            rows[row[1]] = (header, row[2], row[3])
    return rows


def main(library):
    results = Results()
    symbols, script = listed(), nodes()
    declared = {match["name"]: (header, match["doc"])
                for header in (STABLE, EXPERIMENTAL) for match in prototypes((INCLUDE / header).read_text())}
    dynamic = output("nm", "-D", "--defined-only", library)
    exported = dict(re.findall(r" T (\w+)@@(\S+)$", dynamic, re.M))
    for name in sorted(symbols.keys() | script.keys() | declared.keys() | exported.keys()):
        places = {"abi/symbols.md": symbols, "abi/deemster.map": script, "a header": declared, "the library": exported}
        missing = [place for place, names in places.items() if name not in names]
        if not results.check(not missing, f"{name} is missing in {', '.join(missing)}"):
            continue
        header, since, deprecated = symbols[name]
        node = "DEEMSTER_EXPERIMENTAL" if header == EXPERIMENTAL else f"DEEMSTER_{since}"
        results.check(declared[name][0] == header, f"{name} is listed under {header} and declared in {declared[name][0]}")
        results.check(script[name] == exported[name] == node, f"{name}: node {node}, script {script[name]}, library {exported[name]}")
        marked = "@deprecated" in declared[name][1]
        results.check(marked == (deprecated != "-"), f"{name}: deprecated in the header {marked}, in the list {deprecated}")
    stray = [line for line in dynamic.splitlines() if not re.search(r" T deem_\w+@@| A DEEMSTER_", line)]
    results.check(not stray, f"stray exports: {stray}")

    names = (INCLUDE / STABLE).read_text() + (INCLUDE / EXPERIMENTAL).read_text()
    macros = set(re.findall(r"^#define (\w+)", names, re.M)) - {"DEEMSTER_H", "DEEMSTER_EXPERIMENTAL_H"}
    results.check(all(name.startswith("DEEM_") for name in macros), "a macro without the prefix DEEM_")
    for frozen in sorted((ROOT / "abi" / "frozen").glob("*/deemster.h")):
        now = constants(names)
        for name, value in constants(frozen.read_text()).items():
            if name not in ("DEEM_ABI_MINOR",):
                results.check(now.get(name) == value, f"{name} was {value} in {frozen.parent.name}, is {now.get(name)}")

    dynamic = output("readelf", "-dW", library)
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    results.check(needed <= {"libc.so.6", "ld-linux-x86-64.so.2"}, f"the library needs {sorted(needed)}, not libc alone")
    results.check(f"[{SONAME}]" in dynamic, f"the SONAME is not {SONAME}")
    results.check("BIND_NOW" in dynamic and "GNU_RELRO" in output("readelf", "-lW", library), "the library lacks relro or now")
    results.check("TEXTREL" not in dynamic and "RPATH" not in dynamic and "RUNPATH" not in dynamic, "the library has text relocations or a run path")
    results.end()


if __name__ == "__main__":
    main(sys.argv[1])
