"""Every fenced block of README.md and docs/*.md, run. usage: run_blocks.py BUILD-FOLDER WORK-FOLDER COMPILER [PAGE…]

The blocks of a page run in order in one folder, which has links to the project's bindings and docs, with a mock server
in TYPESAFE_BASE_URL.
  c        a program; without a main it is the middle of one that has builder, set, config, client and options ready
           (prelude.h) and a response to fill
  sh       a script for bash with -eu and pipefail; the built commands are on PATH
  python   a program, run through the wrapper
  js       a module, run through the wrapper
  json     one document; when a text block with findings stands right behind it, `deemster check` must say just those
  jsonl    a document per line
  text, csv, tsv   output and data: not run
A block of any other language, or of none, is an error."""
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "dev"))
from mock import Mock  # noqa: E402
from tools import environment  # noqa: E402

BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.M | re.S)
TIMEOUT_S = 120
# The wrappers' own tests run the blocks of their guides, in every interpreter they support.
ELSEWHERE = {("docs/python.md", "python"), ("docs/node.md", "js")}


class Page:
    def __init__(self, path, build, work, compiler, env):
        self.name = str(path.relative_to(ROOT))
        self.folder = work / self.name.replace("/", "-")
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        for name in ("bindings", "docs"):
            (self.folder / name).symlink_to(ROOT / name)
        self.text = path.read_text(encoding="utf-8")
        self.build, self.compiler, self.env = build, compiler, env

    def run(self):
        """Yields (where, problem or None) for each block."""
        matches = list(BLOCK.finditer(self.text))
        for match, following in zip(matches, matches[1:] + [None]):
            language, body = match[1], match[2]
            where = f"{self.name}:{self.text.count(chr(10), 0, match.start()) + 1} ({language or 'no language'})"
            findings = None
            if following and following[1] == "text" and self.text[match.end():following.start()].strip() == "":
                findings = following[2]
            if (self.name, language) in ELSEWHERE:
                continue
            action = getattr(self, f"block_{language}", None) if re.fullmatch(r"\w+", language) else None
            if action is None:
                yield where, "no such language: see the head of tests/docs/run_blocks.py"
            else:
                yield where, action(body, findings)

    def command(self, *command):
        """Runs a command in the page's folder; gives what is wrong, or None."""
        done = subprocess.run([str(part) for part in command], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=TIMEOUT_S)
        return None if done.returncode == 0 else f"ended with {done.returncode}\n{done.stdout}"

    def block_c(self, body, findings):
        if not re.search(r"^int main\(", body, re.M):
            body = f'#include "prelude.h"\n\nint main(void) {{\n    prepare();\n{body}\n    finish();\n    return 0;\n}}\n'
        (self.folder / "block.c").write_text(body, encoding="utf-8")
        library = self.build / "abi"
        return self.command(self.compiler, "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-pthread", "-I", ROOT / "abi/include", "-I",
                            Path(__file__).parent, "block.c", "-L", library, f"-Wl,-rpath,{library}", "-ldeemster", "-o", "block") or \
            self.command("./block")

    def block_sh(self, body, findings):
        return self.command("bash", "-euo", "pipefail", "-c", body)

    def block_python(self, body, findings):
        return self.wrapper("python", "python", "-c", body)

    def block_js(self, body, findings):
        # A module is resolved from where it lies, so it lies where the wrapper's env.sh makes the package known.
        module = self.folder / "block.mjs"
        module.write_text(body, encoding="utf-8")
        return self.wrapper("node", "node", module)

    def wrapper(self, name, *command):
        shell = 'set -e; here=$PWD; cd "$1"; . "bindings/$2/env.sh" >&2; cd "$here"; shift 2; exec "$@"'
        return self.command("bash", "-c", shell, "bash", ROOT, name, *command)

    def block_json(self, body, findings):
        try:
            json.loads(body)
        except ValueError as error:
            return str(error)
        if findings is None or not re.match(r"(error|warning) ", findings):
            return None
        (self.folder / "block.json").write_text(body, encoding="utf-8")
        done = subprocess.run([self.build / "bin" / "deemster", "check", "block.json"], cwd=self.folder, env=self.env,
                              capture_output=True, text=True, encoding="utf-8")
        said = [line.split(": ", 1)[1] for line in done.stdout.splitlines() if re.match(r"block\.json: (error|warning) ", line)]
        return None if said == findings.splitlines() else f"the page says\n{findings}\ndeemster check says\n{done.stdout}"

    def block_jsonl(self, body, findings):
        try:
            for line in body.splitlines():
                json.loads(line)
        except ValueError as error:
            return str(error)
        return None

    def block_text(self, body, findings):
        return None

    block_csv = block_tsv = block_text


def main(build, work, compiler, *names):
    build, work = Path(build), Path(work)
    pages = [ROOT / name for name in names] or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    passed = failed = 0
    with Mock(build / "bin" / "deemster-mock") as server:
        env = environment(**server.variables(), DEEMSTER_ROOT=str(ROOT), DEEMSTER_BUILD=str(build), CI="true")
        env["PATH"] = os.pathsep.join([str(build / "bin"), env["PATH"]])
        for page in pages:
            for where, problem in Page(page, build, work, compiler, env).run():
                passed, failed = passed + (problem is None), failed + (problem is not None)
                if problem is not None:
                    print(f"FAILED {where}: {problem}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
