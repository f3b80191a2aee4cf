/* deemster mock: runs the mock server's own program, so that its libraries cost nothing here. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

int cli_mock(int argc, char **argv) {
    static const char *const places[] = {"deemster-mock", "../libexec/deemster/deemster-mock"};
    char folder[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (len < 0)
        cli_die(CLI_LOCAL, "cannot tell where this program lies: %s", strerror(errno));
    folder[len] = '\0';
    *strrchr(folder, '/') = '\0';
    (void)argc;
    argv[0] = (char *)places[0];
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char path[PATH_MAX + 64];
        snprintf(path, sizeof path, "%s/%s", folder, places[i]);
        execv(path, argv);
        if (errno != ENOENT)
            cli_die(CLI_LOCAL, "cannot run %s: %s", path, strerror(errno));
    }
    cli_die(CLI_LOCAL,
            "the mock server's program is not installed: put deemster-mock into %s or "
            "%s/../libexec/deemster",
            folder, folder);
}
