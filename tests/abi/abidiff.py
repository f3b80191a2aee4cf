"""The built library against the baseline, by abidiff; and the gate itself against mutants that it must refuse.
usage: abidiff.py LIBRARY WORK-FOLDER COMPILER   or   abidiff.py --write LIBRARY

How abidiff 2.2 can be made to see nothing, and what is done about it here:
- a stripped library passes: debug information is asserted first;
- suppressions hide more than they say: there are none;
- a baseline without source places (--no-show-locs) makes every type private: ours has them;
- a change of a signature exits 4, as an addition does: every exit but 0 fails;
- functions with the same body may be folded by gcc (-fipa-icf), and all but one lose their description: each
  exported function must be described in the baseline and in the library;
- a record that no signature names is not compared: deem_answer goes through void *, so a small
  library made from the header, with the record in a signature, is compared beside the real one."""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from interface import INCLUDE, MAP, ROOT, SONAME, Results, nodes, output, prototypes

BASELINE = ROOT / "abi" / "baseline" / "x86_64.abi"
RECORDS = ROOT / "abi" / "baseline" / "records.abi"

# What is done to the headers, and must be noticed: (what, pattern, replacement).
MUTANTS = [
    ("a function removed", r"DEEM_API const char \*deem_reason_name\(int32_t reason\);", ""),
    ("a parameter added", r"deem_version\(void\)", "deem_version(int32_t which)"),
    ("a parameter narrowed", r"deem_config_set_deadline_ms\(deem_config \*config, int64_t", "deem_config_set_deadline_ms(deem_config *config, int32_t"),
    ("a return type changed", r"DEEM_API int32_t deem_has\(", "DEEM_API int64_t deem_has("),
    ("a field narrowed", r"double value; ", "float value; uint32_t spare; "),
    ("fields reordered", r"int32_t question;(.*?)int32_t kind;", r"int32_t kind;\1int32_t question;"),
    ("fields of one type reordered", r"double value;(.*?)double confidence;", r"double confidence;\1double value;"),
    ("a field removed", r"uint64_t reserved\[2\];", "uint64_t reserved[1];"),
    ("an experimental parameter added", r"deem_exchange_cancel\(deem_exchange \*exchange\)", "deem_exchange_cancel(deem_exchange *exchange, int32_t how)"),
]


def has_debug_information(library):
    return ".debug_info" in output("readelf", "-SW", library)


def undescribed(interface):
    """The exported functions that an abidw document does not describe."""
    return sorted(nodes().keys() - set(re.findall(r"<function-decl name='(\w+)'", interface)))


def same(baseline, library, include, shown):
    """Whether abidiff finds nothing at all between a baseline and a library."""
    found = subprocess.run(["abidiff", "--no-added-syms", "--drop-private-types", "--headers-dir2", str(include), str(baseline),
                            str(library)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if found.returncode != 0 and shown:
        print(found.stdout)
    return found.returncode == 0


def gate(library, include, work, compiler, shown=True):
    """Whether an interface passes: the library and the records are those of the baselines, and could be seen."""
    if not has_debug_information(library):
        return False
    return same(BASELINE, library, include, shown) & same(RECORDS, records(work, include, compiler), include, shown)


def records(work, include, compiler):
    """A library with every public record in a signature, made from the header."""
    work.mkdir(parents=True, exist_ok=True)
    source, library = work / "records.c", work / "records.so"
    source.write_text('#include "deemster.h"\ndeem_answer *records(deem_answer *answer);\n'
                      "deem_answer *records(deem_answer *answer) { return answer; }\n")
    subprocess.run([compiler, "-std=c11", "-g", "-fPIC", "-shared", f"-fdebug-prefix-map={ROOT}/=", "-I", include, source, "-o", library],
                   check=True)
    return library


def write(library):
    if not has_debug_information(library):
        sys.exit(f"{library} has no debug information: build with -g and do not strip.")
    BASELINE.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for baseline, made in ((BASELINE, library), (RECORDS, records(Path(folder), INCLUDE, "gcc"))):
            subprocess.run(["abidw", "--headers-dir", str(INCLUDE), "--drop-private-types", "--no-comp-dir-path",
                            "--no-corpus-path", "--out-file", str(baseline), str(made)], check=True)
            print(f"wrote {baseline.relative_to(ROOT)}")


def stand_in(folder, compiler, pattern=None, replacement=""):
    """A library whose functions do nothing, made from a copy of the headers with one change."""
    include = folder / "include"
    include.mkdir(parents=True, exist_ok=True)
    bodies, changed = [], 0
    for header in sorted(INCLUDE.glob("*.h")):
        text = header.read_text()
        if pattern:
            text, times = re.subn(pattern, replacement, text, flags=re.S)
            changed += times
        (include / header.name).write_text(text)
        for match in prototypes(text):
            kind = match["type"].strip()
            value = "" if kind == "void" else "return 0;"
            bodies.append(f"{kind} {match['name']}({match['arguments']}) {{ {value} }}")
    if pattern and changed != 1:
        sys.exit(f"{pattern} changed {changed} places, not one: mend the mutant.")
    source, library = folder / "stand_in.c", folder / "libdeemster.so"
    source.write_text('#include "deemster_experimental.h"\n' + "\n".join(bodies) + "\n")
    subprocess.run([compiler, "-std=c11", "-g", "-fPIC", "-shared", "-fvisibility=hidden", "-I", include, source, "-o", library,
                    f"-Wl,--version-script={MAP}", f"-Wl,-soname,{SONAME}"], check=True)
    return library, include, folder, compiler


def main(library, work, compiler):
    results, work = Results(), Path(work)
    results.check(gate(library, INCLUDE, work, compiler), "the interface differs from abi/baseline (docs/abi.md says what to do)")
    for what, interface in (("baseline", BASELINE.read_text()), ("library", output("abidw", library))):
        missing = undescribed(interface)
        results.check(not missing, f"the {what} does not describe {', '.join(missing)}")
    stripped = work / "stripped.so"
    subprocess.run(["strip", "-o", stripped, library], check=True)
    results.check(not gate(stripped, INCLUDE, work, compiler, shown=False), "the gate passes a stripped library")
    results.check(gate(*stand_in(work / "unchanged", compiler)), "the gate refuses a stand-in made from unchanged headers")
    for what, pattern, replacement in MUTANTS:
        mutant = stand_in(work / what.replace(" ", "-"), compiler, pattern, replacement)
        results.check(not gate(*mutant, shown=False), f"the gate passes a library with {what}")
    results.end()


if __name__ == "__main__":
    if sys.argv[1] == "--write":
        write(sys.argv[2])
    else:
        main(*sys.argv[1:])
