/* A thread waits for the signal: cancelling takes locks, which a signal handler may not, and a
 * signal that arrives just before a wait would not end it. */
#include "interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

enum { SIGNAL_END = SIGUSR1 }; /* tells the thread that the call is over */

static struct {
    deem_client *client;
    uint64_t id;
    pthread_t thread;
    int running;
    atomic_int over;
    sigset_t waited, before;
} call;

static void *wait_for_interrupt(void *unused) {
    int number = 0;
    sigset_t interrupt, end;
    (void)unused;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigemptyset(&end);
    sigaddset(&end, SIGNAL_END);
    while (!atomic_load(&call.over) && number != SIGINT)
        sigwait(&call.waited, &number);
    if (number == SIGINT) {
        deem_client_cancel(call.client, call.id);
        pthread_sigmask(SIG_UNBLOCK, &interrupt, NULL); /* the next one ends the process */
        while (!atomic_load(&call.over))
            sigwait(&end, &number);
    }
    return NULL;
}

void cli_interrupt_begin(deem_client *client, uint64_t id) {
    struct sigaction action;
    call.client = client;
    call.id = id;
    atomic_store(&call.over, 0);
    if (sigaction(SIGINT, NULL, &action) != 0 || action.sa_handler == SIG_IGN)
        return;
    sigemptyset(&call.waited);
    sigaddset(&call.waited, SIGINT);
    sigaddset(&call.waited, SIGNAL_END);
    pthread_sigmask(SIG_BLOCK, &call.waited, &call.before);
    call.running = pthread_create(&call.thread, NULL, wait_for_interrupt, NULL) == 0;
    if (!call.running) /* Ctrl-C then ends the process as it does any */
        pthread_sigmask(SIG_SETMASK, &call.before, NULL);
}

void cli_interrupt_end(void) {
    if (!call.running)
        return;
    atomic_store(&call.over, 1);
    pthread_kill(call.thread, SIGNAL_END);
    pthread_join(call.thread, NULL);
    call.running = 0;
    pthread_sigmask(SIG_SETMASK, &call.before, NULL);
}
