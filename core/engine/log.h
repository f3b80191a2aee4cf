/* One line per attempt and retry on stderr, when TYPESAFE_LOG_LEVEL or the config asks for it. */
#ifndef DM_ENGINE_LOG_H
#define DM_ENGINE_LOG_H

#include "base/bytes.h"
#include "engine/call.h"

enum { DM_LOG_OFF = 0, DM_LOG_ERROR, DM_LOG_WARN, DM_LOG_INFO, DM_LOG_DEBUG };

/* The level of a name (off, error, warn, info, debug; case ignored), or -1. */
int dm_log_level_of(dm_span name);

/* A reply came. info: method, URL, status, milliseconds, request id. debug: also the header names,
 * with values except those of credentials and cookies. Never a body, never the key. */
void dm_log_reply(const dm_call *call, int64_t now);

/* An attempt failed without a reply. */
void dm_log_failure(const dm_call *call, int64_t now);

/* A retry follows after this wait. */
void dm_log_retry(const dm_call *call, int64_t wait_ns);

#endif
