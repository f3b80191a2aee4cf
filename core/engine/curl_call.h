/* An attempt by libcurl's own HTTP engine: the second transport, blocking alone. */
#ifndef DM_ENGINE_CURL_CALL_H
#define DM_ENGINE_CURL_CALL_H

#include "engine/call.h"

/* Makes the call's due attempt and tells the call what came of it. cancel_fd ends it when it turns
 * readable; the caller then ends the call. Needs no slot of the pool: libcurl keeps its own
 * connections. */
void dm_curl_call_run(dm_call *call, int cancel_fd);

#endif
