// Replies as bytes, good and bad. Each is {name, bytes, head}: head means that the request was HEAD.
import zlib from "node:zlib";

const cases = [];
const add = (name, text, head = false) => {
  const bytes = Buffer.isBuffer(text) ? text : Buffer.from(text, "latin1");
  cases.push({ name, bytes, head });
};
const ok = (fields, body = "") => `HTTP/1.1 200 OK\r\n${fields}\r\n${body}`;
const length = (n, body = "") => ok(`Content-Length: ${n}\r\n`, body);
const chunked = (body) => ok("Transfer-Encoding: chunked\r\n", body);

// Status lines.
for (const line of [
  "HTTP/1.1 200 OK", "HTTP/1.1 200 ", "HTTP/1.1 200", "HTTP/1.0 200 OK", "HTTP/1.1 201 Created", "HTTP/1.1 299 x",
  "HTTP/1.1 307 Moved", "HTTP/1.1 404 Not Found", "HTTP/1.1 429 \xfc\xe9", "HTTP/1.1 529 Site is overloaded",
  "HTTP/1.1 599 x", "HTTP/1.1 600 x", "HTTP/1.1 999 x", "HTTP/1.1 100 x", "HTTP/1.1 101 Switching Protocols",
  "HTTP/1.1 099 x", "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 2x0 OK", "HTTP/1.1 -20 OK", "HTTP/1.1 200OK",
  "HTTP/1.1  200 OK", "HTTP/1.1\t200 OK", "HTTP/1.1", "HTTP/1.", "HTTP", "HTTP/1.2 200 OK", "HTTP/1.9 200 OK",
  "HTTP/2.0 200 OK", "HTTP/0.9 200 OK", "HTTP/11.1 200 OK", "HTTP/1.10 200 OK", "http/1.1 200 OK", "ICY 200 OK",
  "HTTP /1.1 200 OK", "HTTPS/1.1 200 OK", "GET / HTTP/1.1", "", " HTTP/1.1 200 OK", "HTTP/1.1 200 O\0K",
  "HTTP/1.1 200 O\x1bK", "HTTP/1.1 200 O\tK", "HTTP/1.1 200 O\rK", "HTTP/1.1 200 O\x7fK", "HTTP/1.1 200 OK\r",
]) {
  add(`status line ${JSON.stringify(line)}`, `${line}\r\nContent-Length: 2\r\n\r\nhi`);
}
add("empty line first", "\r\n" + length(2, "hi"));
add("no bytes", "");
add("one byte", "H");
add("TLS alert", "\x15\x03\x03\x00\x02\x02\x46");
add("HTML without HTTP", "<html>not http</html>");
add("HTTP/2 settings frame", "\x00\x00\x12\x04\x00\x00\x00\x00\x00");

// Header lines.
for (const line of [
  "X: y", "X:y", "X:", "X: ", "X:\ty\t", "x-Y_z.1!#$%&'*+^`|~: y", "X: \xff\xfe", "X: a\tb", "X : y", " X: y", "X y",
  ": y", "X", "X\0: y", "X: a\0b", "X: a\rb", "X: a\x0bb", "X: a\x1fb", "X: a\x7fb", "X(: y", "X\xe9: y", "X: a\r\n b",
  "X: a\r\n\tb", "X: a\r\n\r", "@: y", "X[: y", "X\": y", "X/: y", "X, Z: y",
]) {
  add(`header line ${JSON.stringify(line)}`, ok(`${line}\r\nContent-Length: 2\r\n`, "hi"));
}
add("LF alone ends the lines", "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi");
add("LF alone ends the status line", "HTTP/1.1 200 OK\nContent-Length: 2\r\n\r\nhi");
add("LF alone ends a header line", "HTTP/1.1 200 OK\r\nContent-Length: 2\n\r\nhi");
add("LF alone ends the head", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\nhi");
add("CR alone ends the head", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\rhi");
add("head without end", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n");
add("head cut in a name", "HTTP/1.1 200 OK\r\nContent-Le");
add("100 header fields", ok("X: y\r\n".repeat(100) + "Content-Length: 2\r\n", "hi"));
add("200 header fields", ok("X: y\r\n".repeat(200) + "Content-Length: 2\r\n", "hi"));
add("header line of 10,000 bytes", ok(`X: ${"y".repeat(10000)}\r\nContent-Length: 2\r\n`, "hi"));
add("header line of 20,000 bytes", ok(`X: ${"y".repeat(20000)}\r\nContent-Length: 2\r\n`, "hi"));
add("head of 80,000 bytes", ok(`X: ${"y".repeat(8000)}\r\n`.repeat(10) + "Content-Length: 2\r\n", "hi"));

// Interim replies.
add("100 first", "HTTP/1.1 100 Continue\r\n\r\n" + length(2, "hi"));
add("102 and 103 first", "HTTP/1.1 102 P\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + length(2, "hi"));
add("100 with fields that would frame", "HTTP/1.1 100 C\r\nContent-Length: 5\r\n\r\n" + length(2, "hi"));
add("100 alone", "HTTP/1.1 100 Continue\r\n\r\n");
add("150 first", "HTTP/1.1 150 x\r\n\r\n" + length(2, "hi"));

// Content-Length.
for (const value of [
  "2", "002", " 2 ", "\t2", "0", "1", "3", "+2", "-2", "0x2", "2.0", "2e0", "1 2", "2,2", "2, 2", "2, 3", "2,", ",2", "",
  "two", "2\t", "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616",
  "99999999999999999999999999", "2;x", "\xb2",
]) {
  add(`Content-Length ${JSON.stringify(value)}`, length(value, "hi"));
}
add("Content-Length twice, equal", ok("Content-Length: 2\r\nContent-Length: 2\r\n", "hi"));
add("Content-Length twice, different", ok("Content-Length: 2\r\nContent-Length: 1\r\n", "hi"));
add("surplus after the body", length(2, "hi there"));
add("a second reply behind the first", length(2, "hi") + length(2, "ho"));
add("nothing of the body", length(2));
add("body of 100,000 bytes", length(100000, "z".repeat(100000)));

// Chunks.
for (const body of [
  "2\r\nhi\r\n0\r\n\r\n", "1\r\nh\r\n1\r\ni\r\n0\r\n\r\n", "02\r\nhi\r\n00\r\n\r\n", "a\r\n0123456789\r\n0\r\n\r\n",
  "A\r\n0123456789\r\n0\r\n\r\n", "0\r\n\r\n", "2;x\r\nhi\r\n0\r\n\r\n", "2;x=y\r\nhi\r\n0\r\n\r\n",
  "2;x=\"y z\"\r\nhi\r\n0;e=f\r\n\r\n", "2 \r\nhi\r\n0\r\n\r\n", "2 ;x\r\nhi\r\n0\r\n\r\n", "2\t\r\nhi\r\n0\r\n\r\n",
  " 2\r\nhi\r\n0\r\n\r\n", "2;\r\nhi\r\n0\r\n\r\n", "2;;\r\nhi\r\n0\r\n\r\n", "2;x\0\r\nhi\r\n0\r\n\r\n",
  "2;x\ny\r\nhi\r\n0\r\n\r\n", "2\nhi\n0\n\n", "2\r\nhi\n0\r\n\r\n", "2\rhi\r\n0\r\n\r\n", "2\r\nhi\r0\r\n\r\n",
  "2\r\nhi0\r\n\r\n", "1\r\nhi\r\n0\r\n\r\n", "3\r\nhi\r\n0\r\n\r\n", "\r\nhi\r\n0\r\n\r\n", ";x\r\nhi\r\n0\r\n\r\n",
  "g\r\nhi\r\n0\r\n\r\n", "2g\r\nhi\r\n0\r\n\r\n", "0x2\r\nhi\r\n0\r\n\r\n", "-2\r\nhi\r\n0\r\n\r\n", "+2\r\nhi\r\n0\r\n\r\n",
  "2_\r\nhi\r\n0\r\n\r\n", "ffffffffffffffff\r\nhi", "10000000000000000\r\nhi", "8000000000000000\r\nhi",
  "0000000000000002\r\nhi\r\n0\r\n\r\n", "2\r\nhi\r\n0\r\nX: y\r\n\r\n", "2\r\nhi\r\n0\r\nX: y\r\nZ: w\r\n\r\n",
  "2\r\nhi\r\n0\r\nX y\r\n\r\n", "2\r\nhi\r\n0\r\n X: y\r\n\r\n", "2\r\nhi\r\n0\r\nX: y\r\n z\r\n\r\n",
  "2\r\nhi\r\n0\r\nX : y\r\n\r\n", "2\r\nhi\r\n0\r\nX: a\0b\r\n\r\n", "2\r\nhi\r\n0\r\nContent-Length: 5\r\n\r\n",
  "2\r\nhi\r\n0\r\nTransfer-Encoding: x\r\n\r\n", "2\r\nhi\r\n0\r\n", "2\r\nhi\r\n", "2\r\nhi", "2\r\nh", "2\r\n", "2", "",
  "2\r\nhi\r\n0\r\n\r\nmore",
]) {
  add(`chunks ${JSON.stringify(body)}`, chunked(body));
}
const good = "2\r\nhi\r\n0\r\n\r\n";
for (const value of [
  "Chunked", "CHUNKED", " chunked ", "chunked,", ",chunked", "identity", "gzip", "gzip, chunked", "chunked, gzip",
  "chunked, chunked", "chunked;q=1", "xchunked", "chunkedx", "", "chunked\tx", "\"chunked\"",
]) {
  add(`Transfer-Encoding ${JSON.stringify(value)}`, ok(`Transfer-Encoding: ${value}\r\n`, good));
}
add("Transfer-Encoding twice", ok("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", good));
add("Transfer-Encoding then length", ok("Transfer-Encoding: chunked\r\nContent-Length: 2\r\n", good));
add("length then Transfer-Encoding", ok("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", good));
add("chunks in HTTP/1.0", `HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${good}`);
add("many chunks", chunked("1\r\nx\r\n".repeat(5000) + "0\r\n\r\n"));
add("a long chunk extension", chunked(`2;${"e".repeat(10000)}\r\nhi\r\n0\r\n\r\n`));
add("a very long chunk extension", chunked(`2;${"e".repeat(30000)}\r\nhi\r\n0\r\n\r\n`));

// Replies without a body, and bodies that end with the connection.
for (const status of [204, 304]) {
  add(`${status}`, `HTTP/1.1 ${status} x\r\n\r\n`);
  add(`${status} with a length`, `HTTP/1.1 ${status} x\r\nContent-Length: 2\r\n\r\n`);
  add(`${status} with chunked`, `HTTP/1.1 ${status} x\r\nTransfer-Encoding: chunked\r\n\r\n`);
  add(`${status} with surplus`, `HTTP/1.1 ${status} x\r\n\r\nhi`);
}
add("205 with a length of 0", "HTTP/1.1 205 x\r\nContent-Length: 0\r\n\r\n");
add("HEAD", length(2), true);
add("HEAD with chunked", ok("Transfer-Encoding: chunked\r\n"), true);
add("HEAD without length", ok(""), true);
add("HEAD 404", "HTTP/1.1 404 x\r\nContent-Length: 9\r\n\r\n", true);
add("HEAD after 100", "HTTP/1.1 100 x\r\n\r\n" + length(2), true);
add("until the close", ok("", "to the end"));
add("until the close, empty", ok(""));
add("until the close, HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\nto the end");
add("until the close with keep-alive", ok("Connection: keep-alive\r\n", "to the end"));
add("Connection: close with a length", ok("Connection: close\r\nContent-Length: 2\r\n", "hi"));
add("Connection: close and surplus", ok("Connection: close\r\nContent-Length: 2\r\n", "hi there"));

// Content codings: Node's http leaves the body coded, so the test decodes it with node:zlib.
const json = Buffer.from('{"model":"m","answers":{}}');
const coded = (coding, body, claim = body.length) =>
  Buffer.concat([Buffer.from(ok(`Content-Encoding: ${coding}\r\nContent-Length: ${claim}\r\n`)), body]);
const gzip = zlib.gzipSync(json);
const deflate = zlib.deflateSync(json);
const large = Buffer.from("0123456789abcdef".repeat(20000));
add("gzip", coded("gzip", gzip));
add("x-gzip", coded("x-gzip", gzip));
add("GZIP", coded("GZIP", gzip));
add("gzip, empty body", coded("gzip", Buffer.alloc(0)));
add("gzip, two members", coded("gzip", Buffer.concat([gzip, gzip])));
add("gzip without trailer", coded("gzip", gzip.subarray(0, -8)));
add("gzip without its last byte", coded("gzip", gzip.subarray(0, -1)));
add("gzip cut in half", coded("gzip", gzip.subarray(0, gzip.length >> 1)));
add("gzip, uncompressed length claimed", coded("gzip", gzip, 16775));
add("gzip that is none", coded("gzip", json));
add("gzip with a wrong checksum", coded("gzip", Buffer.concat([gzip.subarray(0, -8), Buffer.alloc(8)])));
add("gzip with garbage behind it", coded("gzip", Buffer.concat([gzip, Buffer.from("garbage")])));
add("gzip, large", coded("gzip", zlib.gzipSync(large)));
add("gzip until the close", Buffer.concat([Buffer.from(ok("Content-Encoding: gzip\r\n")), gzip]));
add("deflate", coded("deflate", deflate));
add("deflate, raw", coded("deflate", zlib.deflateRawSync(json)));
add("deflate, large and raw", coded("deflate", zlib.deflateRawSync(large)));
add("deflate cut", coded("deflate", deflate.subarray(0, -1)));
add("deflate that is none", coded("deflate", json));
add("deflate, one byte", coded("deflate", deflate.subarray(0, 1)));
add("identity", coded("identity", json));

export default cases;
