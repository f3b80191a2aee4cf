-- A LuaJIT program that opens the library itself, with ffi. usage: luajit luajit_client.lua LIBRARY URL
local ffi = require("ffi")
ffi.cdef [[
typedef struct {
    int32_t question, kind, status; uint32_t flags; double value, confidence; int32_t chosen, top;
    uint32_t first_probability, probability_count; uint64_t reserved[2];
} deem_answer;
int32_t deem_abi_version(uint32_t *major, uint32_t *minor, uint32_t *oldest);
int32_t deem_question_set_builder_new(void **builder);
void deem_question_set_builder_free(void *builder);
int32_t deem_question_set_builder_add(void *builder, int32_t kind, const char *key, size_t key_len, int32_t form,
                                      const char *instructions, size_t instructions_len);
int32_t deem_question_set_builder_option(void *builder, const char *label, size_t label_len, int32_t form,
                                         const char *description, size_t description_len);
int32_t deem_question_set_new(void *builder, void **set);
void deem_question_set_free(void *set);
int32_t deem_config_new(void **config);
void deem_config_free(void *config);
int32_t deem_config_set_api_key(void *config, const char *key, size_t len);
int32_t deem_config_set_base_url(void *config, const char *url, size_t len);
int32_t deem_client_new(void *config, void **client);
void deem_client_free(void *client);
int32_t deem_client_cancel(void *client, uint64_t id);
int32_t deem_evaluate_text(void *client, void *set, const char *text, size_t len, const void *options, void **response);
int32_t deem_submit_text(void *client, void *set, const char *text, size_t len, const void *options, uint64_t *id);
int32_t deem_client_fd(void *client, int32_t *fd);
int32_t deem_client_step(void *client);
int32_t deem_client_next(void *client, uint64_t *id, void **response);
void deem_response_free(void *response);
int32_t deem_response_code(const void *response);
int32_t deem_response_noul(const void *response, size_t question, double *probability);
int32_t deem_response_choice(const void *response, size_t question, int32_t *option, const char **label, size_t *label_len,
                             double *confidence);
int32_t deem_response_answers(const void *response, void *answers, size_t record_size, size_t count, size_t *written);
struct pollfd { int fd; short events, revents; };
int poll(struct pollfd *fds, unsigned long count, int timeout);
]]
local NOUL, CHOICE, TEXT, POLLIN = 1, 2, 2, 1
local lib = ffi.load(arg[1])

local function must(status)
    if status ~= 0 then error("status " .. status, 2) end
end

local function new(make, ...) -- calls make(..., out) and gives the handle
    local out = ffi.new("void *[1]")
    local arguments = { ... }
    arguments[#arguments + 1] = out
    must(make(unpack(arguments)))
    return out[0]
end

local function number(value) return value ~= value and "null" or ("%.17g"):format(value) end

local function records(response)
    local room, written = ffi.new("deem_answer[2]"), ffi.new("size_t[1]")
    must(lib.deem_response_answers(response, room, ffi.sizeof("deem_answer"), 2, written))
    local rows = {}
    for index = 0, tonumber(written[0]) - 1 do
        local r, fields = room[index], {}
        for _, name in ipairs { "question", "kind", "status", "flags", "value", "confidence", "chosen", "top",
                                "first_probability", "probability_count" } do
            fields[#fields + 1] = number(r[name])
        end
        rows[#rows + 1] = "[" .. table.concat(fields, ",") .. "]"
    end
    return "[" .. table.concat(rows, ",") .. "]"
end

assert(ffi.sizeof("deem_answer") == 64)
local version = ffi.new("uint32_t[3]")
must(lib.deem_abi_version(version, version + 1, version + 2))
assert(version[0] == 0 and version[2] <= 1 and version[1] >= 1, "the library serves another ABI")

local builder = new(lib.deem_question_set_builder_new)
local function question(kind, key, words)
    must(lib.deem_question_set_builder_add(builder, kind, key, #key, TEXT, words, #words))
end
local function option(label, words)
    must(lib.deem_question_set_builder_option(builder, label, #label, TEXT, words, #words))
end
question(NOUL, "urgent", "Is help needed right away?")
question(CHOICE, "team", "Who should take it?")
option("Büro", "Money, invoices, refunds")
option("Wärme", "Heating and faults")
local set = new(lib.deem_question_set_new, builder)
lib.deem_question_set_builder_free(builder)

local config = new(lib.deem_config_new)
must(lib.deem_config_set_api_key(config, "key", 3))
must(lib.deem_config_set_base_url(config, arg[2], #arg[2]))
local client = new(lib.deem_client_new, config)
lib.deem_config_free(config)
must(lib.deem_client_cancel(client, 0xfffffffffffffffeULL)) -- unknown: no error

local state = "The heating has failed, send somebody now."
local response = ffi.new("void *[1]")
must(lib.deem_evaluate_text(client, set, state, #state, nil, response))
local real, chosen = ffi.new("double[2]"), ffi.new("int32_t[1]")
local label, len = ffi.new("const char *[1]"), ffi.new("size_t[1]")
must(lib.deem_response_noul(response[0], 0, real))
must(lib.deem_response_choice(response[0], 1, chosen, label, len, real + 1))
local line = ('{"noul":%s,"label":"%s","confidence":%s,"records":%s'):format(
    number(real[0]), ffi.string(label[0], len[0]), number(real[1]), records(response[0]))

local fd, id, done = ffi.new("int32_t[1]"), ffi.new("uint64_t[1]"), ffi.new("uint64_t[1]")
must(lib.deem_client_fd(client, fd))
must(lib.deem_submit_text(client, set, state, #state, nil, id))
while done[0] == 0 do
    local wait = ffi.new("struct pollfd[1]", { { fd[0], POLLIN, 0 } })
    assert(ffi.C.poll(wait, 1, 10000) == 1, "nothing came within 10 seconds")
    must(lib.deem_client_step(client))
    must(lib.deem_client_next(client, done, response))
end
must(lib.deem_response_code(response[0]))
assert(done[0] == id[0], "another call finished")
print(line .. ',"submitted":' .. records(response[0]) .. "}")
lib.deem_response_free(response[0])
lib.deem_client_free(client)
lib.deem_question_set_free(set)
