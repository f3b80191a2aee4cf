/* zlib, opened at run time at the first compressed reply, so that the library needs libc alone. */
#ifndef DM_HTTP1_ZLIB_DL_H
#define DM_HTTP1_ZLIB_DL_H

#include <zlib.h>

/* The four calls that decoding needs. */
typedef struct dm_zlib {
    int (*inflate_init)(z_stream *stream, int window_bits, const char *version, int stream_size);
    int (*inflate_reset)(z_stream *stream, int window_bits);
    int (*inflate)(z_stream *stream, int flush);
    int (*inflate_end)(z_stream *stream);
} dm_zlib;

/* The opened zlib, or NULL when this system has none; the answer is kept for the life of the
 * process and the library is never closed. Any thread. */
const dm_zlib *dm_zlib_open(void);

/* Tests only: the file to open instead of libz.so.1, NULL for that one again; forgets what was
 * opened. Call it while no other thread decodes. */
void dm_zlib_set_file(const char *file);

#endif
