/* Batches: rows in, how they stand, and their end. Rows come out as calls do (results.c). */
#include "addon.h"

napi_value dmn_open_batch(napi_env env, napi_callback_info info) {
    napi_value argument[2], result;
    size_t count = 2;
    int32_t fd = -1;
    dmn_environment *environment = dmn_arguments(env, info, &count, argument);
    deem_batch *batch = count == 2 ? dmn_unwrap(env, argument[0], DMN_BATCH) : NULL;
    deem_client *used = count == 2 ? dmn_unwrap(env, argument[1], DMN_CLIENT) : NULL;
    if (environment == NULL || !environment->started || used == NULL ||
        deem_batch_fd(batch, &fd) != DEEM_OK) {
        return dmn_refuse(env, "openBatch takes a batch and its client");
    }
    int32_t slot =
        dmn_open_slot(environment, (dmn_client_slot){.batch = batch, .used = used, .fd = fd});
    if (slot < 0) {
        return dmn_refuse(env, "the batch cannot be waited on");
    }
    napi_create_int32(env, slot, &result);
    return result;
}

napi_value dmn_push_row(napi_env env, napi_callback_info info) {
    napi_value argument[5], result;
    size_t count = 5, len = 0, group_len = 0;
    char group[512];
    int32_t kind = -1, status = DEEM_E_MISUSE;
    double tag = -1;
    const char *text = NULL;
    napi_valuetype type;
    dmn_environment *environment = dmn_arguments(env, info, &count, argument);
    if (environment == NULL || count < 5) {
        return dmn_refuse(env, "pushRow takes a batch, a kind, a text, a group and a tag");
    }
    dmn_client_slot *slot = dmn_batch_at(environment, argument[0]);
    if (slot == NULL) {
        return NULL;
    }
    if (napi_get_value_int32(env, argument[1], &kind) != napi_ok || kind < 0 || kind > 2 ||
        !dmn_read_text(environment, argument[2], &text, &len) ||
        napi_typeof(env, argument[3], &type) != napi_ok ||
        (type != napi_undefined && napi_get_value_string_utf8(env, argument[3], group, sizeof group,
                                                              &group_len) != napi_ok) ||
        napi_get_value_double(env, argument[4], &tag) != napi_ok || !(tag >= 0) ||
        !(tag <= 9007199254740991.0)) {
        return dmn_refuse(env, "pushRow takes a batch, a kind, a text, a group and a tag");
    }
    pthread_mutex_lock(&environment->lock);
    if (kind == 2) {
        status = deem_batch_push_error(slot->batch, text, len, (uint64_t)tag);
    } else {
        status = (kind == 1 ? deem_batch_push_json : deem_batch_push_text)(
            slot->batch, text, len, group, group_len, (uint64_t)tag);
    }
    size_t room = 0;
    deem_batch_room(slot->batch, &room);
    pthread_mutex_unlock(&environment->lock);
    dmn_trim(environment);
    if (status == DEEM_OK) {
        dmn_count_in(environment, slot);
    }
    napi_create_double(env, status == DEEM_OK ? (double)room : (double)-status, &result);
    return result;
}

napi_value dmn_end_batch(napi_env env, napi_callback_info info) {
    napi_value argument[2], result;
    size_t count = 2;
    int32_t how = -1, status = DEEM_E_MISUSE;
    dmn_environment *environment = dmn_arguments(env, info, &count, argument);
    if (environment == NULL || count < 2) {
        return dmn_refuse(env, "endBatch takes a batch and a number");
    }
    dmn_client_slot *slot = dmn_batch_at(environment, argument[0]);
    if (slot == NULL) {
        return NULL;
    }
    if (napi_get_value_int32(env, argument[1], &how) != napi_ok || how < 0 || how > 2) {
        return dmn_refuse(env, "endBatch takes a batch and a number");
    }
    pthread_mutex_lock(&environment->lock);
    status = how == 0   ? deem_batch_finish(slot->batch)
             : how == 1 ? deem_batch_stop(slot->batch)
                        : deem_batch_cancel(slot->batch);
    pthread_mutex_unlock(&environment->lock);
    napi_create_int32(env, status, &result);
    return result;
}

napi_value dmn_batch_state(napi_env env, napi_callback_info info) {
    napi_value argument, list, value;
    size_t count = 1, room = 0;
    deem_batch_stats stats = {0};
    dmn_environment *environment = dmn_arguments(env, info, &count, &argument);
    if (environment == NULL || count < 1) {
        return dmn_refuse(env, "batchState takes a batch");
    }
    dmn_client_slot *slot = dmn_batch_at(environment, argument);
    if (slot == NULL) {
        return NULL;
    }
    pthread_mutex_lock(&environment->lock);
    deem_batch_room(slot->batch, &room);
    deem_batch_stats_read(slot->batch, &stats, sizeof stats);
    int32_t trouble = slot->trouble;
    pthread_mutex_unlock(&environment->lock);
    const double numbers[] = {(double)room,
                              (double)trouble,
                              (double)stats.pushed,
                              (double)stats.done,
                              (double)stats.failed,
                              (double)stats.restored,
                              (double)stats.duplicates,
                              (double)stats.unsent,
                              (double)stats.requests,
                              (double)stats.retries,
                              (double)stats.splits,
                              (double)stats.input_tokens,
                              (double)stats.output_tokens,
                              (double)stats.estimated_tokens,
                              stats.cost,
                              (double)stats.paused_ms,
                              (double)stats.in_flight,
                              (double)stats.concurrency,
                              (double)stats.stopped};
    const uint32_t length = sizeof numbers / sizeof *numbers;
    if (napi_create_array_with_length(env, length, &list) != napi_ok) {
        return NULL;
    }
    for (uint32_t i = 0; i < length; i++) {
        napi_create_double(env, numbers[i], &value);
        napi_set_element(env, list, i, value);
    }
    return list;
}
