#include "engine/reactor.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"

enum { EVENTS_MOST = 256 };

static void close_one(int *fd) {
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

void dm_reactor_close(dm_reactor *reactor) {
    close_one(&reactor->alarm);
    close_one(&reactor->bell);
    close_one(&reactor->descriptor);
}

int dm_reactor_open(dm_reactor *reactor) {
    reactor->armed_for = DM_NEVER;
    reactor->alarm = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    reactor->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    reactor->descriptor = epoll_create1(EPOLL_CLOEXEC);
    if (reactor->alarm < 0 || reactor->bell < 0 || reactor->descriptor < 0 ||
        dm_reactor_watch(reactor, reactor->alarm, DM_WATCH_READ) != 0 ||
        dm_reactor_watch(reactor, reactor->bell, DM_WATCH_READ) != 0) {
        dm_reactor_close(reactor);
        return -1;
    }
    return 0;
}

int dm_reactor_watch(dm_reactor *reactor, int fd, int events) {
    struct epoll_event event = {.data.fd = fd};
    event.events = ((events & DM_WATCH_READ) != 0 ? (uint32_t)EPOLLIN : 0) |
                   ((events & DM_WATCH_WRITE) != 0 ? (uint32_t)EPOLLOUT : 0);
    if (epoll_ctl(reactor->descriptor, EPOLL_CTL_ADD, fd, &event) == 0) {
        return 0;
    }
    return errno == EEXIST ? epoll_ctl(reactor->descriptor, EPOLL_CTL_MOD, fd, &event) : -1;
}

void dm_reactor_unwatch(dm_reactor *reactor, int fd) {
    struct epoll_event ignored = {0};
    epoll_ctl(reactor->descriptor, EPOLL_CTL_DEL, fd, &ignored);
}

size_t dm_reactor_poll(dm_reactor *reactor, dm_event *events, size_t most, int *rang) {
    struct epoll_event due[EVENTS_MOST];
    *rang = 0;
    int count =
        epoll_wait(reactor->descriptor, due, most < EVENTS_MOST ? (int)most : EVENTS_MOST, 0);
    size_t out = 0;
    for (int i = 0; i < count; i++) {
        uint64_t ignored;
        if (due[i].data.fd == reactor->bell) {
            *rang = 1;
            (void)!read(reactor->bell, &ignored, sizeof ignored);
        } else if (due[i].data.fd == reactor->alarm) {
            *rang = 1;
            (void)!read(reactor->alarm, &ignored, sizeof ignored);
            reactor->armed_for = DM_NEVER;
        } else {
            int bad = (due[i].events & (EPOLLERR | EPOLLHUP)) != 0;
            events[out].fd = due[i].data.fd;
            events[out].events = ((due[i].events & EPOLLIN) != 0 || bad ? DM_WATCH_READ : 0) |
                                 ((due[i].events & EPOLLOUT) != 0 || bad ? DM_WATCH_WRITE : 0);
            out++;
        }
    }
    return out;
}

void dm_reactor_arm(dm_reactor *reactor, int64_t moment, int64_t now) {
    if (moment >= reactor->armed_for) {
        return;
    }
    int64_t wait = moment > now ? moment - now : 1;
    struct itimerspec when = {
        .it_value = {.tv_sec = (time_t)(wait / 1000000000), .tv_nsec = (long)(wait % 1000000000)}};
    if (timerfd_settime(reactor->alarm, 0, &when, NULL) == 0) {
        reactor->armed_for = moment;
    }
}

void dm_reactor_ring(dm_reactor *reactor) {
    uint64_t one = 1;
    (void)!write(reactor->bell, &one, sizeof one);
}
