#include "protocol/error_body.h"

#include "base/path.h"
#include "base/text.h"
#include "deemster.h"
#include "json/value.h"

/* LONGEST: as much of a foreign text as a message shows. LOC: deeper paths than any API's. */
enum { LONGEST = 300, RAW = 200, LOC = 32, ISSUES = 8 };

static int append_string(const dm_json_index *index, uint32_t node, dm_bytes *out) {
    dm_bytes text = {0};
    int failed = dm_json_string_append(index->text, &index->nodes[node], &text) != 0 ||
                 dm_text_append_safe(out, dm_bytes_span(&text), LONGEST) != 0;
    dm_bytes_free(&text);
    return failed ? -1 : 0;
}

static uint32_t string_at(const dm_json_index *index, uint32_t object, dm_span key) {
    uint32_t node = dm_json_get(index, object, key);
    int good = node != DM_JSON_NONE && index->nodes[node].kind == DM_JSON_STRING &&
               index->nodes[node].end > index->nodes[node].start;
    return good ? node : DM_JSON_NONE;
}

static int is_text(const dm_json_index *index, uint32_t node, const char *text) {
    return index->nodes[node].kind == DM_JSON_STRING &&
           dm_json_string_equal(index->text, &index->nodes[node], dm_span_of(text, strlen(text)));
}

/* A 422's `loc` as a path: ["body","questions","q","choice","criteria"] is questions.q.criteria,
 * since the question's type is no part of the request (wire contract section 4.1). Steps that are
 * not understood stay. */
static int append_loc(const dm_json_index *index, uint32_t loc, dm_bytes *path) {
    uint32_t steps[LOC];
    uint32_t count = 0;
    for (uint32_t step = dm_json_first(loc); step < dm_json_end(index, loc) && count < LOC;
         step = index->nodes[step].next) {
        if (!is_text(index, step, "body")) {
            steps[count++] = step;
        }
    }
    int in_question = count >= 2 && is_text(index, steps[0], "questions");
    for (uint32_t i = 0; i < count; i++) {
        const dm_json_node *node = &index->nodes[steps[i]];
        if (in_question && i == 2 &&
            (is_text(index, steps[i], "noul") || is_text(index, steps[i], "choice") ||
             is_text(index, steps[i], "score"))) {
            continue;
        }
        int64_t number;
        dm_bytes name = {0};
        int failed;
        if (node->kind == DM_JSON_NUMBER &&
            dm_json_int64(index->text, node, &number) == DM_JSON_NUMBER_OK && number >= 0) {
            failed = dm_path_append_index(path, (size_t)number);
        } else if (node->kind == DM_JSON_STRING) {
            failed = dm_json_string_append(index->text, node, &name) != 0 ||
                     dm_path_append_key(path, dm_bytes_span(&name)) != 0;
        } else {
            failed = dm_path_append_key(path, dm_json_raw(index, steps[i]));
        }
        dm_bytes_free(&name);
        if (failed) {
            return -1;
        }
    }
    return 0;
}

/* The issues of a 422, joined: `path: msg; path: msg`. Their `input` may quote the state and stays
 * out. */
static int append_issues(const dm_json_index *index, uint32_t list, dm_bytes *out) {
    uint32_t shown = 0;
    for (uint32_t issue = dm_json_first(list); issue < dm_json_end(index, list);
         issue = index->nodes[issue].next) {
        if (shown == ISSUES) {
            return dm_bytes_append_text(out, "; \xE2\x80\xA6");
        }
        if (shown > 0 && dm_bytes_append_text(out, "; ") != 0) {
            return -1;
        }
        shown++;
        uint32_t loc = dm_json_get(index, issue, DM_LITERAL("loc"));
        if (loc != DM_JSON_NONE && index->nodes[loc].kind == DM_JSON_ARRAY) {
            dm_bytes path = {0};
            int failed = append_loc(index, loc, &path) != 0 ||
                         dm_bytes_append(out, path.data, path.len) != 0 ||
                         (path.len != 0 && dm_bytes_append_text(out, ": ") != 0);
            dm_bytes_free(&path);
            if (failed) {
                return -1;
            }
        }
        uint32_t message = string_at(index, issue, DM_LITERAL("msg"));
        if (message == DM_JSON_NONE) {
            message = string_at(index, issue, DM_LITERAL("message"));
        }
        if (message == DM_JSON_NONE) {
            message = string_at(index, issue, DM_LITERAL("type"));
        }
        if (message != DM_JSON_NONE && append_string(index, message, out) != 0) {
            return -1;
        }
    }
    return 0;
}

/* The first of these members that is a text, or DM_JSON_NONE. */
static uint32_t first_text(const dm_json_index *index, uint32_t object) {
    static const char *const names[] = {"message", "error_type", "msg", "title"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint32_t node = string_at(index, object, dm_span_of(names[i], strlen(names[i])));
        if (node != DM_JSON_NONE) {
            return node;
        }
    }
    return DM_JSON_NONE;
}

static uint32_t first_error_of_list(const dm_json_index *index) {
    uint32_t errors = dm_json_get(index, 0, DM_LITERAL("errors"));
    if (errors == DM_JSON_NONE || index->nodes[errors].kind != DM_JSON_ARRAY ||
        dm_json_first(errors) >= dm_json_end(index, errors)) {
        return DM_JSON_NONE;
    }
    return first_text(index, dm_json_first(errors));
}

int dm_error_body_append(const dm_json_index *index, dm_bytes *out) {
    if (index->nodes[0].kind == DM_JSON_STRING) {
        return append_string(index, 0, out);
    }
    uint32_t error = dm_json_get(index, 0, DM_LITERAL("error"));
    uint32_t detail = dm_json_get(index, 0, DM_LITERAL("detail"));
    uint32_t text = DM_JSON_NONE;
    if (error != DM_JSON_NONE && index->nodes[error].kind == DM_JSON_STRING) {
        text = error;
    } else if (error != DM_JSON_NONE) {
        text = first_text(index, error);
    }
    if (text == DM_JSON_NONE) {
        text = string_at(index, 0, DM_LITERAL("message"));
    }
    if (text == DM_JSON_NONE && detail != DM_JSON_NONE) {
        if (index->nodes[detail].kind == DM_JSON_STRING) {
            text = detail;
        } else if (index->nodes[detail].kind == DM_JSON_ARRAY) {
            return append_issues(index, detail, out);
        } else {
            text = first_text(index, detail);
        }
    }
    if (text == DM_JSON_NONE) {
        text = first_error_of_list(index);
    }
    if (text == DM_JSON_NONE) {
        text = string_at(index, 0, DM_LITERAL("error_type"));
    }
    if (text != DM_JSON_NONE) {
        return append_string(index, text, out);
    }
    return dm_text_append_safe(out, dm_span_of(index->text, index->len), RAW);
}

int32_t dm_error_code_of_status(int http_status) {
    switch (http_status) {
    case 400:
    case 401:
    case 402:
    case 403:
    case 404:
    case 408:
    case 409:
    case 413:
    case 422:
    case 429:
    case 529:
        return http_status;
    default:
        break;
    }
    if (http_status >= 300 && http_status < 400) {
        return DEEM_E_HTTP_REDIRECT;
    }
    return http_status >= 500 && http_status < 600 ? DEEM_E_HTTP_SERVER : DEEM_E_HTTP_OTHER;
}

/* A page for browsers says nothing that helps: its tags are left out of the message. */
static int looks_like_html(const char *text, size_t len) {
    size_t at = 0;
    while (at < len &&
           (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t')) {
        at++;
    }
    return at < len && text[at] == '<';
}

/* Where the first issue of a 422 points. */
static int note_path(const dm_json_index *index, dm_error *error) {
    uint32_t detail = dm_json_get(index, 0, DM_LITERAL("detail"));
    if (detail == DM_JSON_NONE || index->nodes[detail].kind != DM_JSON_ARRAY ||
        dm_json_first(detail) >= dm_json_end(index, detail)) {
        return 0;
    }
    uint32_t loc = dm_json_get(index, dm_json_first(detail), DM_LITERAL("loc"));
    if (loc == DM_JSON_NONE || index->nodes[loc].kind != DM_JSON_ARRAY) {
        return 0;
    }
    return append_loc(index, loc, &error->path);
}

int32_t dm_error_body_read(dm_json_index *index, int http_status, const char *text, size_t len,
                           dm_error *error) {
    dm_error_set(error, dm_error_code_of_status(http_status), 0, "%d ", http_status);
    if (len == 0) {
        dm_bytes_append_text(&error->message, "status code (no body)");
    } else if (dm_json_index_run(index, text, len, NULL, NULL) == DM_JSON_OK) {
        dm_error_body_append(index, &error->message);
        note_path(index, error);
    } else if (looks_like_html(text, len)) {
        dm_bytes_append_format(&error->message, "status code (an HTML page of %zu bytes)", len);
    } else {
        dm_text_append_safe(&error->message, dm_span_of(text, len), RAW);
    }
    return error->code;
}

static int says(dm_span body, const char *text) {
    return body.len != 0 && memmem(body.data, body.len, text, strlen(text)) != NULL;
}

int dm_error_body_too_large(int http_status, dm_span body) {
    return http_status == 413 || (http_status == 400 && (says(body, "tokens_exceeded") ||
                                                         says(body, "exceeds the token limit")));
}

int dm_error_body_hits_all(int http_status, dm_span body) {
    return http_status == 401 || http_status == 402 || http_status == 403 || http_status == 404 ||
           (http_status == 400 && (says(body, "Unknown model") || says(body, "model_not_found")));
}
