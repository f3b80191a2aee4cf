// What the tests share: the mock server, a server that answers with scripted bytes, child processes.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const here = path.dirname(fileURLToPath(import.meta.url));
export const packageRoot = path.dirname(here);
export const projectRoot = path.resolve(packageRoot, "../..");
export const KEY = "key-4711-test";
export const ENTRY = path.join(packageRoot, "index.mjs");

export const GOOD = '{"model":"jev-1.13.0","answers":{"q":{"type":"noul","noul":0.9}},"usage":{"input_tokens":10,"output_tokens":2}}';
export const QUESTIONS = { q: { type: "noul", instructions: "Is it so?" } };

/** Starts the mock with these arguments. */
export async function startMock(...args) {
  const program = process.env.DEEMSTER_MOCK ?? path.join(projectRoot, "build/bin/deemster-mock");
  const child = spawn(program, ["--quiet", "--exit-with-stdin", ...args], { stdio: ["pipe", "pipe", "inherit"] });
  const [line] = await once(child.stdout, "data");
  const url = String(line).trim();
  return {
    url,
    last: async () => (await fetch(`${url}/control/last`)).json(),
    stop: async () => {
      child.stdin.end();
      child.kill();
      await once(child, "exit");
    },
  };
}

/** The bytes of a whole reply. */
export function reply(status = 200, body = GOOD, headers = {}) {
  const rows = Object.entries({ "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body), ...headers });
  return Buffer.from(`HTTP/1.1 ${status} X\r\n${rows.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`);
}

/**
 * A server that gives each request the next reply of the list, the last one again and again: bytes, a function
 * (socket, request) that does as it likes, or null for silence.
 */
export async function scripted(...replies) {
  const requests = [];
  const sockets = new Set();
  const server = net.createServer((socket) => {
    let held = Buffer.alloc(0);
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    socket.on("data", (chunk) => {
      held = Buffer.concat([held, chunk]);
      for (;;) {
        const end = held.indexOf("\r\n\r\n");
        if (end < 0) return;
        const head = held.subarray(0, end).toString("latin1");
        const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
        if (held.length < end + 4 + length) return;
        const request = { head, body: held.subarray(end + 4, end + 4 + length).toString() };
        request.headers = Object.fromEntries(head.split("\r\n").slice(1).map((row) => [row.split(":")[0].toLowerCase(), row.slice(row.indexOf(":") + 2)]));
        held = held.subarray(end + 4 + length);
        requests.push(request);
        const answer = replies[Math.min(requests.length, replies.length) - 1];
        if (typeof answer === "function") answer(socket, request);
        else if (answer !== null) socket.write(answer);
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    requests,
    connections: () => sockets.size,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** Runs a program given as text in a process of its own, by the runtime that runs the tests. */
export async function run(program, { gc = false, env = {}, timeout = 60_000 } = {}) {
  const folder = mkdtempSync(path.join(os.tmpdir(), "deemster-test-"));
  const file = path.join(folder, "program.mjs");
  writeFileSync(file, program);
  const args = globalThis.Deno ? ["run", "-A", "--no-check", ...(gc ? ["--v8-flags=--expose-gc"] : []), file] : [...(gc ? ["--expose-gc"] : []), file];
  const child = spawn(process.execPath, args, { env: { ...process.env, DEEMSTER_ENTRY: ENTRY, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (data) => (stdout += data));
  child.stderr.on("data", (data) => (stderr += data));
  const timer = setTimeout(() => child.kill("SIGKILL"), timeout);
  const [code, signal] = await once(child, "close");
  clearTimeout(timer);
  rmSync(folder, { recursive: true });
  return { code, signal, stdout, stderr };
}

/** The error that a promise rejects with. */
export async function failureOf(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("the promise was fulfilled");
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
