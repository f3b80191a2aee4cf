/* Calls that wait on the caller's own thread. They never drive the engine: each polls its
 * connection and its own cancel descriptor, and no lock is held over a wait. */
#ifndef DM_ENGINE_BLOCKING_H
#define DM_ENGINE_BLOCKING_H

#include "engine/call.h"

/* Runs a call to its end. *response as in the public header: reused or made. Returns its code;
 * DEEM_E_MISUSE and DEEM_E_MEMORY may leave it untouched, DEEM_E_INTERRUPTED leaves it blank. Any
 * thread. */
int32_t dm_blocking_run(deem_client *client, const dm_ask *ask, deem_response **response);

#endif
