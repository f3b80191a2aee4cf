// Run by scripts/build-release.sh in an empty project: the package answers over https by its own libcurl, whatever the
// system has, and Node's own TLS goes on working beside it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import https from "node:https";
import { TypeSafeClient, noul } from "deemster";

const mock = spawn(process.argv[2], ["--quiet", "--exit-with-stdin", "--tls=cert.pem", "key.pem"], { stdio: ["pipe", "pipe", "inherit"] });
const url = String((await once(mock.stdout, "data"))[0]).trim();
assert.match(url, /^https:/);
const client = new TypeSafeClient({ apiKey: "k", baseURL: url, ca: "cert.pem" });
const results = await Promise.all(Array.from({ length: 50 }, () => client.systemOne({ state: "x", questions: { q: noul("Is it?") } })));
assert.ok(results.every(({ answers }) => answers.q.type === "noul"));
const refused = await new TypeSafeClient({ apiKey: "k", baseURL: url, retry: { maxRetries: 0 } }).models.list().catch((error) => error);
assert.equal(refused.code, "ERR_TLS_HANDSHAKE");
const status = await new Promise((resolve, reject) => https.get(`${url}/health`, { ca: readFileSync("cert.pem") }, ({ statusCode }) => resolve(statusCode)).on("error", reject));
assert.equal(status, 200);
const maps = readFileSync("/proc/self/maps", "utf8");
assert.match(maps, /libdeemster-curl\.so\.4/);
assert.doesNotMatch(maps, /\/libcurl(-gnutls)?\.so\.4/);
assert.doesNotMatch(maps, /\/lib(ssl|crypto)\.so/);
await client.close();
mock.stdin.end();
console.log("the package answers over https by its own libcurl");
process.exit(0);
