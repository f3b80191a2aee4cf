#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

struct cli_input cli_read(const char *path) {
    int descriptor = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        cli_die(CLI_USAGE, "cannot open '%s': %s", path, strerror(errno));
    struct cli_input input = {NULL, 0};
    size_t room = 0;
    for (;;) {
        if (input.len + 1 >= room) {
            room = room == 0 ? 16384 : room * 2;
            char *more = realloc(input.data, room);
            if (more == NULL)
                cli_die(CLI_LOCAL, "out of memory reading '%s'", path);
            input.data = more;
        }
        ssize_t got = read(descriptor, input.data + input.len, room - input.len - 1);
        if (got == 0)
            break;
        if (got > 0)
            input.len += (size_t)got;
        else if (errno != EINTR)
            cli_die(CLI_USAGE, "cannot read '%s': %s", path, strerror(errno));
    }
    if (descriptor != STDIN_FILENO)
        close(descriptor);
    input.data[input.len] = '\0';
    return input;
}
