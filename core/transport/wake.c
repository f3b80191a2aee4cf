#include "transport/wake.h"

#include <sys/eventfd.h>

int dm_wake_open(void) {
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void dm_wake_signal(int fd) {
    /* Fails only when the count is full, and then it is readable already. */
    (void)eventfd_write(fd, 1);
}

void dm_wake_clear(int fd) {
    eventfd_t count;
    (void)eventfd_read(fd, &count);
}
