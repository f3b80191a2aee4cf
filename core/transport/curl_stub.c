#include "transport/parts.h"
dm_io dm_curl_connection_new(dm_transport *transport, dm_connection **out, dm_error *error) {
    (void)transport;
    *out = NULL;
    dm_fail(error, DM_FAIL_LIBCURL, "not built yet");
    return DM_IO_ERROR;
}
void dm_shards_free(dm_transport *transport) {
    (void)transport;
}
