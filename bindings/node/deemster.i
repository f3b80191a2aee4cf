/* The wide, cold surface of the C ABI for Node: every function of the public headers that is not on the hot path.
 *
 * Conventions of what SWIG makes of it. A function that gives out-parameters returns an array [status, out1, out2, …];
 * one without returns its result. Text goes in as a string or a Uint8Array, null or undefined is "no text". Text comes
 * out as a string, or null. Handles are opaque objects that must never leave this package: nothing frees them but
 * the matching _free function. Numbers are checked: a whole number is a whole number within its C type, or a TypeError.
 */
%module deemster_native

%{
#include "deemster.h"
#include "deemster_experimental.h"
#include "src/addon.h"
%}

%runtime %{
#include <cmath>
#include <string>
#include <vector>

/* A text argument: bytes copied from a JS string or Uint8Array, or none at all. */
struct dmn_text {
    std::string bytes;
    bool given = false;

    bool read(const Napi::Value &value) {
        if (value.IsNull() || value.IsUndefined()) return true;
        if (value.IsString()) {
            bytes = value.As<Napi::String>().Utf8Value();
        } else if (value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == napi_uint8_array) {
            Napi::Uint8Array array = value.As<Napi::Uint8Array>();
            if (array.ByteLength() > 0) bytes.assign(reinterpret_cast<const char *>(array.Data()), array.ByteLength());
        } else {
            return false;
        }
        given = true;
        return true;
    }
    const char *data() const { return given ? bytes.data() : nullptr; }
};

/* A whole number in [least, most], from a JS number or bigint. */
static inline bool dmn_whole(const Napi::Value &value, double least, double most, int64_t *out) {
    if (value.IsBigInt()) {
        bool exact = false;
        *out = value.As<Napi::BigInt>().Int64Value(&exact);
        return exact && static_cast<double>(*out) >= least && static_cast<double>(*out) <= most;
    }
    if (!value.IsNumber()) return false;
    double number = value.As<Napi::Number>().DoubleValue();
    if (!(number >= least && number <= most) || number != std::floor(number)) return false;
    *out = static_cast<int64_t>(number);
    return true;
}

/* A C count for JS: a number as long as that is exact, else a bigint. */
static inline Napi::Value dmn_count(Napi::Env env, int64_t value) {
    if (value >= -9007199254740991 && value <= 9007199254740991) return Napi::Number::New(env, static_cast<double>(value));
    return Napi::BigInt::New(env, value);
}
%}

/* Numbers in; a status, and anything else of 32 bits, out. */
%include <stdint.i>
%typemap(out) int32_t { $result = Napi::Number::New(env, $1); }
%typemap(in) int32_t (int64_t number_in) {
    if (!dmn_whole($input, -2147483648.0, 2147483647.0, &number_in)) {
        SWIG_exception_fail(SWIG_TypeError, "in $symname, argument $argnum: a whole number of 32 bits is needed");
    }
    $1 = (int32_t)number_in;
}
%typemap(in) int64_t (int64_t number_in) {
    if (!dmn_whole($input, -9007199254740991.0, 9007199254740991.0, &number_in)) {
        SWIG_exception_fail(SWIG_TypeError, "in $symname, argument $argnum: a whole number up to 2^53 is needed");
    }
    $1 = number_in;
}
%typemap(in) uint64_t (int64_t number_in), size_t (int64_t number_in) {
    if (!dmn_whole($input, 0.0, 9007199254740991.0, &number_in)) {
        SWIG_exception_fail(SWIG_TypeError, "in $symname, argument $argnum: a whole number from 0 to 2^53 is needed");
    }
    $1 = ($1_ltype)number_in;
}
%typemap(in) double {
    double number = $input.IsNumber() ? $input.As<Napi::Number>().DoubleValue() : NAN;
    if (!std::isfinite(number)) {
        SWIG_exception_fail(SWIG_TypeError, "in $symname, argument $argnum: a finite number is needed");
    }
    $1 = number;
}

/* Text in. */
%typemap(in) (const char *BYTES, size_t LENGTH) (dmn_text text_in) {
    if (!text_in.read($input)) {
        SWIG_exception_fail(SWIG_TypeError, "in $symname, argument $argnum: a string or Uint8Array is needed");
    }
    $1 = const_cast<char *>(text_in.data());
    $2 = text_in.bytes.size();
}
%apply (const char *BYTES, size_t LENGTH) {
    (const char *feature, size_t len), (const char *key, size_t key_len), (const char *key, size_t len),
    (const char *instructions, size_t instructions_len), (const char *text, size_t len), (const char *label, size_t label_len),
    (const char *description, size_t description_len), (const char *level, size_t len), (const char *name, size_t name_len),
    (const char *json, size_t json_len), (const char *json, size_t len), (const char *model, size_t len),
    (const char *url, size_t len), (const char *path, size_t len), (const char *list, size_t len), (const char *suffix, size_t len),
    (const char *runtime, size_t len), (const char *value, size_t value_len), (const char *method, size_t method_len),
    (const char *path, size_t path_len), (const char *body, size_t body_len), (const char *body, size_t len),
    (const char *message, size_t len)
};
%typemap(in) (const int32_t *statuses, size_t count) (std::vector<int32_t> list) {
    if (!$input.IsArray()) SWIG_exception_fail(SWIG_TypeError, "in $symname, argument $argnum: an array is needed");
    Napi::Array array = $input.As<Napi::Array>();
    for (uint32_t i = 0; i < array.Length(); i++) {
        int64_t whole = 0;
        if (!dmn_whole(array.Get(i), 0.0, 65535.0, &whole)) {
            SWIG_exception_fail(SWIG_TypeError, "in $symname, argument $argnum: HTTP statuses are needed");
        }
        list.push_back(static_cast<int32_t>(whole));
    }
    $1 = const_cast<int32_t *>(list.data());
    $2 = list.size();
}

/* What comes out beside the status. */
%typemap(in, numinputs=0) (const char **BYTES, size_t *LENGTH) (const char *bytes = nullptr, size_t length = 0) {
    $1 = const_cast<$1_ltype>(&bytes);
    $2 = &length;
}
%typemap(argout) (const char **BYTES, size_t *LENGTH) {
    $result = SWIG_AppendOutput($result, *$1 == nullptr ? env.Null()
                                             : static_cast<Napi::Value>(Napi::String::New(env, *$1, *$2)));
}
%apply (const char **BYTES, size_t *LENGTH) {
    (const char **path, size_t *path_len), (const char **path, size_t *len), (const char **message, size_t *message_len),
    (const char **message, size_t *len), (const char **advice, size_t *advice_len), (const char **key, size_t *key_len),
    (const char **text, size_t *len), (const char **json, size_t *len), (const char **json, size_t *json_len),
    (const char **model, size_t *len), (const char **hex, size_t *len), (const char **id, size_t *len),
    (const char **method, size_t *method_len), (const char **url, size_t *url_len), (const char **body, size_t *body_len),
    (const char **body, size_t *len), (const char **value, size_t *value_len), (const char **name, size_t *name_len),
    (const char **label, size_t *label_len), (const char **description, size_t *description_len),
    (const char **release_date, size_t *release_date_len)
};
%typemap(in, numinputs=0) const char **rule (const char *word = nullptr) { $1 = const_cast<$1_ltype>(&word); }
%typemap(argout) const char **rule {
    $result = SWIG_AppendOutput($result, *$1 == nullptr ? env.Null() : static_cast<Napi::Value>(Napi::String::New(env, *$1)));
}
%typemap(in, numinputs=0) int32_t * (int32_t out = 0), int64_t * (int64_t out = 0), uint32_t * (uint32_t out = 0),
    uint64_t * (uint64_t out = 0), size_t * (size_t out = 0), double * (double out = 0) { $1 = &out; }
%typemap(argout) int32_t *, int64_t *, uint32_t *, uint64_t *, size_t * {
    $result = SWIG_AppendOutput($result, dmn_count(env, static_cast<int64_t>(*$1)));
}
%typemap(argout) double * { $result = SWIG_AppendOutput($result, Napi::Number::New(env, *$1)); }

/* The statuses go in alone. */
%typemap(argout) (const int32_t *statuses, size_t count) {}

/* Handles out. */
%define HANDLE_OUT(TYPE)
%typemap(in, numinputs=0) TYPE ** (TYPE *handle = nullptr) { $1 = &handle; }
%typemap(argout) TYPE ** {
    $result = SWIG_AppendOutput($result, *$1 == nullptr ? env.Null()
                                             : static_cast<Napi::Value>(SWIG_NewPointerObj(*$1, $*1_descriptor, 0)));
}
%enddef
HANDLE_OUT(deem_question_set_builder)
HANDLE_OUT(deem_question_set)
HANDLE_OUT(deem_config)
HANDLE_OUT(deem_client)
HANDLE_OUT(deem_options)
HANDLE_OUT(deem_response)
HANDLE_OUT(deem_exchange)
HANDLE_OUT(deem_batch_settings)
HANDLE_OUT(deem_batch)

/* The hot path and what has no use without it are hand-written (src/). */
%ignore deem_submit_text;
%ignore deem_submit_json;
%ignore deem_submit_request;
%ignore deem_client_fd;
%ignore deem_client_step;
%ignore deem_client_next;
%ignore deem_response_answers;
%ignore deem_response_probabilities;
%ignore deem_answer;
%ignore deem_batch_room;
%ignore deem_batch_push_text;
%ignore deem_batch_push_json;
%ignore deem_batch_push_error;
%ignore deem_batch_finish;
%ignore deem_batch_fd;
%ignore deem_batch_step;
%ignore deem_batch_next;
%ignore deem_batch_stop;
%ignore deem_batch_cancel;
%ignore deem_batch_stats_read;
%ignore deem_batch_row;
%ignore deem_batch_stats;
/* Nothing in Node may block its thread. */
%ignore deem_evaluate_text;
%ignore deem_evaluate_json;
%ignore deem_list_models;
%ignore deem_request;

%include "deemster.h"
%include "deemster_experimental.h"

/* What the hand-written functions need of SWIG: the C pointer in a handle object, and an object for a response. */
%wrapper %{
extern "C" void *dmn_unwrap(napi_env raw, napi_value value, int32_t kind) {
    Napi::Env env(raw);
    void *pointer = nullptr;
    swig_type_info *type = kind == DMN_CLIENT ? SWIGTYPE_p_deem_client
                           : kind == DMN_SET  ? SWIGTYPE_p_deem_question_set
                           : kind == DMN_BATCH ? SWIGTYPE_p_deem_batch
                                              : SWIGTYPE_p_deem_options;
    Napi::Value object(env, value);
    if (!object.IsObject() || !SWIG_IsOK(SWIG_NAPI_ConvertPtr(object, &pointer, type, 0))) return nullptr;
    return pointer;
}

extern "C" napi_value dmn_wrap_response(napi_env raw, deem_response *response) {
    Napi::Env env(raw);
    return SWIG_NewPointerObj(response, SWIGTYPE_p_deem_response, 0);
}
%}

%init %{
    dmn_add_functions(env, exports);
%}
