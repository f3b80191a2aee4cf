/* Each reply of the table is read whole, byte by byte and in many cuts; the outcome must be the
 * same. */
#include <criterion/criterion.h>

#include "base/alloc.h"
#include "http1/reader.h"
#include "http1/zlib_dl.h"

/* {"a":1} in each coding, a single space as a gzip member, and 100,000 zeros as one. */
#define GZIP                                                                                       \
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xab\x56\x4a\x54\xb2\x32\xac\x05\x00\xaf\xac\x1b\x56" \
    "\x07\x00\x00\x00"
#define GZIP_HEAD "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xab\x56\x4a\x54\xb2\x32\xac\x05\x00"
#define GZIP_SPACE                                                                                 \
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x53\x00\x00\x45\xcf\x6c\xe9\x01\x00\x00\x00"
#define ZLIB  "\x78\x9c\xab\x56\x4a\x54\xb2\x32\xac\x05\x00\x08\x2a\x02\x09"
#define RAW   "\xab\x56\x4a\x54\xb2\x32\xac\x05\x00"
#define ZERO8 "\x00\x00\x00\x00\x00\x00\x00\x00"
#define BOMB                                                                                       \
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xed\xc1\x31\x01\x00\x00\x00\xc2\xa0\x4a\xeb\x9f\xce" \
    "\x1a\x1e\x40\x01" ZERO8 ZERO8 ZERO8 ZERO8 ZERO8 ZERO8 ZERO8 ZERO8 ZERO8 ZERO8 ZERO8           \
    "\x00\x00\x00\x00\x00\x00\xaf\x06\x85\xc2\x4d\xc5\xa0\x86\x01\x00"

/* 32 short header lines. */
#define FIELDS8  "a: 1\r\nb: 2\r\nc: 3\r\nd: 4\r\ne: 5\r\nf: 6\r\ng: 7\r\nh: 8\r\n"
#define FIELDS32 FIELDS8 FIELDS8 FIELDS8 FIELDS8
/* 512 bytes without a line end. */
#define X64  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X512 X64 X64 X64 X64 X64 X64 X64 X64

/* The limits of every row: a line of 512, heads of 2,000, bodies of 3,000 and 5,000 bytes. */
static const dm_http1_limits small = {512, 2000, 3000, 5000};

enum { OPEN = 0, CLOSES = 1, HEAD = 2 };
enum { NO = 0, REUSABLE = 1 };

typedef struct row {
    const char *bytes;
    size_t len;
    const char *body; /* or a piece of the message when there is a problem */
    int how;          /* CLOSES: the connection ends after the bytes; HEAD: the request was HEAD */
    dm_http1_problem problem;
    int status;
    int reusable;
} row;

#define R(bytes, how, status, body, reusable)                                                      \
    { bytes, sizeof(bytes) - 1, body, how, DM_HTTP1_NONE, status, reusable }
#define E(bytes, how, problem, status, words)                                                      \
    { bytes, sizeof(bytes) - 1, words, how, DM_HTTP1_##problem, status, NO }
#define OK        "HTTP/1.1 200 OK\r\n"
#define LENGTH(n) OK "Content-Length: " n "\r\n"
#define CHUNKED   OK "Transfer-Encoding: chunked\r\n\r\n"

static const row rows[] = {
    /* Status lines. */
    R(LENGTH("2") "\r\nhi", OPEN, 200, "hi", REUSABLE),
    R("HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi", OPEN, 200, "hi", REUSABLE),
    R("HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nhi", OPEN, 200, "hi", REUSABLE),
    R("HTTP/1.1 529 Site is \xC3\xBC\t\r\nContent-Length: 0\r\n\r\n", OPEN, 529, "", REUSABLE),
    R("HTTP/1.1 999 x\r\nContent-Length: 0\r\n\r\n", OPEN, 999, "", REUSABLE),
    R("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", OPEN, 200, "hi", NO),
    R("HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", OPEN, 200, "hi", REUSABLE),
    E("HTTP/1.2 200 OK\r\n\r\n", OPEN, FRAMING, 0, "status line"),
    E("HTTP/2 200\r\n\r\n", OPEN, FRAMING, 0, "does not start with HTTP/1.0"),
    E("HTTP/1.1  200 OK\r\n\r\n", OPEN, FRAMING, 0, "status line"),
    E("HTTP/1.1 099 x\r\n\r\n", OPEN, FRAMING, 0, "status line"),
    E("HTTP/1.1 20 OK\r\n\r\n", OPEN, FRAMING, 0, "status line"),
    E("HTTP/1.1 2000 OK\r\n\r\n", OPEN, FRAMING, 0, "status line"),
    E("HTTP/1.1 200OK\r\n\r\n", OPEN, FRAMING, 0, "status line"),
    E("HTTP/1.1 -20 OK\r\n\r\n", OPEN, FRAMING, 0, "status line"),
    E("HTTP/1.1 200 O\x1bK\r\n\r\n", OPEN, FRAMING, 0, "O\\x1BK"),
    E("HTTP/1.1 200 O\0K\r\n\r\n", OPEN, FRAMING, 0, "O\\x00K"),
    E("HTTP/1.1 200 OK\r\r\n\r\n", OPEN, FRAMING, 0, "status line"),
    E("HTTP/1.\r\n\r\n", OPEN, FRAMING, 0, "status line"),
    E("HTTP/1.1\r\n\r\n", OPEN, FRAMING, 0, "status line"),
    E("\r\nHTTP/1.1 200 OK\r\n\r\n", OPEN, FRAMING, 0, "does not start"),
    E("http/1.1 200 OK\r\n\r\n", OPEN, FRAMING, 0, "does not start"),
    E("ICY 200 OK\r\n\r\n", OPEN, FRAMING, 0, "does not start"),
    E("\x15\x03\x03\x00\x02\x02\x46", OPEN, FRAMING, 0, "another protocol"),
    E("<html>", OPEN, FRAMING, 0, "does not start"),

    /* Header lines. */
    R(OK "content-LENGTH:2\r\nX:\r\n\r\nhi", OPEN, 200, "hi", REUSABLE),
    R(OK "Content-Length: \t 2 \t \r\n\r\nhi", OPEN, 200, "hi", REUSABLE),
    R(OK "X: a\tb \xFF\r\nContent-Length: 0\r\n\r\n", OPEN, 200, "", REUSABLE),
    R(OK FIELDS32 FIELDS32 FIELDS32 FIELDS8 FIELDS8 FIELDS8
      "a: 1\r\nb: 2\r\nc: 3\r\nd: 4\r\ne: 5\r\nf: 6\r\ng: 7\r\n"
      "Content-Length: 0\r\n\r\n",
      OPEN, 200, "", REUSABLE),
    E(OK FIELDS32 FIELDS32 FIELDS32 FIELDS32 "a: 1\r\n\r\n", OPEN, TOO_LARGE, 200,
      "more than 128 header fields"),
    E(OK "X: a\r\n b\r\n\r\n", OPEN, FRAMING, 200, "folded"),
    E(OK "X: a\r\n\tb\r\n\r\n", OPEN, FRAMING, 200, "folded"),
    E(OK " X: a\r\n\r\n", OPEN, FRAMING, 200, "folded"),
    E(OK "Content-Length : 2\r\n\r\nhi", OPEN, FRAMING, 200, "malformed header line"),
    E(OK "nocolon\r\n\r\n", OPEN, FRAMING, 200, "malformed header line: \"nocolon\""),
    E(OK ": x\r\n\r\n", OPEN, FRAMING, 200, "malformed header line: \":\""),
    E(OK "a b: x\r\n\r\n", OPEN, FRAMING, 200, "malformed header line"),
    E(OK "a\0b: x\r\n\r\n", OPEN, FRAMING, 200, "malformed header line: \"a\\x00\""),
    E(OK "X: a\0b\r\n\r\n", OPEN, FRAMING, 200, "value of the header: \"X\""),
    E(OK "X: a\rb\r\n\r\n", OPEN, FRAMING, 200, "value of the header: \"X\""),
    E(OK "X: 12345678\x7f"
         "12345678\r\n\r\n",
      OPEN, FRAMING, 200, "value of the header: \"X\""),
    E(OK "X: " X512 "\r\n\r\n", OPEN, TOO_LARGE, 200, "limit of 512 bytes"),
    E("HTTP/1.1 200 " X512 "\r\n\r\n", OPEN, TOO_LARGE, 0, "limit of 512 bytes"),
    E(OK "A: " X64 X64 X64 X64 X64 X64 X64 "\r\nB: " X64 X64 X64 X64 X64 X64 X64
         "\r\nC: " X64 X64 X64 X64 X64 X64 X64 "\r\nD: " X64 X64 X64 X64 X64 X64 X64
         "\r\nE: " X64 X64 X64 X64 X64 X64 X64 "\r\n\r\n",
      OPEN, TOO_LARGE, 200, "limit of 2000 bytes"),

    /* Interim replies. */
    R("HTTP/1.1 100 Continue\r\n\r\n" LENGTH("2") "\r\nhi", OPEN, 200, "hi", REUSABLE),
    R("HTTP/1.1 103 Early Hints\r\nLink: x\r\nContent-Length: 9\r\nConnection: close\r\n\r\n"
      "HTTP/1.1 102 Processing\r\n\r\n" LENGTH("2") "\r\nhi",
      OPEN, 200, "hi", REUSABLE),
    E("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", OPEN, FRAMING, 101, "101"),
    E("HTTP/1.1 100 Continue\r\n\r\n", CLOSES, TRUNCATED, 0, "in the head"),
    E("HTTP/1.1 100 Continue\r\n\r\n2", OPEN, FRAMING, 0, "does not start"),

    /* Content-Length. */
    R(LENGTH("2") "Content-Length: 2\r\n\r\nhi", OPEN, 200, "hi", REUSABLE),
    R(LENGTH("2, 2") "\r\nhi", OPEN, 200, "hi", REUSABLE),
    R(LENGTH("002") "\r\nhi", OPEN, 200, "hi", REUSABLE),
    R(LENGTH("2") "\r\nhi!", OPEN, 200, "hi", NO),
    R(LENGTH("0") "\r\n", OPEN, 200, "", REUSABLE),
    E(LENGTH("2") "Content-Length: 3\r\n\r\nhi!", OPEN, FRAMING, 200, "values, 2 and 3"),
    E(LENGTH("2, 3") "\r\nhi!", OPEN, FRAMING, 200, "values, 2 and 3"),
    E(LENGTH("2,") "\r\nhi", OPEN, FRAMING, 200, "bad Content-Length: \"2,\""),
    E(LENGTH("") "\r\nhi", OPEN, FRAMING, 200, "bad Content-Length: \"\""),
    E(LENGTH("-2") "\r\nhi", OPEN, FRAMING, 200, "bad Content-Length"),
    E(LENGTH("+2") "\r\nhi", OPEN, FRAMING, 200, "bad Content-Length"),
    E(LENGTH("0x2") "\r\nhi", OPEN, FRAMING, 200, "bad Content-Length"),
    E(LENGTH("2.0") "\r\nhi", OPEN, FRAMING, 200, "bad Content-Length"),
    E(LENGTH("1 2") "\r\nhi", OPEN, FRAMING, 200, "bad Content-Length"),
    E(LENGTH("9223372036854775808") "\r\nhi", OPEN, FRAMING, 200, "bad Content-Length"),
    E(LENGTH("18446744073709551618") "\r\nhi", OPEN, FRAMING, 200, "bad Content-Length"),
    E(LENGTH("9223372036854775807") "\r\nhi", OPEN, TOO_LARGE, 200, "9223372036854775807"),
    E(LENGTH("4001") "\r\nhi", OPEN, TOO_LARGE, 200, "4001 bytes long (Content-Length)"),
    E(LENGTH("16") "\r\nhalf", CLOSES, TRUNCATED, 200,
      "Content-Length 16 but 4 bytes came before the close"),

    /* Chunks. */
    R(CHUNKED "2\r\nhi\r\n0\r\n\r\n", OPEN, 200, "hi", REUSABLE),
    R(CHUNKED "1\r\nh\r\n00001\r\ni\r\n000\r\n\r\n", OPEN, 200, "hi", REUSABLE),
    R(CHUNKED "A\r\n0123456789\r\na\r\nabcdefghij\r\n0\r\n\r\n", OPEN, 200, "0123456789abcdefghij",
      REUSABLE),
    R(CHUNKED "2;x=\"y;z\";q\r\nhi\r\n0;e\r\n\r\n", OPEN, 200, "hi", REUSABLE),
    R(CHUNKED "2  \r\nhi\r\n0 \t;x\r\n\r\n", OPEN, 200, "hi", REUSABLE),
    R(CHUNKED "2\r\nhi\r\n0\r\nX-T: 1\r\nContent-Length: 9\r\n\r\n", OPEN, 200, "hi", REUSABLE),
    R(CHUNKED "0\r\n\r\n", OPEN, 200, "", REUSABLE),
    R(CHUNKED "2\r\nhi\r\n0\r\n\r\nX", OPEN, 200, "hi", NO),
    R(OK "transfer-encoding: Chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", OPEN, 200, "hi", REUSABLE),
    R(OK "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n2\r\nhi\r\n0\r\n\r\n", OPEN, 200,
      "hi", NO),
    R("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0"
      "\r\n\r\n",
      OPEN, 200, "hi", NO),
    E(CHUNKED "\r\nhi", OPEN, FRAMING, 200, "no digit"),
    E(CHUNKED ";x\r\nhi", OPEN, FRAMING, 200, "no digit"),
    E(CHUNKED "-2\r\nhi", OPEN, FRAMING, 200, "no digit"),
    E(CHUNKED " 2\r\nhi", OPEN, FRAMING, 200, "no digit"),
    E(CHUNKED "2g\r\nhi", OPEN, FRAMING, 200, "no hexadecimal digit"),
    E(CHUNKED "0x2\r\nhi", OPEN, FRAMING, 200, "no hexadecimal digit"),
    E(CHUNKED "2\nhi\r\n", OPEN, FRAMING, 200, "no hexadecimal digit"),
    E(CHUNKED "2\rhi\r\n", OPEN, FRAMING, 200, "does not end in CRLF"),
    E(CHUNKED "2;a\nhi\r\n", OPEN, FRAMING, 200, "extension holds a control byte"),
    E(CHUNKED "2;a\0\r\nhi\r\n", OPEN, FRAMING, 200, "extension holds a control byte"),
    E(CHUNKED "2\r\nhi!\r\n", OPEN, FRAMING, 200, "longer than its size"),
    E(CHUNKED "2\r\nhi\r!", OPEN, FRAMING, 200, "does not end in CRLF"),
    E(CHUNKED "2\r\nhi\n0\r\n\r\n", OPEN, FRAMING, 200, "longer than its size"),
    E(CHUNKED "00000000000000002\r\nhi", OPEN, FRAMING, 200, "more than 16 digits"),
    E(CHUNKED "ffffffffffffffff\r\nhi", OPEN, TOO_LARGE, 200, "18446744073709551615"),
    E(CHUNKED "2\r\nhi\r\n"
              "f9f\r\n",
      OPEN, TOO_LARGE, 200, "chunk of 3999 bytes"),
    E(CHUNKED "2\r\nhi\r\n0\r\n X: 1\r\n\r\n", OPEN, FRAMING, 200, "folded"),
    E(CHUNKED "2\r\nhi\r\n0\r\nbad\r\n\r\n", OPEN, FRAMING, 200, "malformed header line"),
    E(CHUNKED "0\r\n" FIELDS32 FIELDS32 FIELDS32 FIELDS32 "a: 1\r\n\r\n", OPEN, TOO_LARGE, 200,
      "more than 128 trailer fields"),
    E(CHUNKED "2;" X512 X512 X512 X512 "\r\nhi\r\n", OPEN, TOO_LARGE, 200, "2000"),
    E(CHUNKED "4\r\nhi", CLOSES, TRUNCATED, 200, "before the last chunk of the reply, after 2"),
    E(CHUNKED "2\r\nhi\r\n", CLOSES, TRUNCATED, 200, "before the last chunk"),
    E(CHUNKED "2\r\nhi\r\n0\r\n", CLOSES, TRUNCATED, 200, "before the last chunk"),
    E(OK "Transfer-Encoding: gzip, chunked\r\n\r\n", OPEN, FRAMING, 200, "\"gzip, chunked\""),
    E(OK "Transfer-Encoding: identity\r\n\r\n", OPEN, FRAMING, 200, "not offered: \"identity\""),
    E(OK "Transfer-Encoding: chunked, chunked\r\n\r\n", OPEN, FRAMING, 200, "not offered"),
    E(OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", OPEN, FRAMING, 200,
      "not offered"),
    E(OK "Transfer-Encoding: xchunked\r\n\r\n", OPEN, FRAMING, 200, "not offered"),
    R(OK "Transfer-Encoding: , chunked ,\r\n\r\n2\r\nhi\r\n0\r\n\r\n", OPEN, 200, "hi", REUSABLE),
    E(OK "Transfer-Encoding: ,\r\n\r\n", OPEN, FRAMING, 200, "not offered"),
    E(OK "Transfer-Encoding:\r\n\r\n", OPEN, FRAMING, 200, "not offered"),

    /* No body, and bodies that end with the connection. */
    R("HTTP/1.1 204 No Content\r\n\r\n", OPEN, 204, "", REUSABLE),
    R("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", OPEN, 204, "", REUSABLE),
    R("HTTP/1.1 304 x\r\nTransfer-Encoding: chunked\r\n\r\n", OPEN, 304, "", REUSABLE),
    R("HTTP/1.1 204 x\r\n\r\nhello", OPEN, 204, "", NO),
    R(LENGTH("50000") "Content-Encoding: br\r\n\r\n", HEAD, 200, "", REUSABLE),
    R(OK "\r\nto the end", CLOSES, 200, "to the end", NO),
    R(OK "\r\n", CLOSES, 200, "", NO),
    R(OK "Connection: keep-alive\r\n\r\nx", CLOSES, 200, "x", NO),
    E(OK "\r\n" X512 X512 X512 X512 X512 X512, CLOSES, TOO_LARGE, 200, "3000"),
    E("", CLOSES, TRUNCATED, 0, "before any byte"),
    E("HTT", CLOSES, TRUNCATED, 0, "in the head of the reply, after 3 bytes"),
    E(OK "X: a\r\n", CLOSES, TRUNCATED, 200, "in the head"),

    /* Persistence. */
    R(LENGTH("0") "Connection: close\r\n\r\n", OPEN, 200, "", NO),
    R(LENGTH("0") "Connection: x , CLOSE\r\n\r\n", OPEN, 200, "", NO),
    R(LENGTH("0") "Connection: keep-alive\r\nConnection: close\r\n\r\n", OPEN, 200, "", NO),
    R("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: Keep-Alive\r\n\r\n", OPEN, 200, "",
      REUSABLE),

    /* Content codings. */
    R(LENGTH("27") "Content-Encoding: gzip\r\n\r\n" GZIP, OPEN, 200, "{\"a\":1}", REUSABLE),
    R(LENGTH("27") "Content-Encoding: X-GZip\r\n\r\n" GZIP, OPEN, 200, "{\"a\":1}", REUSABLE),
    R(LENGTH("27") "Content-Encoding: identity, gzip\r\n\r\n" GZIP, OPEN, 200, "{\"a\":1}",
      REUSABLE),
    R(LENGTH("48") "Content-Encoding: gzip\r\n\r\n" GZIP GZIP_SPACE, OPEN, 200, "{\"a\":1} ",
      REUSABLE),
    R(LENGTH("15") "Content-Encoding: deflate\r\n\r\n" ZLIB, OPEN, 200, "{\"a\":1}", REUSABLE),
    R(LENGTH("9") "Content-Encoding: deflate\r\n\r\n" RAW, OPEN, 200, "{\"a\":1}", REUSABLE),
    R(LENGTH("0") "Content-Encoding: gzip\r\n\r\n", OPEN, 200, "", REUSABLE),
    R(LENGTH("2") "Content-Encoding: identity\r\n\r\nhi", OPEN, 200, "hi", REUSABLE),
    R(OK "Content-Encoding: gzip\r\n\r\n" GZIP, CLOSES, 200, "{\"a\":1}", NO),
    R(OK "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n13\r\n" GZIP_HEAD
         "\r\n8\r\n\xaf\xac\x1b\x56\x07\x00\x00\x00\r\n0\r\n\r\n",
      OPEN, 200, "{\"a\":1}", REUSABLE),
    E(LENGTH("19") "Content-Encoding: gzip\r\n\r\n" GZIP_HEAD, OPEN, TRUNCATED, 200,
      "gzip data of the reply ends before its checksum, after 7"),
    E(OK "Content-Encoding: gzip\r\n\r\n" GZIP_HEAD, CLOSES, TRUNCATED, 200, "before its checksum"),
    E(OK "Content-Encoding: gzip\r\n\r\n", CLOSES, TRUNCATED, 200, "before its checksum"),
    E(LENGTH("1") "Content-Encoding: deflate\r\n\r\n\x78", OPEN, TRUNCATED, 200, "deflate data"),
    E(LENGTH("28") "Content-Encoding: gzip\r\n\r\n" GZIP "\x1f", OPEN, TRUNCATED, 200, "checksum"),
    E(LENGTH("29") "Content-Encoding: gzip\r\n\r\n" GZIP "zz", OPEN, ENCODING, 200,
      "incorrect header check"),
    E(LENGTH("16") "Content-Encoding: deflate\r\n\r\n" ZLIB "z", OPEN, ENCODING, 200,
      "ends before its body does"),
    E(LENGTH("7") "Content-Encoding: gzip\r\n\r\n{\"a\":1}", OPEN, ENCODING, 200, "is broken"),
    E(LENGTH("27") "Content-Encoding: gzip\r\n\r\n" GZIP_HEAD "\xae\xac\x1b\x56\x07\x00\x00\x00",
      OPEN, ENCODING, 200, "incorrect data check"),
    E(LENGTH("16775") "Content-Encoding: gzip\r\n\r\n" GZIP, CLOSES, TOO_LARGE, 200, "16775"),
    E(LENGTH("1677") "Content-Encoding: gzip\r\n\r\n" GZIP, CLOSES, TRUNCATED, 200,
      "Content-Length 1677 but 27 bytes came before the close"),
    E(LENGTH("133") "Content-Encoding: gzip\r\n\r\n" BOMB, OPEN, TOO_LARGE, 200, "limit of 5000"),
    E(LENGTH("2") "Content-Encoding: br\r\n\r\nhi", OPEN, ENCODING, 200, "not supported (gzip, "),
    E(LENGTH("2") "Content-Encoding: zstd\r\n\r\nhi", OPEN, ENCODING, 200, ": \"zstd\""),
    E(LENGTH("2") "Content-Encoding: gzip, br\r\n\r\nhi", OPEN, ENCODING, 200, ": \"br\""),
    E(LENGTH("2") "Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n\r\nhi", OPEN, ENCODING, 200,
      "more than once"),
};

typedef struct outcome {
    int result;
    int status;
    int reusable;
    size_t fields;
    int64_t keep_alive_ms;
    dm_http1_problem problem;
    dm_bytes message;
    dm_bytes body;
} outcome;

/* Feeds the bytes in pieces whose lengths come from `seed` (0: all at once, 1: byte by byte). */
static outcome read_in_pieces(const row *in, dm_http1_reader *reader, uint32_t seed) {
    outcome out = {0};
    dm_http1_reader_reset(reader, &out.body, in->how == HEAD);
    cr_assert_eq(reader->any_byte, 0);
    uint32_t random = seed;
    for (size_t at = 0; at < in->len;) {
        size_t piece = in->len - at;
        random = random * 1664525u + 1013904223u;
        if (seed != 0) {
            size_t most = seed == 1 ? 1 : 1 + (random >> 16) % 40;
            piece = piece < most ? piece : most;
        }
        /* A copy of its own, so that reading beyond it is noticed. */
        char *copy = dm_alloc(piece);
        memcpy(copy, in->bytes + at, piece);
        size_t consumed = 0;
        out.result = dm_http1_reader_feed(reader, copy, piece, &consumed);
        dm_free(copy);
        cr_assert_eq(reader->any_byte, 1);
        cr_assert(consumed == piece || out.result != DM_HTTP1_MORE);
        if (out.result == DM_HTTP1_FAILED) {
            break;
        }
        at += piece;
    }
    if (out.result == DM_HTTP1_MORE && in->how == CLOSES) {
        out.result = dm_http1_reader_eof(reader);
    }
    out.status = reader->status;
    out.reusable = reader->reusable;
    out.fields = reader->field_count;
    out.keep_alive_ms = reader->keep_alive_ms;
    out.problem = reader->error.problem;
    dm_bytes_append(&out.message, reader->error.message.data, reader->error.message.len);
    if (out.result == DM_HTTP1_COMPLETE) {
        static const char zeros[DM_HTTP1_PADDING];
        cr_assert_eq(memcmp(out.body.data + out.body.len, zeros, sizeof zeros), 0);
    }
    return out;
}

static void assert_row(size_t i, const outcome *out) {
    const row *in = &rows[i];
    cr_assert_eq(out->problem, in->problem, "row %zu: problem %d (%s)", i, out->problem,
                 out->message.data);
    cr_assert_eq(out->status, in->status, "row %zu: status %d", i, out->status);
    cr_assert_eq(out->reusable, in->reusable, "row %zu", i);
    if (in->problem != DM_HTTP1_NONE) {
        cr_assert_eq(out->result, DM_HTTP1_FAILED, "row %zu", i);
        cr_assert_not_null(strstr(out->message.data, in->body), "row %zu: %s", i,
                           out->message.data);
        return;
    }
    cr_assert_eq(out->result, DM_HTTP1_COMPLETE, "row %zu: result %d", i, out->result);
    cr_assert(dm_span_equal(dm_bytes_span(&out->body), dm_span_of(in->body, strlen(in->body))),
              "row %zu: body %s", i, out->body.data);
}

Test(http1_reader, replies_however_they_are_cut) {
    dm_http1_reader reader;
    dm_http1_reader_init(&reader, &small);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        outcome whole = read_in_pieces(&rows[i], &reader, 0);
        assert_row(i, &whole);
        for (uint32_t seed = 1; seed <= 20; seed++) {
            outcome cut = read_in_pieces(&rows[i], &reader, seed);
            cr_assert_eq(cut.result, whole.result, "row %zu seed %u", i, seed);
            cr_assert_eq(cut.status, whole.status, "row %zu seed %u", i, seed);
            cr_assert_eq(cut.reusable, whole.reusable, "row %zu seed %u", i, seed);
            cr_assert_eq(cut.fields, whole.fields, "row %zu seed %u", i, seed);
            cr_assert_eq(cut.keep_alive_ms, whole.keep_alive_ms, "row %zu seed %u", i, seed);
            cr_assert_eq(cut.problem, whole.problem, "row %zu seed %u", i, seed);
            cr_assert(dm_span_equal(dm_bytes_span(&cut.message), dm_bytes_span(&whole.message)),
                      "row %zu seed %u: %s", i, seed, cut.message.data);
            cr_assert(dm_span_equal(dm_bytes_span(&cut.body), dm_bytes_span(&whole.body)),
                      "row %zu seed %u", i, seed);
            dm_bytes_free(&cut.body);
            dm_bytes_free(&cut.message);
        }
        dm_bytes_free(&whole.body);
        dm_bytes_free(&whole.message);
    }
    dm_http1_reader_free(&reader);
}

Test(http1_reader, fields_are_found_in_any_case_and_in_order) {
    static const char reply[] = OK "Content-Type: application/json\r\nX-Id: one\r\nx-ID:  two \r\n"
                                   "Empty:\r\nContent-Length: 2\r\n\r\nhi";
    dm_http1_reader reader;
    dm_bytes body = {0};
    size_t consumed;
    dm_http1_reader_init(&reader, NULL);
    dm_http1_reader_reset(&reader, &body, 0);
    cr_assert_eq(dm_http1_reader_feed(&reader, reply, sizeof reply - 1, &consumed),
                 DM_HTTP1_COMPLETE);
    cr_assert_eq(consumed, sizeof reply - 1);
    cr_assert_eq(reader.field_count, 5);
    cr_assert(dm_span_equal(dm_http1_reader_name(&reader, 2), DM_LITERAL("x-ID")));
    cr_assert(dm_span_equal(dm_http1_reader_value(&reader, 2), DM_LITERAL("two")));
    cr_assert(dm_span_equal(dm_http1_reader_find(&reader, DM_LITERAL("x-id")), DM_LITERAL("one")));
    cr_assert(dm_span_equal(dm_http1_reader_find(&reader, DM_LITERAL("content-type")),
                            DM_LITERAL("application/json")));
    cr_assert_not_null(dm_http1_reader_find(&reader, DM_LITERAL("EMPTY")).data);
    cr_assert_eq(dm_http1_reader_find(&reader, DM_LITERAL("empty")).len, 0);
    cr_assert_null(dm_http1_reader_find(&reader, DM_LITERAL("absent")).data);
    dm_http1_reader_free(&reader);
    dm_bytes_free(&body);
}

Test(http1_reader, keep_alive_timeout_in_milliseconds) {
    static const struct {
        const char *value;
        int64_t ms;
    } cases[] = {
        {"timeout=5", 5000},
        {"max=100, Timeout=15", 15000},
        {"timeout=0", 0},
        {"timeout=99999999999999999999", INT64_C(9999999999) * 1000},
        {"timeout=", -1},
        {"timeout=-1", -1},
        {"timeout=5s", -1},
        {"timeout", -1},
        {"", -1},
    };
    dm_http1_reader reader;
    dm_bytes body = {0};
    dm_bytes reply = {0};
    dm_http1_reader_init(&reader, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t consumed;
        dm_bytes_clear(&reply);
        dm_bytes_append_format(&reply, LENGTH("0") "Keep-Alive: %s\r\n\r\n", cases[i].value);
        dm_http1_reader_reset(&reader, &body, 0);
        cr_assert_eq(dm_http1_reader_feed(&reader, reply.data, reply.len, &consumed),
                     DM_HTTP1_COMPLETE);
        cr_assert_eq(reader.keep_alive_ms, cases[i].ms, "%s: %lld", cases[i].value,
                     (long long)reader.keep_alive_ms);
    }
    dm_http1_reader_free(&reader);
    dm_bytes_free(&reply);
    dm_bytes_free(&body);
}

Test(http1_reader, what_follows_a_complete_reply_spoils_the_connection) {
    static const char reply[] = LENGTH("2") "\r\nhi";
    dm_http1_reader reader;
    dm_bytes body = {0};
    size_t consumed;
    dm_http1_reader_init(&reader, NULL);
    dm_http1_reader_reset(&reader, &body, 0);
    cr_assert_eq(dm_http1_reader_feed(&reader, reply, sizeof reply - 1, &consumed),
                 DM_HTTP1_COMPLETE);
    cr_assert_eq(reader.reusable, 1);
    cr_assert_eq(dm_http1_reader_feed(&reader, NULL, 0, &consumed), DM_HTTP1_COMPLETE);
    cr_assert_eq(reader.reusable, 1);
    cr_assert_eq(dm_http1_reader_feed(&reader, "\r\n", 2, &consumed), DM_HTTP1_COMPLETE);
    cr_assert_eq(consumed, 0);
    cr_assert_eq(reader.reusable, 0);
    dm_http1_reader_reset(&reader, &body, 0);
    dm_http1_reader_feed(&reader, reply, sizeof reply - 1, &consumed);
    cr_assert_eq(dm_http1_reader_eof(&reader), DM_HTTP1_COMPLETE);
    cr_assert_eq(reader.reusable, 0);
    cr_assert_eq(body.len, 2);
    dm_http1_reader_free(&reader);
    dm_bytes_free(&body);
}

static size_t allocations;
static size_t allowed;

static int count(size_t size, void *user) {
    (void)size;
    (void)user;
    return allocations++ < allowed;
}

static const row sweep[] = {
    R(LENGTH("27") "Content-Encoding: gzip\r\n\r\n" GZIP, OPEN, 200, "{\"a\":1}", REUSABLE),
    R(CHUNKED "2\r\nhi\r\n0\r\nX: y\r\n\r\n", OPEN, 200, "hi", REUSABLE),
    R(OK "\r\nto the end", CLOSES, 200, "to the end", NO),
    R("HTTP/1.1 204 x\r\n\r\n", OPEN, 204, "", REUSABLE),
};

Test(http1_reader, every_failing_allocation_is_a_memory_error) {
    for (size_t i = 0; i < sizeof sweep / sizeof *sweep; i++) {
        const row *in = &sweep[i];
        int result = DM_HTTP1_FAILED;
        for (size_t n = 0; result == DM_HTTP1_FAILED; n++) {
            cr_assert_lt(n, 50);
            dm_http1_reader reader;
            dm_bytes body = {0};
            size_t consumed;
            dm_http1_reader_init(&reader, NULL);
            dm_http1_reader_reset(&reader, &body, 0);
            allocations = 0;
            allowed = n;
            dm_alloc_set_gate(count, NULL);
            result = dm_http1_reader_feed(&reader, in->bytes, in->len, &consumed);
            if (result == DM_HTTP1_MORE) {
                result = dm_http1_reader_eof(&reader);
            }
            dm_alloc_set_gate(NULL, NULL);
            if (result == DM_HTTP1_FAILED) {
                cr_assert_eq(reader.error.problem, DM_HTTP1_NO_MEMORY);
            }
            cr_assert(result == DM_HTTP1_FAILED || n > 0);
            dm_http1_reader_free(&reader);
            dm_bytes_free(&body);
        }
    }
}

Test(http1_reader, a_steady_state_allocates_nothing) {
    dm_http1_reader reader;
    dm_bytes body = {0};
    size_t consumed;
    dm_http1_reader_init(&reader, NULL);
    for (int round = 0; round < 3; round++) {
        allocations = 0;
        allowed = SIZE_MAX;
        dm_alloc_set_gate(count, NULL);
        for (size_t i = 0; i < sizeof sweep / sizeof *sweep; i++) {
            dm_http1_reader_reset(&reader, &body, 0);
            int result = dm_http1_reader_feed(&reader, sweep[i].bytes, sweep[i].len, &consumed);
            cr_assert_eq(result == DM_HTTP1_MORE ? dm_http1_reader_eof(&reader) : result,
                         DM_HTTP1_COMPLETE);
        }
        dm_alloc_set_gate(NULL, NULL);
        cr_assert(round == 0 ? allocations > 0 : allocations == 0, "round %d: %zu", round,
                  allocations);
    }
    dm_http1_reader_free(&reader);
    dm_bytes_free(&body);
}

Test(http1_reader, a_large_body_arrives_whole) {
    enum { SIZE = 3 * 1024 * 1024 };
    char *bytes = dm_alloc(SIZE);
    for (size_t i = 0; i < SIZE; i++) {
        bytes[i] = (char)(i * 31 >> 3);
    }
    dm_http1_reader reader;
    dm_bytes body = {0};
    dm_bytes head = {0};
    size_t consumed;
    dm_bytes_append_format(&head, LENGTH("%d") "\r\n", SIZE);
    dm_http1_reader_init(&reader, NULL);
    dm_http1_reader_reset(&reader, &body, 0);
    cr_assert_eq(dm_http1_reader_feed(&reader, head.data, head.len, &consumed), DM_HTTP1_MORE);
    for (size_t at = 0; at < SIZE; at += 65536) {
        int last = at + 65536 == SIZE;
        cr_assert_eq(dm_http1_reader_feed(&reader, bytes + at, 65536, &consumed),
                     last ? DM_HTTP1_COMPLETE : DM_HTTP1_MORE);
    }
    cr_assert_eq(body.len, SIZE);
    cr_assert_eq(memcmp(body.data, bytes, SIZE), 0);
    dm_http1_reader_free(&reader);
    dm_bytes_free(&body);
    dm_bytes_free(&head);
    dm_free(bytes);
}

Test(http1_reader, without_zlib_a_compressed_reply_is_refused_in_words) {
    static const char reply[] = LENGTH("27") "Content-Encoding: gzip\r\n\r\n" GZIP;
    static const char *const files[] = {"libz-that-is-not-there.so.1", "libc.so.6"};
    for (size_t i = 0; i < 2; i++) {
        dm_http1_reader reader;
        dm_bytes body = {0};
        size_t consumed;
        dm_zlib_set_file(files[i]);
        dm_http1_reader_init(&reader, NULL);
        dm_http1_reader_reset(&reader, &body, 0);
        cr_assert_eq(dm_http1_reader_feed(&reader, reply, sizeof reply - 1, &consumed),
                     DM_HTTP1_FAILED);
        cr_assert_eq(reader.error.problem, DM_HTTP1_ENCODING);
        cr_assert_not_null(strstr(reader.error.message.data, "(gzip) and this system has no zlib"));
        dm_http1_reader_free(&reader);
        dm_bytes_free(&body);
    }
    dm_zlib_set_file(NULL);
    cr_assert_not_null(dm_zlib_open());
}
