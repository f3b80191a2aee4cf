#include "engine/task.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"

dm_task *dm_task_new(void) {
    dm_task *task = dm_alloc_zero(sizeof *task);
    if (task == NULL) {
        return NULL;
    }
    task->cancel_fd = -1;
    dm_json_index_init(&task->index, DM_JSON_BY_DEFAULT);
    dm_http1_reader_init(&task->flight.reader, NULL);
    return task;
}

int dm_task_ensure_cancel_fd(dm_task *task) {
    if (task->cancel_fd < 0) {
        task->cancel_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    }
    return task->cancel_fd < 0 ? -1 : 0;
}

void dm_task_free(dm_task *task) {
    if (task->cancel_fd >= 0) {
        close(task->cancel_fd);
    }
    dm_flight_free(&task->flight);
    dm_call_free(&task->call);
    dm_json_index_free(&task->index);
    dm_response_free(task->own_response);
    dm_free(task);
}
