// The package as others meet it: installed from its folder and from its tarball, its types, its entry points.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import test, { after, before } from "node:test";
import { here, packageRoot, startMock } from "./support.mjs";

const bin = (name) => path.join(packageRoot, "node_modules/.bin", name);
const manifest = JSON.parse(readFileSync(path.join(packageRoot, "package.json"), "utf8"));
let folder, mock;
before(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), "deemster-package-"));
  mock = await startMock();
});
after(async () => {
  rmSync(folder, { recursive: true });
  await mock.stop();
});

/** An empty project without a compiler or build tool in reach. */
function project(name) {
  const root = path.join(folder, name);
  mkdirSync(root);
  writeFileSync(path.join(root, "package.json"), '{"private":true}');
  const tools = path.join(root, "bin");
  mkdirSync(tools);
  for (const tool of ["node", "npm", "sh"]) symlinkSync(execFileSync("sh", ["-c", `command -v ${tool}`]).toString().trim(), path.join(tools, tool));
  const env = { ...process.env, PATH: tools, TYPESAFE_API_KEY: "k", TYPESAFE_BASE_URL: mock.url, npm_config_cache: path.join(folder, "cache") };
  delete env.NODE_PATH;
  return { root, run: (program, ...args) => execFileSync(path.join(tools, program), args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] }).toString() };
}

const PROGRAM = `
  const client = new deemster.TypeSafeClient();
  client.systemOne({ state: "x", questions: { q: deemster.noul("Is it?") } }).then(({ answers }) => console.log(answers.q.type));`;

function works({ root, run }) {
  writeFileSync(path.join(root, "esm.mjs"), `import * as deemster from "deemster"; ${PROGRAM}`);
  writeFileSync(path.join(root, "cjs.cjs"), `const deemster = require("deemster"); ${PROGRAM}`);
  writeFileSync(path.join(root, "both.mjs"), `import { createRequire } from "node:module"; import { APIError } from "deemster";
    console.log(createRequire(import.meta.url)("deemster").APIError === APIError);`);
  assert.equal(run("node", "esm.mjs").trim(), "noul");
  assert.equal(run("node", "cjs.cjs").trim(), "noul");
  assert.equal(run("node", "both.mjs").trim(), "true");
}

test("installed from its folder", () => {
  const empty = project("folder");
  empty.run("npm", "install", "--offline", "--no-audit", "--no-fund", packageRoot);
  works(empty);
});

test("installed from its tarball, with nothing but what it needs", () => {
  const [{ filename, files }] = JSON.parse(execFileSync("npm", ["pack", "--json", "--pack-destination", folder], { cwd: packageRoot, stdio: ["ignore", "pipe", "ignore"] }));
  const names = files.map((file) => file.path);
  for (const needed of ["dist/index.cjs", "index.mjs", "index.d.cts", "index.d.mts", "unsupported.mjs", "LICENSE", "README.md", "prebuilds/linux-x64-glibc/deemster.node",
    "prebuilds/linux-x64-glibc/libdeemster.so.0.1"]) assert.ok(names.includes(needed), needed);
  assert.ok(names.every((name) => /^(index|unsupported|package\.json|LICENSE|README\.md|dist\/|prebuilds\/)/.test(name)), names.join(" "));
  const empty = project("tarball");
  empty.run("npm", "install", "--offline", "--no-audit", "--no-fund", path.join(folder, filename));
  works(empty);
});

test("there are no install scripts and no dependencies", () => {
  for (const name of Object.keys(manifest.scripts)) assert.doesNotMatch(name, /install|prepare|prepublish/);
  for (const kind of ["dependencies", "optionalDependencies", "peerDependencies"]) assert.equal(manifest[kind], undefined);
});

test("browsers and edge runtimes get one clear sentence", () => {
  for (const condition of ["browser", "edge-light", "workerd"]) {
    const program = `import("deemster").then(() => console.log("loaded"), (error) => console.log(error.message))`;
    const text = execFileSync(process.execPath, [`--conditions=${condition}`, "--input-type=module", "-e", program], { cwd: packageRoot }).toString();
    assert.match(text, /runs on a server \(Node, Bun or Deno on Linux\), not in browsers/);
  }
});

test("where the addon is missing or broken, the reason is told", () => {
  const copy = path.join(folder, "broken");
  cpSync(packageRoot, copy, { recursive: true, filter: (source) => !/node_modules|prebuilds|test$/.test(source.slice(packageRoot.length)) });
  const attempt = () => execFileSync(process.execPath, ["-e", `
    const { TypeSafeClient } = require("./dist/index.cjs");
    try { new TypeSafeClient({ apiKey: "k" }); } catch (error) { console.log(error.message); }`], { cwd: copy }).toString();
  assert.match(attempt(), /^deemster has no prebuilt addon for linux-\w+-glibc; .*npm run build:native/);
  const prebuilt = path.join(copy, "prebuilds/linux-x64-glibc");
  mkdirSync(prebuilt, { recursive: true });
  cpSync(path.join(packageRoot, "prebuilds/linux-x64-glibc/deemster.node"), path.join(prebuilt, "deemster.node"));
  assert.match(attempt(), /could not be loaded: libdeemster\.so\.0\.1: cannot open shared object file/);
});

test("nothing is shown of the folders it was built in", () => {
  for (const file of readdirSync(path.join(packageRoot, "prebuilds/linux-x64-glibc"))) {
    const bytes = readFileSync(path.join(packageRoot, "prebuilds/linux-x64-glibc", file));
    assert.equal(bytes.includes(path.dirname(path.dirname(packageRoot))), false, file);
    assert.ok(statSync(path.join(packageRoot, "prebuilds/linux-x64-glibc", file)).size < 16 * 2 ** 20);
  }
});

test("the addon needs only what it brings and the C library", () => {
  const needed = (file) => execFileSync("objdump", ["-p", path.join(packageRoot, "prebuilds/linux-x64-glibc", file)]).toString().match(/NEEDED +\S+/g).map((row) => row.split(/ +/)[1]);
  const system = /^(libc|libm|libdl|libpthread|ld-linux-x86-64)\.so/;
  assert.deepEqual(needed("deemster.node").filter((name) => !system.test(name)), ["libdeemster.so.0.1"]);
  assert.deepEqual(needed("libdeemster.so.0.1").filter((name) => !system.test(name)), []);
});

test("types: inference, and the cases that must not compile", () => {
  execFileSync(bin("tsc"), ["-p", path.join(here, "types")], { stdio: "pipe" });
});

test("types: publint and attw have nothing to say", () => {
  execFileSync(bin("publint"), ["--strict", packageRoot], { stdio: "pipe" });
  execFileSync(bin("attw"), ["--pack", packageRoot, "--format", "ascii", "--profile", "node16"], { stdio: "pipe" });
});

test("the declarations name what the package exports, and nothing else", async () => {
  const text = readFileSync(path.join(packageRoot, "index.d.cts"), "utf8");
  const declared = [...text.matchAll(/^export declare (?:class|const|function) (\w+)/gm)].map(([, name]) => name);
  const exported = Object.keys(await import("deemster")).filter((name) => name !== "default" && name !== "module.exports");
  assert.deepEqual(declared.filter((name) => name !== "Models").sort(), exported.sort());
  assert.ok(existsSync(path.join(packageRoot, "index.d.mts")));
});

test("files stay small enough to read", () => {
  for (const directory of ["lib", "src"]) {
    for (const name of readdirSync(path.join(packageRoot, directory))) {
      const lines = readFileSync(path.join(packageRoot, directory, name), "utf8").split("\n").length;
      assert.ok(lines < 500, `${directory}/${name} has ${lines} lines`);
    }
  }
});
