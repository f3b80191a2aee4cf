/* Ctrl-C. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <stdint.h>

#include "deemster.h"

/* Until cli_interrupt_end(), Ctrl-C cancels a call (deem_client_cancel()), and a second one ends
 * the process. A shell that runs the command with SIGINT ignored is obeyed. One call at a time. */
void cli_interrupt_begin(deem_client *client, uint64_t id);
void cli_interrupt_end(void);

#endif
