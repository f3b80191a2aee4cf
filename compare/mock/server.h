/* The faithful server on libmicrohttpd: one thread, one event loop. */
#ifndef MOCK_SERVER_H
#define MOCK_SERVER_H

#include <microhttpd.h>
#include <stdbool.h>

#include "options.h"
#include "reply.h"
#include "traffic.h"

struct mock_exchange;

struct mock_server {
    struct mock_options *options;
    struct MHD_Daemon *daemon;
    struct mock_plan plan;
    unsigned long occurrence; /* POST /v1/systemone since the plan was set */
    unsigned long replies;    /* for request ids */
    struct mock_traffic traffic;
    struct mock_exchange *suspended; /* a list */
    struct mock_buffer last_headers; /* of the last POST /v1/systemone, as a JSON array */
    struct mock_buffer last_body;
    char *last_path;
    bool stopping;
};

/* One request and its reply. */
struct mock_exchange {
    struct mock_server *server;
    struct MHD_Connection *connection;
    struct mock_buffer body;
    struct mock_reply reply;
    bool answered;    /* reply holds the answer */
    bool head_sent;   /* of a dripping reply */
    bool close_after; /* shut the connection down when the reply is out */
    size_t sent;      /* bytes of a dripping body */
    long long due;    /* when a suspended exchange goes on, ms; -1: never */
    struct mock_exchange *previous, *next;
    bool is_suspended;
};

/* Suspends an exchange for ms, or for good if negative. */
void mock_suspend(struct mock_exchange *exchange, long ms);

/* Sends an exchange's reply as its wire fault says. MHD_NO closes the connection. */
enum MHD_Result mock_send(struct mock_exchange *exchange);

/* The control routes (/count, /count/reset, /control/...). Returns false if path is none of them;
 * else the reply is filled. */
bool mock_control(struct mock_exchange *exchange, const char *method, const char *path);

/* Keeps the headers and body of a request for /control/last. */
void mock_control_keep(struct mock_exchange *exchange, const char *path);

#endif
