#include "engine/reactor.h"
#include "engine/task.h"

void dm_engine_free(struct dm_engine *engine) {
    (void)engine;
}

void dm_engine_after_fork(deem_client *client) {
    client->engine = NULL;
}

void dm_engine_poke(struct dm_task *task) {
    (void)task;
}
