/* Runs replies.json: each case is a question set, what a server sends to each attempt (byte for
 * byte), and the verdict (strict, and lenient where it is told). Usage: replies CASES TRANSPORT,
 * where TRANSPORT is blocking, engine, curl or hosted: the verdict must be the same for all, but
 * for what a case says under the transport's own name. Exits 0 when all is as it must be. */
#include <arpa/inet.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "deemster_experimental.h"
#include "http1/reader.h"
#include "json/index.h"
#include "json/value.h"

enum { ATTEMPTS_MOST = 8 };

static dm_json_index cases;
static dm_arena arena;
static int failures;
static const char *transport;

static void fail(dm_span name, const char *format, const char *a, const char *b) {
    printf("FAILED: %.*s: ", (int)name.len, name.data);
    printf(format, a, b);
    printf("\n");
    failures++;
}

static uint32_t member(uint32_t object, const char *name) {
    return dm_json_get(&cases, object, dm_span_of(name, strlen(name)));
}

static dm_span text_at(uint32_t node) {
    dm_span out = {0};
    if (dm_json_string_copy(cases.text, &cases.nodes[node], &arena, &out) != 0) {
        exit(2);
    }
    return out;
}

static dm_span base64(dm_span text) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *out = dm_arena_take(&arena, text.len + 1);
    size_t len = 0;
    uint32_t bits = 0;
    for (size_t i = 0; i < text.len && text.data[i] != '='; i++) {
        bits = bits << 6 | (uint32_t)(strchr(digits, text.data[i]) - digits);
        if (i % 4 != 0) {
            out[len++] = (char)(bits >> (6 - 2 * (i % 4)));
        }
    }
    return dm_span_of(out, len);
}

/* What the server sends, by attempt. */
typedef struct script {
    dm_span attempts[ATTEMPTS_MOST];
    size_t count;
    int listener;
    uint16_t port;
} script;

static dm_span dated_429(int64_t seconds) {
    time_t when = time(NULL) + seconds;
    struct tm parts;
    gmtime_r(&when, &parts);
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    char *out = dm_arena_take(&arena, 256);
    int len =
        snprintf(out, 256,
                 "HTTP/1.1 429 Too Many Requests\r\nRetry-After: %s, %02d %s %04d %02d:%02d:%02d "
                 "GMT\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
                 days[parts.tm_wday], parts.tm_mday, months[parts.tm_mon], parts.tm_year + 1900,
                 parts.tm_hour, parts.tm_min, parts.tm_sec);
    return dm_span_of(out, (size_t)len);
}

static void read_script(uint32_t list, script *out) {
    out->count = 0;
    for (uint32_t a = dm_json_first(list); a < dm_json_end(&cases, list); a = cases.nodes[a].next) {
        uint32_t b64 = member(a, "b64");
        int64_t seconds = 0;
        if (b64 == DM_JSON_NONE) {
            dm_json_int64(cases.text, &cases.nodes[member(a, "retry_after_date_in_s")], &seconds);
        }
        out->attempts[out->count++] =
            b64 != DM_JSON_NONE ? base64(text_at(b64)) : dated_429(seconds);
    }
}

static void read_request(int fd) {
    char buffer[8192];
    size_t len = 0;
    size_t want = SIZE_MAX;
    while (len < want && len < sizeof buffer - 1) {
        ssize_t got = recv(fd, buffer + len, sizeof buffer - 1 - len, 0);
        if (got <= 0) {
            return;
        }
        len += (size_t)got;
        buffer[len] = '\0';
        char *end = strstr(buffer, "\r\n\r\n");
        if (end != NULL) {
            char *length = strcasestr(buffer, "content-length:");
            want =
                (size_t)(end - buffer) + 4 + (length != NULL ? strtoul(length + 15, NULL, 10) : 0);
        }
    }
}

static void *serve(void *user) {
    script *s = user;
    for (size_t i = 0;; i++) {
        int fd = accept(s->listener, NULL, NULL);
        if (fd < 0) {
            return NULL;
        }
        read_request(fd);
        dm_span bytes = s->attempts[i < s->count ? i : s->count - 1];
        size_t sent = 0;
        while (sent < bytes.len) {
            ssize_t n = send(fd, bytes.data + sent, bytes.len - sent, MSG_NOSIGNAL);
            if (n <= 0) {
                break;
            }
            sent += (size_t)n;
        }
        shutdown(fd, SHUT_WR);
        char rest[256];
        while (recv(fd, rest, sizeof rest, 0) > 0) {
        }
        close(fd);
    }
}

static void start_server(script *s, pthread_t *thread) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    s->listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(s->listener, (struct sockaddr *)&address, len) != 0 || listen(s->listener, 16) != 0 ||
        getsockname(s->listener, (struct sockaddr *)&address, &len) != 0 ||
        pthread_create(thread, NULL, serve, s) != 0) {
        perror("server");
        exit(2);
    }
    s->port = ntohs(address.sin_port);
}

static deem_client *new_client(uint16_t port, int32_t check) {
    deem_config *config;
    deem_client *client;
    char url[64];
    int len = snprintf(url, sizeof url, "http://127.0.0.1:%u", port);
    deem_config_new(&config);
    deem_config_set_environment(config, 0);
    deem_config_set_api_key(config, "conformance-key-0123456789", 26);
    deem_config_set_base_url(config, url, (size_t)len);
    deem_config_set_backoff(config, 1, 2, 0);
    deem_config_set_check(config, check);
    deem_config_set_transport(config, strcmp(transport, "curl") == 0 ? DEEM_TRANSPORT_CURL
                                                                     : DEEM_TRANSPORT_FAST);
    if (deem_client_new(config, &client) != DEEM_OK) {
        exit(2);
    }
    deem_config_free(config);
    return client;
}

static deem_question_set *new_set(uint32_t questions) {
    deem_question_set_builder *builder;
    deem_question_set *set;
    dm_span json = dm_json_raw_value(&cases, questions);
    deem_question_set_builder_new(&builder);
    deem_question_set_builder_json(builder, json.data, json.len);
    if (deem_question_set_new(builder, &set) != DEEM_OK) {
        printf("a case's questions are refused\n");
        exit(2);
    }
    deem_question_set_builder_free(builder);
    return set;
}

static const char state[] = "Is it so, or is it not?";

/* Hands a scripted reply to the exchange as a transport would. */
static void host_attempt(deem_exchange *exchange, dm_span bytes) {
    static dm_http1_reader reader;
    static dm_bytes body;
    dm_http1_reader_init(&reader, NULL);
    dm_http1_reader_reset(&reader, &body, 0);
    size_t used;
    int result = dm_http1_reader_feed(&reader, bytes.data, bytes.len, &used);
    if (result == DM_HTTP1_MORE) {
        result = dm_http1_reader_eof(&reader);
    }
    if (result == DM_HTTP1_COMPLETE) {
        for (size_t i = 0; i < reader.field_count; i++) {
            dm_span name = dm_http1_reader_name(&reader, i);
            dm_span value = dm_http1_reader_value(&reader, i);
            deem_exchange_reply_header(exchange, name.data, name.len, value.data, value.len);
        }
        deem_exchange_reply(exchange, reader.status, body.data, body.len);
    } else {
        int32_t code =
            reader.error.problem == DM_HTTP1_FRAMING ? DEEM_E_HTTP_FRAMING : DEEM_E_TRUNCATED;
        deem_exchange_fail(exchange, code, 1, "broken", 6);
    }
    dm_http1_reader_free(&reader);
    dm_bytes_free(&body);
}

static deem_response *run_hosted(deem_client *client, deem_question_set *set, const script *s) {
    deem_exchange *exchange;
    deem_response *response = NULL;
    int32_t action;
    int64_t ms;
    deem_exchange_new(client, &exchange);
    deem_exchange_start_text(exchange, set, state, sizeof state - 1, NULL);
    for (size_t i = 0;
         deem_exchange_next(exchange, &action, &ms) == DEEM_OK && action != DEEM_EXCHANGE_DONE;) {
        if (action == DEEM_EXCHANGE_WAIT) {
            poll(NULL, 0, (int)ms);
            continue;
        }
        host_attempt(exchange, s->attempts[i < s->count ? i : s->count - 1]);
        i++;
    }
    deem_exchange_take(exchange, &response);
    deem_exchange_free(exchange);
    return response;
}

static deem_response *run_engine(deem_client *client, deem_question_set *set) {
    deem_response *response = NULL;
    uint64_t id;
    uint64_t done = 0;
    int32_t fd;
    deem_client_fd(client, &fd);
    if (deem_submit_text(client, set, state, sizeof state - 1, NULL, &id) != DEEM_OK) {
        return NULL;
    }
    while (done == 0) {
        struct pollfd wait = {fd, POLLIN, 0};
        poll(&wait, 1, -1);
        deem_client_step(client);
        deem_client_next(client, &done, &response);
    }
    return done == id ? response : NULL;
}

static int32_t reason_of(const deem_response *response) {
    return deem_response_reason(response);
}

static int number_is(uint32_t node, double number) {
    double expected;
    if (cases.nodes[node].kind == DM_JSON_NULL) {
        return isnan(number);
    }
    dm_json_number(cases.text, &cases.nodes[node], &expected);
    return expected == number;
}

static void check_answer(dm_span name, uint32_t expect, const deem_response *response,
                         deem_question_set *set, const deem_answer *answer) {
    for (uint32_t key = dm_json_first(expect); key < dm_json_end(&cases, expect);
         key = dm_json_next_member(&cases, key)) {
        dm_span field = text_at(key);
        uint32_t value = key + 1;
        int good = 1;
        if (strcmp(field.data, "status") == 0) {
            good = strcmp(text_at(value).data, deem_reason_name(answer->status)) == 0;
        } else if (strcmp(field.data, "value") == 0) {
            good = number_is(value, answer->value);
        } else if (strcmp(field.data, "confidence") == 0) {
            good = number_is(value, answer->confidence);
        } else if (strcmp(field.data, "level") == 0) {
            good = number_is(value, answer->chosen);
        } else if (strcmp(field.data, "top") == 0) {
            good = number_is(value, answer->top);
        } else if (strcmp(field.data, "label") == 0) {
            const char *label = NULL;
            size_t len = 0;
            dm_span want = text_at(value);
            good = answer->chosen >= 0 &&
                   deem_question_set_label(set, (size_t)answer->question, (size_t)answer->chosen,
                                           &label, &len) == DEEM_OK &&
                   dm_span_equal(want, dm_span_of(label, len));
        } else {
            const double *all;
            size_t count;
            deem_response_probabilities(response, &all, &count);
            uint32_t i = answer->first_probability;
            for (uint32_t p = dm_json_first(value); p < dm_json_end(&cases, value);
                 p = cases.nodes[p].next, i++) {
                good = good && number_is(p, all[i]);
            }
            good = good && i == answer->first_probability + answer->probability_count;
        }
        if (!good) {
            fail(name, "answer's %s is otherwise%s", field.data, "");
        }
    }
    /* After any error no getter hands out a number. */
    int readable = answer->status == DEEM_ANSWER_OK || (answer->flags & DEEM_ANSWER_DOUBTFUL) != 0;
    double value = 0;
    int32_t index = 0;
    int32_t status =
        answer->kind == DEEM_NOUL ? deem_response_noul(response, (size_t)answer->question, &value)
        : answer->kind == DEEM_CHOICE
            ? deem_response_choice(response, (size_t)answer->question, &index, NULL, NULL, &value)
            : deem_response_score(response, (size_t)answer->question, &value, &index, NULL);
    if ((status == DEEM_OK) != readable ||
        (!readable && (!isnan(value) || !isnan(answer->value)))) {
        fail(name, "a bad answer's number can be read%s%s", "", "");
    }
}

static void check_answers(dm_span name, uint32_t expect, const deem_response *response,
                          deem_question_set *set) {
    deem_answer answers[16];
    size_t written = 0;
    deem_response_answers(response, answers, sizeof *answers, 16, &written);
    size_t asked;
    deem_question_set_count(set, &asked);
    if (written != asked) {
        fail(name, "there is not one record per question%s%s", "", "");
        return;
    }
    for (uint32_t key = dm_json_first(expect); key < dm_json_end(&cases, expect);
         key = dm_json_next_member(&cases, key)) {
        dm_span question = text_at(key);
        int32_t index;
        if (deem_question_set_find(set, question.data, question.len, &index) != DEEM_OK) {
            fail(name, "no question %s%s", question.data, "");
            continue;
        }
        check_answer(name, key + 1, response, set, &answers[index]);
    }
}

static void check(dm_span name, uint32_t expect, const deem_response *response,
                  deem_question_set *set) {
    for (uint32_t key = dm_json_first(expect); key < dm_json_end(&cases, expect);
         key = dm_json_next_member(&cases, key)) {
        dm_span field = text_at(key);
        uint32_t value = key + 1;
        const char *got = "";
        size_t len = 0;
        if (strcmp(field.data, "code") == 0) {
            got = deem_status_name(deem_response_code(response));
        } else if (strcmp(field.data, "reason") == 0) {
            got = deem_reason_name(reason_of(response));
        } else if (strcmp(field.data, "path") == 0) {
            deem_response_path(response, &got, &len);
        } else if (strcmp(field.data, "request_id") == 0) {
            deem_response_request_id(response, &got, &len);
        } else if (strcmp(field.data, "model") == 0) {
            deem_response_model(response, &got, &len);
        } else if (strcmp(field.data, "message") == 0) {
            deem_response_message(response, &got, &len);
            if (strstr(got, text_at(value).data) == NULL) {
                fail(name, "message is \"%s\", without \"%s\"", got, text_at(value).data);
            }
            continue;
        } else if (strcmp(field.data, "answers") == 0) {
            check_answers(name, value, response, set);
            continue;
        } else if (strcmp(field.data, "extra") == 0) {
            deem_response_extra_answer(response, 0, &got, &len, NULL, NULL);
            value = dm_json_first(value);
        } else if (strcmp(field.data, "usage") == 0) {
            int64_t input;
            int64_t output;
            int64_t want[2];
            deem_response_usage(response, &input, &output);
            uint32_t first = dm_json_first(value);
            dm_json_int64(cases.text, &cases.nodes[first], &want[0]);
            dm_json_int64(cases.text, &cases.nodes[first + 1], &want[1]);
            if (input != want[0] || output != want[1]) {
                fail(name, "usage is otherwise%s%s", "", "");
            }
            continue;
        } else {
            double number = NAN;
            int32_t small = 0;
            int64_t large = 0;
            if (strcmp(field.data, "attempts") == 0) {
                deem_response_attempts(response, &small);
                number = small;
            } else if (strcmp(field.data, "http_status") == 0) {
                deem_response_http_status(response, &small);
                number = small;
            } else if (strcmp(field.data, "retry_after_ms") == 0) {
                deem_response_retry_after_ms(response, &large);
                number = (double)large;
            } else if (strcmp(field.data, "cost") == 0) {
                deem_response_cost(response, &number);
            }
            if (!number_is(value, number)) {
                char text[64];
                snprintf(text, sizeof text, "%g", number);
                fail(name, "%s is %s", field.data, text);
            }
            continue;
        }
        dm_span want = text_at(value);
        if (got == NULL || strcmp(got, want.data) != 0) {
            const char *message;
            deem_response_message(response, &message, NULL);
            fail(name, "is %s (%s)", got == NULL ? "(absent)" : got, message);
        }
    }
    /* The key never appears anywhere. */
    const char *text;
    deem_response_message(response, &text, NULL);
    const char *body = NULL;
    deem_response_body(response, &body, NULL, NULL);
    if (strstr(text, "conformance-key") != NULL ||
        (body != NULL && strstr(body, "conformance-key") != NULL)) {
        fail(name, "the key is shown%s%s", "", "");
    }
}

static void run(uint32_t item, const char *verdict, int32_t level) {
    uint32_t expect = member(item, verdict);
    if (expect == DM_JSON_NONE) {
        return;
    }
    uint32_t own = member(item, transport);
    if (own != DM_JSON_NONE && level == DEEM_CHECK_STRICT) {
        expect = own;
    }
    dm_span name = text_at(member(item, "name"));
    script s;
    pthread_t thread;
    read_script(member(item, "attempts"), &s);
    start_server(&s, &thread);
    deem_client *client = new_client(s.port, level);
    deem_question_set *set = new_set(member(item, "questions"));
    deem_response *response = NULL;
    if (strcmp(transport, "hosted") == 0) {
        response = run_hosted(client, set, &s);
    } else if (strcmp(transport, "engine") == 0) {
        response = run_engine(client, set);
    } else {
        deem_evaluate_text(client, set, state, sizeof state - 1, NULL, &response);
    }
    if (response == NULL) {
        fail(name, "there is no response%s%s", "", "");
    } else {
        check(name, expect, response, set);
    }
    deem_response_free(response);
    deem_question_set_free(set);
    deem_client_free(client);
    shutdown(s.listener, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(s.listener);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: replies CASES blocking|engine|curl|hosted\n");
        return 2;
    }
    transport = argv[2];
    dm_bytes text = {0};
    FILE *file = fopen(argv[1], "rb");
    if (file == NULL || dm_bytes_reserve(&text, 4 << 20) != 0) {
        fprintf(stderr, "the cases cannot be read\n");
        return 2;
    }
    text.len = fread(text.data, 1, text.cap - DM_JSON_PADDING - 1, file);
    fclose(file);
    dm_json_index_init(&cases, DM_JSON_BY_DEFAULT);
    if (dm_json_index_run(&cases, text.data, text.len, NULL, NULL) != DM_JSON_OK) {
        fprintf(stderr, "the cases are no JSON\n");
        return 2;
    }
    int count = 0;
    for (uint32_t item = dm_json_first(0); item < dm_json_end(&cases, 0);
         item = cases.nodes[item].next) {
        run(item, "expect", DEEM_CHECK_STRICT);
        run(item, "lenient", DEEM_CHECK_LENIENT);
        count++;
    }
    printf("%d cases over %s, %d failures\n", count, transport, failures);
    dm_json_index_free(&cases);
    dm_bytes_free(&text);
    dm_arena_free(&arena);
    return failures == 0 && count > 0 ? 0 : 1;
}
