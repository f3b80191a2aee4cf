#include "http1/decoder.h"

#include <limits.h>

#include "base/alloc.h"
#include "http1/zlib_dl.h"

struct dm_http1_inflater {
    const dm_zlib *zlib;
    z_stream stream;
};

/* zlib's window-bits argument also names the form of the data. */
enum { FORM_GZIP = 16 + MAX_WBITS, FORM_ZLIB = MAX_WBITS, FORM_RAW = -MAX_WBITS };

static void *zlib_alloc(void *user, unsigned items, unsigned size) {
    (void)user;
    return dm_alloc((size_t)items * size);
}

static void zlib_free(void *user, void *block) {
    (void)user;
    dm_free(block);
}

static int no_memory(dm_http1_error *error) {
    return dm_http1_error_set(error, DM_HTTP1_NO_MEMORY, "no memory to decode a reply");
}

static const char *coding_name(const dm_http1_decoder *decoder) {
    return decoder->coding == DM_CODING_GZIP ? "gzip" : "deflate";
}

int dm_http1_decoder_begin(dm_http1_decoder *decoder, uint8_t coding, dm_http1_error *error) {
    decoder->coding = coding;
    decoder->decoded = 0;
    decoder->started = 0;
    decoder->ended = 0;
    decoder->has_first = 0;
    if (decoder->inflater != NULL) {
        return 0;
    }
    const dm_zlib *zlib = dm_zlib_open();
    if (zlib == NULL) {
        return dm_http1_error_set(error, DM_HTTP1_ENCODING,
                                  "the reply is compressed (%s) and this system has no zlib "
                                  "(libz.so.1) to read it with: install zlib",
                                  coding_name(decoder));
    }
    struct dm_http1_inflater *inflater = dm_alloc_zero(sizeof *inflater);
    if (inflater == NULL) {
        return no_memory(error);
    }
    inflater->zlib = zlib;
    inflater->stream.zalloc = zlib_alloc;
    inflater->stream.zfree = zlib_free;
    if (zlib->inflate_init(&inflater->stream, FORM_GZIP, ZLIB_VERSION,
                           (int)sizeof inflater->stream) != Z_OK) {
        dm_free(inflater);
        return no_memory(error);
    }
    decoder->inflater = inflater;
    return 0;
}

/* A new gzip member, or the deflate data, begins. */
static void start(dm_http1_decoder *decoder, int form) {
    decoder->inflater->zlib->inflate_reset(&decoder->inflater->stream, form);
    decoder->started = 1;
    decoder->ended = 0;
}

/* Whether two bytes are a zlib header (RFC 1950). "deflate" means the zlib form, but some servers
 * send raw deflate data; no raw data starts like this unless a stored block is padded oddly. */
static int is_zlib_header(unsigned char first, unsigned char second) {
    return (first & 0x0F) == 8 && (first * 256 + second) % 31 == 0;
}

/* Runs zlib over the input until it is used up, or a member or the data ends. */
static int run(dm_http1_decoder *decoder, const unsigned char **data, size_t *len, dm_bytes *out,
               uint64_t most, size_t padding, dm_http1_error *error) {
    z_stream *stream = &decoder->inflater->stream;
    int full;
    do {
        uint64_t left = most - decoder->decoded;
        size_t room = *len < 1024 ? 4096 : *len < 65536 ? *len * 4 : 262144;
        if (dm_bytes_reserve(out, room + padding) != 0) {
            return no_memory(error);
        }
        room = out->cap - out->len - padding - 1;
        /* One byte above the limit is room enough to see it passed. */
        room = room > left ? (size_t)left + 1 : room;
        room = room > UINT_MAX ? UINT_MAX : room;
        unsigned given = *len > UINT_MAX ? UINT_MAX : (unsigned)*len;
        /* zlib does not write through next_in; its type lacks the const without ZLIB_CONST. */
        memcpy(&stream->next_in, data, sizeof *data);
        stream->avail_in = given;
        stream->next_out = (unsigned char *)out->data + out->len;
        stream->avail_out = (unsigned)room;
        int result = decoder->inflater->zlib->inflate(stream, Z_NO_FLUSH);
        size_t made = room - stream->avail_out;
        *data += given - stream->avail_in;
        *len -= given - stream->avail_in;
        decoder->decoded += made;
        if (decoder->decoded > most) {
            out->len += made - 1;
            return dm_http1_error_set(error, DM_HTTP1_TOO_LARGE,
                                      "the decompressed reply is larger than the limit of %llu "
                                      "bytes",
                                      (unsigned long long)most);
        }
        out->len += made;
        full = stream->avail_out == 0;
        if (result == Z_STREAM_END) {
            decoder->ended = 1;
            return 0;
        }
        if (result == Z_MEM_ERROR) {
            return no_memory(error);
        }
        if (result != Z_OK && result != Z_BUF_ERROR) {
            return dm_http1_error_set(
                error, DM_HTTP1_ENCODING, "the %s data of the reply is broken (%s)",
                coding_name(decoder), stream->msg != NULL ? stream->msg : "no reason given");
        }
    } while (*len != 0 || full);
    return 0;
}

int dm_http1_decoder_feed(dm_http1_decoder *decoder, const char *data, size_t len, dm_bytes *out,
                          uint64_t most, size_t padding, dm_http1_error *error) {
    const unsigned char *in = (const unsigned char *)data;
    if (len != 0 && !decoder->started && decoder->coding == DM_CODING_DEFLATE) {
        if (!decoder->has_first) {
            decoder->first = *in++;
            decoder->has_first = 1;
            len--;
        }
        if (len == 0) {
            return 0;
        }
        start(decoder, is_zlib_header(decoder->first, *in) ? FORM_ZLIB : FORM_RAW);
        const unsigned char *first = &decoder->first;
        size_t one = 1;
        if (run(decoder, &first, &one, out, most, padding, error) != 0) {
            return -1;
        }
    }
    while (len != 0) {
        if (decoder->ended && decoder->coding == DM_CODING_DEFLATE) {
            return dm_http1_error_set(error, DM_HTTP1_ENCODING,
                                      "the deflate data of the reply ends before its body does");
        }
        if (!decoder->started || decoder->ended) {
            start(decoder, FORM_GZIP);
        }
        if (run(decoder, &in, &len, out, most, padding, error) != 0) {
            return -1;
        }
    }
    return 0;
}

int dm_http1_decoder_end(dm_http1_decoder *decoder, dm_http1_error *error) {
    if (decoder->ended) {
        return 0;
    }
    return dm_http1_error_set(error, DM_HTTP1_TRUNCATED,
                              "the %s data of the reply ends before its checksum, after %llu "
                              "decompressed bytes",
                              coding_name(decoder), (unsigned long long)decoder->decoded);
}

void dm_http1_decoder_free(dm_http1_decoder *decoder) {
    if (decoder->inflater != NULL) {
        decoder->inflater->zlib->inflate_end(&decoder->inflater->stream);
        dm_free(decoder->inflater);
    }
    *decoder = (dm_http1_decoder){0};
}
