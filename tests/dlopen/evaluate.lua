-- LuaJIT's ffi. usage: evaluate.lua LIBRARY QUESTIONS STATE; server and key come from TYPESAFE_*.
local ffi = require("ffi")
ffi.cdef [[
typedef struct builder builder; typedef struct set set; typedef struct config config;
typedef struct client client; typedef struct response response;
int32_t deem_abi_version(uint32_t *, uint32_t *, uint32_t *);
int32_t deem_question_set_builder_new(builder **);
int32_t deem_question_set_builder_json(builder *, const char *, size_t);
int32_t deem_question_set_new(builder *, set **);
int32_t deem_config_new(config **);
int32_t deem_client_new(config *, client **);
int32_t deem_evaluate_text(client *, set *, const char *, size_t, const void *, response **);
int32_t deem_response_noul(const response *, size_t, double *);
int32_t deem_response_choice(const response *, size_t, int32_t *, const char **, size_t *, double *);
void deem_response_free(response *); void deem_client_free(client *); void deem_config_free(config *);
void deem_question_set_free(set *); void deem_question_set_builder_free(builder *);
]]
local deem, questions, state = ffi.load(arg[1]), arg[2], arg[3]

local function ok(status, what) assert(status == 0, what) end

local major, minor = ffi.new("uint32_t[1]"), ffi.new("uint32_t[1]")
ok(deem.deem_abi_version(major, minor, nil), "version")
print(("abi %d %d"):format(major[0], minor[0]))
local builder, set, config = ffi.new("builder *[1]"), ffi.new("set *[1]"), ffi.new("config *[1]")
local client, response = ffi.new("client *[1]"), ffi.new("response *[1]")
ok(deem.deem_question_set_builder_new(builder), "builder")
ok(deem.deem_question_set_builder_json(builder[0], questions, #questions), "questions")
ok(deem.deem_question_set_new(builder[0], set), "set")
ok(deem.deem_config_new(config), "config")
ok(deem.deem_client_new(config[0], client), "client")
ok(deem.deem_evaluate_text(client[0], set[0], state, #state, nil, response), "evaluate")
local urgent, label, length = ffi.new("double[1]"), ffi.new("const char *[1]"), ffi.new("size_t[1]")
ok(deem.deem_response_noul(response[0], 0, urgent), "noul")
ok(deem.deem_response_choice(response[0], 1, nil, label, length, nil), "choice")
print(("urgent %.6f\nteam %s"):format(urgent[0], ffi.string(label[0], length[0])))
assert(deem.deem_response_noul(response[0], 1, urgent) == 6 and urgent[0] ~= urgent[0])
deem.deem_response_free(response[0])
deem.deem_client_free(client[0])
deem.deem_config_free(config[0])
deem.deem_question_set_free(set[0])
deem.deem_question_set_builder_free(builder[0])
