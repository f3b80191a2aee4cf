#include "request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_CHOICES     255
#define MAX_LEVELS      10
#define BYTES_PER_TOKEN 8
#define FIXED_TOKENS    280

/* One step of a pydantic "loc": a name, or an index where name is NULL. */
struct step {
    const char *name;
    size_t length;
    size_t index;
};

struct judge {
    struct mock_request *request;
    yajl_gen issues;
    size_t issue_count;
    struct step path[8];
    size_t depth;
    bool invalid; /* the service's plain 400 "Invalid request." */
};

void mock_take(struct mock_buffer *body, yajl_gen out) {
    const unsigned char *text = NULL;
    size_t length = 0;
    yajl_gen_get_buf(out, &text, &length);
    mock_buffer_add(body, text, length);
    yajl_gen_free(out);
}

void mock_detail(struct mock_buffer *body, const char *error_type, const char *message) {
    yajl_gen out = yajl_gen_alloc(NULL);
    yajl_gen_map_open(out);
    mock_put_text(out, "detail");
    yajl_gen_map_open(out);
    mock_put_text(out, "error_type");
    mock_put_text(out, error_type);
    if (message) {
        mock_put_text(out, "message");
        mock_put_text(out, message);
    }
    yajl_gen_map_close(out);
    yajl_gen_map_close(out);
    mock_take(body, out);
}

void mock_detail_text(struct mock_buffer *body, const char *text, size_t length) {
    yajl_gen out = yajl_gen_alloc(NULL);
    yajl_gen_map_open(out);
    mock_put_text(out, "detail");
    mock_put_string(out, text, length);
    yajl_gen_map_close(out);
    mock_take(body, out);
}

static const struct mock_node *node_at(const struct judge *judge, size_t node) {
    return &judge->request->json.nodes[node];
}

static void enter(struct judge *judge, const char *name) {
    judge->path[judge->depth++] = (struct step){.name = name, .length = strlen(name)};
}

static void enter_member(struct judge *judge, size_t node) {
    judge->path[judge->depth++] = (struct step){.name = node_at(judge, node)->key,
                                                .length = node_at(judge, node)->key_length};
}

static void enter_index(struct judge *judge, size_t index) {
    judge->path[judge->depth++] = (struct step){.index = index};
}

static void leave(struct judge *judge) {
    judge->depth--;
}

/* One pydantic issue. input is the offending value; context is JSON text for "ctx", or NULL. */
static void issue(struct judge *judge, const char *type, const char *last_step, const char *message,
                  size_t input, const char *context) {
    yajl_gen out = judge->issues;
    judge->issue_count++;
    yajl_gen_map_open(out);
    mock_put_text(out, "type");
    mock_put_text(out, type);
    mock_put_text(out, "loc");
    yajl_gen_array_open(out);
    mock_put_text(out, "body");
    for (size_t i = 0; i < judge->depth; i++) {
        if (judge->path[i].name)
            mock_put_string(out, judge->path[i].name, judge->path[i].length);
        else
            mock_put_integer(out, (long long)judge->path[i].index);
    }
    if (last_step)
        mock_put_text(out, last_step);
    yajl_gen_array_close(out);
    mock_put_text(out, "msg");
    mock_put_text(out, message);
    mock_put_text(out, "input");
    if (input == MOCK_NONE) {
        yajl_gen_null(out);
    } else {
        const struct mock_node *node = node_at(judge, input);
        mock_put_raw(out, judge->request->json.document + node->start, node->end - node->start);
    }
    if (context) {
        mock_put_text(out, "ctx");
        mock_put_raw(out, context, strlen(context));
    }
    yajl_gen_map_close(out);
}

static void issue_missing(struct judge *judge, const char *field, size_t parent) {
    issue(judge, "missing", field, "Field required", parent, NULL);
}

/* A text, object or array; anything else gets one issue for each alternative. */
static void judge_content(struct judge *judge, size_t node, bool null_allowed) {
    enum mock_kind kind = node_at(judge, node)->kind;
    if (kind == MOCK_STRING || kind == MOCK_OBJECT || kind == MOCK_ARRAY ||
        (null_allowed && kind == MOCK_NULL))
        return;
    issue(judge, "string_type", "str", "Input should be a valid string", node, NULL);
    issue(judge, "dict_type", "dict[any,any]", "Input should be a valid dictionary", node, NULL);
    issue(judge, "list_type", "list[any]", "Input should be a valid list", node, NULL);
}

static void judge_noul(struct judge *judge, size_t criteria) {
    static const char *const sides[] = {"true", "false"};
    struct mock_json *json = &judge->request->json;
    if (criteria == MOCK_NONE || json->nodes[criteria].kind == MOCK_NULL)
        return;
    enter(judge, "criteria");
    if (json->nodes[criteria].kind != MOCK_OBJECT) {
        issue(judge, "model_type", NULL,
              "Input should be a valid dictionary or instance of NoulCriteria", criteria,
              "{\"class_name\":\"NoulCriteria\"}");
    } else {
        for (size_t i = 0; i < 2; i++) {
            size_t side = mock_json_member(json, criteria, sides[i]);
            if (side == MOCK_NONE)
                continue;
            enter(judge, sides[i]);
            judge_content(judge, side, true);
            leave(judge);
        }
    }
    leave(judge);
}

static void judge_options(struct judge *judge, struct mock_question *question, size_t criteria) {
    struct mock_json *json = &judge->request->json;
    bool choice = question->type == MOCK_CHOICE;
    if (criteria == MOCK_NONE) {
        issue_missing(judge, "criteria", question->node);
        return;
    }
    enter(judge, "criteria");
    if (json->nodes[criteria].kind != (choice ? MOCK_OBJECT : MOCK_ARRAY)) {
        issue(judge, choice ? "dict_type" : "list_type", NULL,
              choice ? "Input should be a valid dictionary" : "Input should be a valid list",
              criteria, NULL);
    } else if (!choice && !json->nodes[criteria].count) {
        issue(judge, "too_short", NULL, "List should have at least 1 item after validation, not 0",
              criteria, "{\"field_type\":\"List\",\"min_length\":1,\"actual_length\":0}");
    } else {
        size_t left = json->nodes[criteria].count;
        if (choice)
            left = mock_json_drop_duplicates(json, criteria);
        question->options = mock_resize(NULL, left * sizeof *question->options);
        for (size_t i = criteria + 1; i < json->nodes[criteria].next; i = json->nodes[i].next) {
            if (json->nodes[i].overridden)
                continue;
            if (choice)
                enter_member(judge, i);
            else
                enter_index(judge, question->option_count);
            judge_content(judge, i, choice);
            leave(judge);
            question->options[question->option_count++] = i;
        }
    }
    leave(judge);
}

static void judge_question(struct judge *judge, struct mock_question *question, size_t node,
                           const struct mock_rules *rules) {
    struct mock_json *json = &judge->request->json;
    question->node = node;
    if (json->nodes[node].kind != MOCK_OBJECT) {
        issue(judge, "model_attributes_type", NULL,
              "Input should be a valid dictionary or object to extract fields from", node, NULL);
        return;
    }
    size_t type = mock_json_member(json, node, "type");
    if (type == MOCK_NONE) {
        issue(judge, "union_tag_not_found", NULL,
              "Unable to extract tag using discriminator 'type'", node,
              "{\"discriminator\":\"'type'\"}");
        return;
    }
    if (mock_json_is(json, type, "noul")) {
        question->type = MOCK_NOUL;
    } else if (mock_json_is(json, type, "choice")) {
        question->type = MOCK_CHOICE;
    } else if (mock_json_is(json, type, "score")) {
        question->type = MOCK_SCORE;
    } else {
        if (rules->unknown_type_422)
            issue(judge, "union_tag_invalid", NULL,
                  "Input tag found using 'type' does not match any of the expected tags: 'noul', "
                  "'choice', 'score'",
                  node,
                  "{\"discriminator\":\"'type'\",\"expected_tags\":\"'noul', 'choice', 'score'\"}");
        else
            judge->invalid = true;
        return;
    }
    enter(judge, question->type == MOCK_NOUL     ? "noul"
                 : question->type == MOCK_CHOICE ? "choice"
                                                 : "score");
    size_t instructions = mock_json_member(json, node, "instructions");
    if (instructions != MOCK_NONE) {
        enter(judge, "instructions");
        judge_content(judge, instructions, true);
        leave(judge);
    }
    size_t criteria = mock_json_member(json, node, "criteria");
    if (question->type == MOCK_NOUL)
        judge_noul(judge, criteria);
    else
        judge_options(judge, question, criteria);
    leave(judge);
}

static void judge_questions(struct judge *judge, size_t questions, const struct mock_rules *rules) {
    struct mock_request *request = judge->request;
    struct mock_json *json = &request->json;
    enter(judge, "questions");
    if (json->nodes[questions].kind != MOCK_OBJECT) {
        issue(judge, "dict_type", NULL, "Input should be a valid dictionary", questions, NULL);
    } else if (!json->nodes[questions].count) {
        issue(judge, "too_short", NULL,
              "Dictionary should have at least 1 item after validation, not 0", questions,
              "{\"field_type\":\"Dictionary\",\"min_length\":1,\"actual_length\":0}");
    } else {
        size_t left = mock_json_drop_duplicates(json, questions);
        request->questions = mock_resize(NULL, left * sizeof *request->questions);
        memset(request->questions, 0, left * sizeof *request->questions);
        for (size_t i = questions + 1; i < json->nodes[questions].next; i = json->nodes[i].next) {
            if (json->nodes[i].overridden)
                continue;
            enter_member(judge, i);
            judge_question(judge, &request->questions[request->question_count++], i, rules);
            leave(judge);
        }
    }
    leave(judge);
}

static void judge_shape(struct judge *judge, const struct mock_rules *rules) {
    struct mock_json *json = &judge->request->json;
    if (json->nodes[0].kind != MOCK_OBJECT) {
        issue(judge, "model_attributes_type", NULL,
              "Input should be a valid dictionary or object to extract fields from", 0, NULL);
        return;
    }
    mock_json_drop_duplicates(json, 0);
    size_t model = mock_json_member(json, 0, "model");
    size_t state = mock_json_member(json, 0, "state");
    size_t questions = mock_json_member(json, 0, "questions");
    if (model == MOCK_NONE) {
        issue_missing(judge, "model", 0);
    } else if (json->nodes[model].kind != MOCK_STRING) {
        enter(judge, "model");
        issue(judge, "string_type", NULL, "Input should be a valid string", model, NULL);
        leave(judge);
    } else {
        judge->request->model = json->nodes[model].text;
        judge->request->model_length = json->nodes[model].text_length;
    }
    if (state == MOCK_NONE || json->nodes[state].kind == MOCK_NULL) {
        issue_missing(judge, "state", 0);
    } else {
        enter(judge, "state");
        judge_content(judge, state, false);
        leave(judge);
        judge->request->state = state;
    }
    if (questions == MOCK_NONE)
        issue_missing(judge, "questions", 0);
    else
        judge_questions(judge, questions, rules);
    for (size_t i = 1; i < json->nodes[0].next; i = json->nodes[i].next)
        if (!json->nodes[i].overridden && i != model && i != state && i != questions)
            judge->invalid = true;
}

/* The limits that the service answers with a bare string. */
static bool counts_fit(const struct mock_request *request, struct mock_buffer *error) {
    static const char no_choice[] = "Choice question must have at least one choice: ";
    for (size_t i = 0; i < request->question_count; i++) {
        const struct mock_question *question = &request->questions[i];
        const struct mock_node *node = &request->json.nodes[question->node];
        const char *text = NULL;
        if (!node->key_length)
            text = "Question key cannot be empty.";
        else if (question->type == MOCK_CHOICE && question->option_count > MAX_CHOICES)
            text = "Too many choices. Must have at most 255 choices.";
        else if (question->type == MOCK_SCORE && question->option_count > MAX_LEVELS)
            text = "Too many score levels. Must have at most 10 levels.";
        if (text) {
            mock_detail_text(error, text, strlen(text));
            return false;
        }
        if (question->type == MOCK_CHOICE && !question->option_count) {
            struct mock_buffer message = {0};
            mock_buffer_add(&message, no_choice, sizeof no_choice - 1);
            mock_buffer_add(&message, node->key, node->key_length);
            mock_detail_text(error, message.data, message.length);
            mock_buffer_free(&message);
            return false;
        }
    }
    return true;
}

static bool same(const struct mock_request *request, const char *name) {
    return request->model_length == strlen(name) &&
           !memcmp(request->model, name, request->model_length);
}

/* Aliases as of wire contract 2.7. */
static bool resolve_model(struct mock_request *request, const struct mock_rules *rules,
                          struct mock_buffer *error) {
    static const struct {
        const char *asked, *answers;
    } models[] = {{"jev-latest", "jev-1.13.0"},
                  {"jev-preview", "jev-1.14.0"},
                  {"jev-1.13.0", "jev-1.13.0"},
                  {"jev-1.14.0", "jev-1.14.0"}};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (same(request, models[i].asked)) {
            request->model = models[i].answers;
            request->model_length = strlen(request->model);
            return true;
        }
    for (size_t i = 0; i < rules->model_count; i++)
        if (same(request, rules->models[i]))
            return true;
    struct mock_buffer message = {0};
    mock_buffer_print(&message, "Unknown model: ");
    mock_buffer_add(&message, request->model, request->model_length);
    mock_buffer_add(&message, "", 1);
    mock_detail(error, "api_usage_error", message.data);
    mock_buffer_free(&message);
    return false;
}

static bool tokens_fit(const struct mock_request *request, const struct mock_rules *rules,
                       struct mock_buffer *error) {
    const struct mock_node *state = &request->json.nodes[request->state];
    size_t longest = 0, all = 0;
    for (size_t i = 0; i < request->question_count; i++) {
        const struct mock_node *node = &request->json.nodes[request->questions[i].node];
        size_t bytes = node->end - node->start;
        all += bytes;
        if (bytes > longest)
            longest = bytes;
    }
    size_t fixed = (state->end - state->start) / BYTES_PER_TOKEN + FIXED_TOKENS;
    if (!rules->token_limit || (fixed + all / BYTES_PER_TOKEN <= rules->token_limit &&
                                fixed + longest / BYTES_PER_TOKEN <= rules->token_limit / 2))
        return true;
    mock_detail(error, "max_tokens_exceeded", NULL);
    return false;
}

static bool is_json(const char *content_type) {
    if (!content_type)
        return true; /* FastAPI reads an unlabelled body as JSON */
    size_t length = strcspn(content_type, "; ");
    return (length == 16 && !strncasecmp(content_type, "application/json", 16)) ||
           (length > 5 && !strncasecmp(content_type + length - 5, "+json", 5));
}

static void put_issue_body(struct mock_buffer *error, yajl_gen issues) {
    mock_buffer_print(error, "{\"detail\":");
    mock_take(error, issues);
    mock_buffer_print(error, "}");
}

int mock_request_read(struct mock_request *request, const char *body, size_t length,
                      const char *content_type, const struct mock_rules *rules,
                      struct mock_buffer *error) {
    *request = (struct mock_request){0};
    if (!length) {
        mock_buffer_print(error, "{\"detail\":[{\"type\":\"missing\",\"loc\":[\"body\"],"
                                 "\"msg\":\"Field required\",\"input\":null}]}");
        return 422;
    }
    if (!is_json(content_type)) {
        mock_buffer_print(error, "{\"detail\":[{\"type\":\"model_attributes_type\","
                                 "\"loc\":[\"body\"],\"msg\":\"Input should be a valid dictionary "
                                 "or object to extract fields from\",\"input\":null}]}");
        return 422;
    }
    if (!mock_json_parse(&request->json, body, length)) {
        if (request->json.too_deep) {
            mock_buffer_print(error, "Internal Server Error");
            return 500;
        }
        mock_buffer_print(error,
                          "{\"detail\":[{\"type\":\"json_invalid\",\"loc\":[\"body\",%zu],"
                          "\"msg\":\"JSON decode error\",\"input\":{},"
                          "\"ctx\":{\"error\":\"Invalid JSON\"}}]}",
                          request->json.error_offset);
        return 422;
    }
    struct judge judge = {.request = request, .issues = yajl_gen_alloc(NULL)};
    yajl_gen_array_open(judge.issues);
    judge_shape(&judge, rules);
    yajl_gen_array_close(judge.issues);
    if (judge.issue_count) {
        put_issue_body(error, judge.issues);
        return 422;
    }
    yajl_gen_free(judge.issues);
    if (judge.invalid) {
        mock_detail(error, "api_usage_error", "Invalid request.");
        return 400;
    }
    if (!counts_fit(request, error) || !resolve_model(request, rules, error) ||
        !tokens_fit(request, rules, error))
        return 400;
    return 200;
}

void mock_request_free(struct mock_request *request) {
    for (size_t i = 0; i < request->question_count; i++)
        free(request->questions[i].options);
    free(request->questions);
    mock_json_free(&request->json);
    request->questions = NULL;
    request->question_count = 0;
}
