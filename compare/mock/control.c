#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <gnutls/gnutls.h>

#include "json.h"
#include "server.h"

static bool is_secret(const char *name) {
    static const char *const names[] = {"authorization", "proxy-authorization", "x-api-key",
                                        "api-key", "cookie"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcasecmp(name, names[i]))
            return true;
    return false;
}

static enum MHD_Result put_header(void *context, enum MHD_ValueKind kind, const char *name,
                                  const char *value) {
    yajl_gen out = context;
    (void)kind;
    yajl_gen_array_open(out);
    mock_put_text(out, name);
    if (!value) {
        mock_put_text(out, "");
    } else if (is_secret(name)) {
        struct mock_buffer masked = {0};
        const char *space = strchr(value, ' ');
        if (space)
            mock_buffer_add(&masked, value, (size_t)(space - value) + 1);
        mock_buffer_print(&masked, "***");
        mock_put_string(out, masked.data, masked.length);
        mock_buffer_free(&masked);
    } else {
        mock_put_text(out, value);
    }
    yajl_gen_array_close(out);
    return MHD_YES;
}

void mock_control_keep(struct mock_exchange *exchange, const char *path) {
    struct mock_server *server = exchange->server;
    yajl_gen out = yajl_gen_alloc(NULL);
    yajl_gen_array_open(out);
    MHD_get_connection_values(exchange->connection, MHD_HEADER_KIND, put_header, out);
    yajl_gen_array_close(out);
    server->last_headers.length = 0;
    mock_take(&server->last_headers, out);
    free(server->last_path);
    server->last_path = mock_copy(path, strlen(path));
    struct mock_buffer kept = server->last_body;
    server->last_body = exchange->body;
    exchange->body = kept;
}

static void put_last(struct mock_server *server, struct mock_buffer *body) {
    gnutls_datum_t bytes = {(unsigned char *)server->last_body.data,
                            (unsigned)server->last_body.length};
    gnutls_datum_t encoded = {0};
    yajl_gen out = yajl_gen_alloc(NULL);
    yajl_gen_config(out, yajl_gen_validate_utf8, 1);
    yajl_gen_map_open(out);
    mock_put_text(out, "path");
    mock_put_text(out, server->last_path);
    mock_put_text(out, "headers");
    mock_put_raw(out, server->last_headers.data, server->last_headers.length);
    mock_put_text(out, "body");
    if (yajl_gen_string(out, bytes.data ? bytes.data : (const unsigned char *)"", bytes.size) !=
        yajl_gen_status_ok)
        yajl_gen_null(out);
    mock_put_text(out, "body_base64");
    if (bytes.size && gnutls_base64_encode2(&bytes, &encoded) == 0)
        mock_put_string(out, (char *)encoded.data, encoded.size);
    else
        mock_put_text(out, "");
    yajl_gen_map_close(out);
    mock_take(body, out);
    gnutls_free(encoded.data);
}

static void put_count(yajl_gen out, const char *name, unsigned long value) {
    mock_put_text(out, name);
    mock_put_integer(out, (long long)value);
}

static void put_stats(struct mock_server *server, struct mock_buffer *body) {
    const struct mock_traffic *traffic = &server->traffic;
    yajl_gen out = yajl_gen_alloc(NULL);
    yajl_gen_map_open(out);
    put_count(out, "requests", traffic->requests);
    mock_put_text(out, "by_status");
    yajl_gen_map_open(out);
    for (int status = 0; status < 600; status++) {
        char name[16];
        if (!traffic->by_status[status])
            continue;
        snprintf(name, sizeof name, "%d", status);
        put_count(out, status ? name : "none", traffic->by_status[status]);
    }
    yajl_gen_map_close(out);
    put_count(out, "connections_opened", traffic->connections_opened);
    put_count(out, "connections_open", traffic->connections_open);
    put_count(out, "window_ms", (unsigned long)traffic->window_ms);
    put_count(out, "max_in_window", traffic->arrived.most);
    put_count(out, "max_accepted_in_window", traffic->accepted.most);
    put_count(out, "faults_fired", traffic->faults_fired);
    mock_put_text(out, "faults");
    yajl_gen_array_open(out);
    for (size_t i = 0; i < server->plan.count; i++) {
        yajl_gen_map_open(out);
        mock_put_text(out, "fault");
        mock_put_text(out, server->plan.faults[i].spec);
        put_count(out, "fired", server->plan.faults[i].fired);
        yajl_gen_map_close(out);
    }
    yajl_gen_array_close(out);
    yajl_gen_map_close(out);
    mock_take(body, out);
}

/* The new plan takes the place of the old one and its count starts at 1 again. The reply names what
 * of the old plan never fired, since nothing else will. */
static void replace_plan(struct mock_exchange *exchange) {
    struct mock_server *server = exchange->server;
    struct mock_plan plan = {0};
    struct mock_json json;
    char message[256] = "send a JSON array of texts such as [\"529@1\"]";
    bool good = mock_json_parse(&json, exchange->body.data ? exchange->body.data : "",
                                exchange->body.length) &&
                json.nodes[0].kind == MOCK_ARRAY;
    for (size_t i = 1; good && i < json.nodes[0].next; i = json.nodes[i].next) {
        good = json.nodes[i].kind == MOCK_STRING;
        if (!good)
            break;
        char *spec = mock_copy(json.nodes[i].text, json.nodes[i].text_length);
        good = mock_plan_add(&plan, spec, message, sizeof message);
        free(spec);
    }
    mock_json_free(&json);
    if (!good) {
        mock_plan_free(&plan);
        exchange->reply.status = 400;
        mock_detail_text(&exchange->reply.body, message, strlen(message));
        return;
    }
    yajl_gen out = yajl_gen_alloc(NULL);
    yajl_gen_map_open(out);
    put_count(out, "faults", plan.count);
    mock_put_text(out, "unfired");
    yajl_gen_array_open(out);
    for (size_t i = 0; i < server->plan.count; i++)
        if (!server->plan.faults[i].fired)
            mock_put_text(out, server->plan.faults[i].spec);
    yajl_gen_array_close(out);
    yajl_gen_map_close(out);
    mock_take(&exchange->reply.body, out);
    mock_plan_free(&server->plan);
    server->plan = plan;
    server->occurrence = 0;
}

bool mock_control(struct mock_exchange *exchange, const char *method, const char *path) {
    static const struct {
        const char *method, *path;
    } routes[] = {{"GET", "/count"},
                  {"POST", "/count/reset"},
                  {"GET", "/control/stats"},
                  {"GET", "/control/last"},
                  {"POST", "/control/faults"}};
    struct mock_server *server = exchange->server;
    struct mock_reply *reply = &exchange->reply;
    size_t route = 0;
    while (route < sizeof routes / sizeof *routes && strcmp(routes[route].path, path) != 0)
        route++;
    if (route == sizeof routes / sizeof *routes)
        return false;
    if (strcmp(routes[route].method, method) != 0) {
        mock_reply_json(reply, 405, "{\"detail\":\"Method Not Allowed\"}");
        mock_reply_header(reply, "Allow", routes[route].method);
        return true;
    }
    mock_reply_json(reply, 200, "");
    switch (route) {
    case 0:
        reply->content_type = "text/plain; charset=utf-8";
        mock_buffer_print(&reply->body, "%lu", server->traffic.requests);
        break;
    case 1:
        reply->content_type = "text/plain; charset=utf-8";
        mock_traffic_reset(&server->traffic);
        mock_buffer_print(&reply->body, "0");
        break;
    case 2:
        put_stats(server, &reply->body);
        break;
    case 3:
        if (server->last_path) {
            put_last(server, &reply->body);
        } else {
            reply->status = 404;
            mock_buffer_print(&reply->body, "{\"detail\":\"No request yet\"}");
        }
        break;
    default:
        replace_plan(exchange);
    }
    return true;
}
