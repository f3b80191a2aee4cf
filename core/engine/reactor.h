/* The one place that knows epoll, timerfd and eventfd, so that another reactor can stand in. */
#ifndef DM_ENGINE_REACTOR_H
#define DM_ENGINE_REACTOR_H

#include <stddef.h>
#include <stdint.h>

enum { DM_WATCH_READ = 1, DM_WATCH_WRITE = 2 };

/* Descriptors under watch, an alarm and a bell; all of it seen through one descriptor that is
 * readable while anything is due. */
typedef struct dm_reactor {
    int descriptor; /* the one to poll; -1: closed */
    int alarm;
    int bell;
    int64_t armed_for; /* when the alarm goes off; DM_NEVER: not */
} dm_reactor;

typedef struct dm_event {
    int fd;
    int events; /* DM_WATCH_* bits; an error or a hang-up reads as both */
} dm_event;

/* 0, or -1 when there are no descriptors (errno says which limit). */
int dm_reactor_open(dm_reactor *reactor);

/* Closes it. In the child of a fork too: nothing is done to the parent's set but close(). */
void dm_reactor_close(dm_reactor *reactor);

/* Puts a descriptor under watch, or changes what is watched. 0 or -1. Any thread. */
int dm_reactor_watch(dm_reactor *reactor, int fd, int events);

/* Takes a descriptor out; one that is not in is no error. Any thread. */
void dm_reactor_unwatch(dm_reactor *reactor, int fd);

/* What is due now, at most `most`, without waiting; the alarm and the bell are silenced and
 * reported by *rang. */
size_t dm_reactor_poll(dm_reactor *reactor, dm_event *events, size_t most, int *rang);

/* Makes the descriptor readable at a moment at the latest. An earlier alarm that stands already is
 * left, since one wake-up too many is cheaper than a system call for each. */
void dm_reactor_arm(dm_reactor *reactor, int64_t moment, int64_t now);

/* Rings the bell: the descriptor is readable until the next poll. Any thread. */
void dm_reactor_ring(dm_reactor *reactor);

#endif
