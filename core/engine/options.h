/* The public deem_config and deem_options as the engine sees them. */
#ifndef DM_ENGINE_OPTIONS_H
#define DM_ENGINE_OPTIONS_H

#include "engine/settings.h"

/* A setting that is a text; is_set tells "" from "not set". */
typedef struct dm_text_setting {
    dm_bytes text;
    int is_set;
} dm_text_setting;

typedef struct deem_config {
    dm_limits_draft draft; /* its error is the config's */
    int32_t environment;
    int32_t auth;
    int32_t transport;
    int32_t log_level; /* -1: as the environment says */
    int32_t max_connections;
    int64_t idle_ms;
    int64_t max_reply_bytes;
    dm_text_setting api_key;
    dm_text_setting base_url;
    dm_text_setting evaluate_path;
    dm_text_setting model;
    dm_text_setting proxy;
    dm_text_setting no_proxy;
    dm_text_setting ca_file;
    dm_text_setting ca_dir;
    dm_text_setting user_agent_suffix;
    dm_text_setting runtime;
    dm_pairs headers;
} deem_config;

typedef struct deem_options {
    dm_limits_draft draft; /* its error is the options' */
    dm_text_setting model;
    dm_pairs headers;
    dm_pairs fields;
    uint64_t call_id;
    int32_t interruptible;
} deem_options;

#endif
