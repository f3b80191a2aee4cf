// https, beside Node's own TLS in the same process.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import https from "node:https";
import os from "node:os";
import path from "node:path";
import test, { after, before } from "node:test";
import { APIConnectionError, TypeSafeClient } from "deemster";
import { KEY, QUESTIONS, failureOf, startMock } from "./support.mjs";

let folder, cert, mock;
before(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), "deemster-tls-"));
  cert = path.join(folder, "cert.pem");
  const key = path.join(folder, "key.pem");
  execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", cert],
    { stdio: "ignore" });
  mock = await startMock(`--tls=${cert}`, key);
});
after(async () => {
  await mock.stop();
  rmSync(folder, { recursive: true });
});

const nodesOwn = () => new Promise((resolve, reject) => {
  https.get(`${mock.url}/health`, { ca: readFileSync(cert) }, (response) => response.resume().on("end", () => resolve(response.statusCode))).on("error", reject);
});

test("calls over https, and Node's own requests before, between and after", async () => {
  assert.match(mock.url, /^https:/);
  assert.equal(await nodesOwn(), 200);
  const client = new TypeSafeClient({ apiKey: KEY, baseURL: mock.url, ca: cert });
  const calls = Array.from({ length: 40 }, () => client.systemOne({ state: "x", questions: QUESTIONS }));
  assert.deepEqual(await Promise.all([nodesOwn(), nodesOwn()]), [200, 200]);
  assert.ok((await Promise.all(calls)).every(({ answers }) => answers.q.type === "noul"));
  const { timings, reused } = await client.systemOne({ state: "x", questions: QUESTIONS }).withResponse();
  assert.equal(reused, true);
  assert.equal(timings.tls, 0);
  assert.equal(await nodesOwn(), 200);
  await client.close();
});

test("a certificate that nobody vouches for is refused, and not tried again", async () => {
  const error = await failureOf(new TypeSafeClient({ apiKey: KEY, baseURL: mock.url }).models.list());
  assert.ok(error instanceof APIConnectionError);
  assert.equal(error.code, "ERR_TLS_HANDSHAKE");
  assert.equal(error.attempts, 1);
});
