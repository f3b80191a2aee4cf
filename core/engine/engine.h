/* Many calls moved by one thread: submit, descriptor, step, next, cancel (design section 4). */
#ifndef DM_ENGINE_ENGINE_H
#define DM_ENGINE_ENGINE_H

#include "engine/call.h"
#include "engine/client.h"
#include "engine/pool.h"

/* Starts a call and returns at once; *id is its id, 0 on failure. Returns DEEM_OK (also when the
 * call is over already: it completes in the next step), DEEM_E_CANCELLED, DEEM_E_UNSUPPORTED,
 * DEEM_E_CONNECTION (no descriptors) or DEEM_E_MEMORY. Any thread. */
int32_t dm_engine_submit(deem_client *client, const dm_ask *ask, uint64_t *id);

/* The descriptor, made with the engine at the first question. DEEM_OK, DEEM_E_CONNECTION or
 * DEEM_E_MEMORY. */
int32_t dm_engine_descriptor(deem_client *client, int *fd);

/* Does what is due without waiting. DEEM_OK, or DEEM_E_MISUSE when another thread is inside. */
int32_t dm_engine_step(deem_client *client);

/* Takes a finished call of those that complete there (NULL: of those asked without): its id (0:
 * none) and its response (reused or made). DEEM_OK or DEEM_E_MEMORY. Any thread. */
int32_t dm_engine_next(deem_client *client, struct dm_completions *from, uint64_t *id,
                       deem_response **response);

/* Gives an engine back; its tasks have been given up before. NULL is allowed. */
void dm_engine_free(struct dm_engine *engine);

/* In the child of a fork: closes the inherited descriptors. What was in flight completes as
 * cancelled there. */
void dm_engine_after_fork(deem_client *client);

/* Makes the next step look at a task (cancelled, or a slot was granted). Any thread. */
void dm_engine_poke(struct dm_task *task);

/* A blocking call takes an idle connection of the engine: nobody watches it any more. Any thread.
 */
void dm_engine_let_go(deem_client *client, const dm_connection *connection);

#endif
