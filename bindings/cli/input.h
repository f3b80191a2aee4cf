/* Bytes from files and standard input. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <stddef.h>

/* Bytes that the caller owns (free()), with a NUL behind them that len does not count. */
struct cli_input {
    char *data;
    size_t len;
};

/* Reads the whole file, or standard input for "-", as bytes: no locale, no line ends changed. Exits
 * with a message when it cannot be read. */
struct cli_input cli_read(const char *path);

#endif
