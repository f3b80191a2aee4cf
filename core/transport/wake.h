/* A descriptor that another thread can make readable. */
#ifndef DM_TRANSPORT_WAKE_H
#define DM_TRANSPORT_WAKE_H

/* A new one, close-on-exec and non-blocking; the caller closes it with close(). -1 with errno. */
int dm_wake_open(void);

/* Makes it readable until cleared. Any thread, never waits. */
void dm_wake_signal(int fd);

/* Makes it unreadable. */
void dm_wake_clear(int fd);

#endif
