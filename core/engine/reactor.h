/* The engine's part of a client: many calls moved by one thread. */
#ifndef DM_ENGINE_REACTOR_H
#define DM_ENGINE_REACTOR_H

#include "engine/client.h"

/* Gives an engine back with every call it still has. NULL is allowed. */
void dm_engine_free(struct dm_engine *engine);

/* In the child of a fork: closes the inherited descriptors; its calls end cancelled in the child.
 */
void dm_engine_after_fork(deem_client *client);

/* Makes the next step look at a task that was cancelled. Under the client's lock. */
void dm_engine_poke(struct dm_task *task);

#endif
