// The reader of core/http1 and Node's own HTTP parser read the same bytes. The verdict (a whole reply, or an error),
// the status and the body must be the same, but for the differences that are listed and explained here; a listed
// difference that no longer shows up fails too. Usage: node differential.mjs PATH_OF_http1_probe
import { spawnSync } from "node:child_process";
import http from "node:http";
import net from "node:net";
import zlib from "node:zlib";
import cases from "./cases.mjs";

// Where the two differ: what ours does, why, and the cases.
const differences = [
  {
    ours: "refuses",
    why: "101 was not asked for: no request of ours carries Upgrade",
    cases: ['status line "HTTP/1.1 101 Switching Protocols"'],
  },
  {
    ours: "refuses",
    why: "only HTTP/1.0 and 1.1 with a status of 100 to 999 (RFC 9112, 4; RFC 9110, 15)",
    cases: ["HTTP/1.1 099 x", "HTTP/2.0 200 OK", "HTTP/0.9 200 OK"].map((line) => `status line "${line}"`),
  },
  {
    ours: "refuses",
    why: "a reason phrase holds no control bytes (RFC 9112, 4)",
    cases: ["O\0K", "O\x1bK", "O\x7fK"].map((reason) => `status line ${JSON.stringify(`HTTP/1.1 200 ${reason}`)}`),
  },
  {
    ours: "refuses",
    why: "an empty line before a reply is what a wrong length of the one before looks like",
    cases: ["empty line first"],
  },
  {
    ours: "accepts",
    why: "a lone LF may end a line of a head (RFC 9112, 2.2); small servers and test doubles send it",
    cases: [
      "LF alone ends the lines", "LF alone ends the status line", "LF alone ends a header line",
      "LF alone ends the head",
    ],
  },
  {
    ours: "refuses",
    why: "128 header fields and 16 KiB a line are the limits",
    cases: ["200 header fields", "header line of 20,000 bytes"],
  },
  {
    ours: "accepts",
    why: "what follows a whole reply makes the connection not reusable, and leaves the reply as it is",
    cases: [
      'Content-Length "0"', 'Content-Length "1"', "surplus after the body", "Connection: close and surplus",
      "204 with surplus", "304 with surplus", 'chunks "2\\r\\nhi\\r\\n0\\r\\n\\r\\nmore"',
    ],
  },
  {
    ours: "accepts",
    why: "the same length twice is harmless (RFC 9112, 6.3), and so is a tab behind it (RFC 9110, 5.5)",
    cases: ['Content-Length "2,2"', 'Content-Length "2, 2"', 'Content-Length "2\\t"', "Content-Length twice, equal"],
  },
  {
    ours: "accepts",
    why: "some servers pad a chunk size with spaces; extensions are skipped unread",
    cases: ["2 ", "2 ;x", "2\t", "2;", "2;;"].map((size) => `chunks ${JSON.stringify(`${size}\r\nhi\r\n0\r\n\r\n`)}`),
  },
  {
    ours: "accepts",
    why: "extensions count to the limit of 64 KiB for heads; Node's is 16 KiB",
    cases: ["a very long chunk extension"],
  },
  {
    ours: "accepts",
    why: "a trailer never frames anything (RFC 9110, 6.5.1)",
    cases: ['chunks "2\\r\\nhi\\r\\n0\\r\\nContent-Length: 5\\r\\n\\r\\n"'],
  },
  {
    ours: "accepts",
    why: "chunks win over a length, and the connection is not reused (RFC 9112, 6.3)",
    cases: ["Transfer-Encoding then length", "length then Transfer-Encoding"],
  },
  {
    ours: "refuses",
    why: "no transfer coding but chunked, once, is offered or can be read; Node hands the coded bytes on",
    cases: [
      ...["identity", "gzip", "gzip, chunked", "chunked, gzip", "chunked, chunked", "chunked;q=1", "xchunked",
        "chunkedx", "", "chunked\tx", '"chunked"'].map((value) => `Transfer-Encoding ${JSON.stringify(value)}`),
      "Transfer-Encoding twice",
    ],
  },
  {
    ours: "another body",
    why: "empty list elements are ignored (RFC 9110, 5.6.1.2); Node then takes the chunks as the body itself",
    cases: ['Transfer-Encoding "chunked,"'],
  },
];
const agreed = new Map(differences.flatMap((each) => each.cases.map((name) => [name, each.ours])));

const probe = process.argv[2];
if (probe === undefined) {
  console.error("usage: node differential.mjs PATH_OF_http1_probe");
  process.exit(2);
}

function ours({ bytes, head }, extra = []) {
  const run = spawnSync(probe, [...(head ? ["HEAD"] : []), ...extra], { input: bytes, maxBuffer: 1 << 26 });
  if (run.status !== 0) throw new Error(`the probe failed: ${run.status} ${run.signal} ${run.stderr}`);
  const result = JSON.parse(run.stdout);
  result.message = Buffer.from(result.message, "hex").toString();
  return result;
}

function decode(coding, body) {
  switch ((coding ?? "identity").toLowerCase()) {
    case "gzip":
    case "x-gzip":
      return body.length === 0 ? body : zlib.gunzipSync(body);
    case "deflate":
      return (body[0] & 15) === 8 ? zlib.inflateSync(body) : zlib.inflateRawSync(body);
    default:
      return body;
  }
}

// What Node's client makes of the bytes, sent in one piece on a connection that is then closed.
function nodes({ bytes, head }) {
  return new Promise((resolve) => {
    const server = net.createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.end(bytes));
    });
    const finish = (result) => {
      server.close();
      resolve(result);
    };
    server.listen(0, "127.0.0.1", () => {
      const request = http.request({
        host: "127.0.0.1",
        port: server.address().port,
        method: head ? "HEAD" : "GET",
        agent: false,
        maxHeaderSize: 65536,
      });
      const failed = (error) => finish({ ok: false, why: error.code ?? error.message });
      request.setTimeout(5000, () => request.destroy(new Error("Node waits for more")));
      request.on("error", failed);
      request.on("response", (response) => {
        const pieces = [];
        response.on("data", (piece) => pieces.push(piece));
        response.on("error", failed);
        response.on("end", () => {
          try {
            const body = head ? Buffer.alloc(0) : decode(response.headers["content-encoding"], Buffer.concat(pieces));
            finish({ ok: response.complete, status: response.statusCode, body: body.toString("hex") });
          } catch (error) {
            failed(error);
          }
        });
      });
      request.end();
    });
  });
}

function compare(us, node) {
  if (us.ok !== node.ok) return us.ok ? "accepts" : "refuses";
  if (us.ok && us.status !== node.status) return `status ${us.status}, Node ${node.status}`;
  if (us.ok && us.body !== node.body) return "another body";
  return "same";
}

let failures = 0;
let same = 0;
const seen = new Set();
const fail = (text) => {
  failures++;
  console.log(`FAIL ${text}`);
};
for (const each of cases) {
  if (seen.has(each.name)) fail(`two cases are named ${each.name}`);
  seen.add(each.name);
  const us = ours(each);
  const single = ours(each, ["ONE"]);
  if (JSON.stringify(us) !== JSON.stringify(single)) fail(`${each.name}: byte by byte the reader says otherwise`);
  const node = await nodes(each);
  const got = compare(us, node);
  const want = agreed.get(each.name) ?? "same";
  if (got === "same") same++;
  if (got !== want) {
    fail(`${each.name}: ${got}, expected: ${want}\n     reader: ${us.ok ? us.status : us.message}\n     Node: ${node.ok ? node.status : node.why}`);
  }
}
for (const name of agreed.keys()) if (!seen.has(name)) fail(`the agreed difference ${name} has no case`);
console.log(`${cases.length} replies, ${same} read alike by both, ${agreed.size} agreed differences, ${failures} failures`);
process.exit(failures === 0 ? 0 : 1);
