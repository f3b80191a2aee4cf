"""A Python program that opens the library itself, with ctypes. usage: ctypes_client.py LIBRARY URL"""
import ctypes
import json
import math
import select
import struct
import sys
from ctypes import byref, c_char_p, c_double, c_int32, c_size_t, c_uint32, c_uint64, c_void_p

library = ctypes.CDLL(sys.argv[1])
handle, text = c_void_p, (c_char_p, c_size_t)
ARGUMENTS = {
    "deem_abi_version": (c_void_p, c_void_p, c_void_p),
    "deem_question_set_builder_new": (c_void_p,), "deem_question_set_builder_free": (handle,),
    "deem_question_set_builder_add": (handle, c_int32, *text, c_int32, *text),
    "deem_question_set_builder_option": (handle, *text, c_int32, *text),
    "deem_question_set_new": (handle, c_void_p), "deem_question_set_free": (handle,),
    "deem_config_new": (c_void_p,), "deem_config_free": (handle,),
    "deem_config_set_api_key": (handle, *text), "deem_config_set_base_url": (handle, *text),
    "deem_client_new": (handle, c_void_p), "deem_client_free": (handle,), "deem_client_cancel": (handle, c_uint64),
    "deem_evaluate_text": (handle, handle, *text, handle, c_void_p),
    "deem_submit_text": (handle, handle, *text, handle, c_void_p),
    "deem_client_fd": (handle, c_void_p), "deem_client_step": (handle,), "deem_client_next": (handle, c_void_p, c_void_p),
    "deem_response_code": (handle,), "deem_response_free": (handle,), "deem_response_noul": (handle, c_size_t, c_void_p),
    "deem_response_choice": (handle, c_size_t, c_void_p, c_void_p, c_void_p, c_void_p),
    "deem_response_answers": (handle, c_void_p, c_size_t, c_size_t, c_void_p),
}
VOID = [name for name in ARGUMENTS if name.endswith("_free")]
NOUL, CHOICE, TEXT = 1, 2, 2


def call(name, *arguments):
    """A call that must come to DEEM_OK; text goes as bytes and length."""
    function = getattr(library, name)
    function.argtypes, function.restype = ARGUMENTS[name], None if name in VOID else c_int32
    flat = []
    for argument in arguments:
        flat += [argument.encode(), len(argument.encode())] if isinstance(argument, str) else [argument]
    status = function(*flat)
    if status:
        sys.exit(f"{name}: status {status}")


def records(response):
    room, written = ctypes.create_string_buffer(2 * 64), c_size_t()
    call("deem_response_answers", response, room, 64, 2, byref(written))
    rows = [struct.unpack_from("=iiiIddiiII", room, 64 * index) for index in range(written.value)]
    return [[None if math.isnan(field) else field for field in row] for row in rows]


def main(url):
    major, minor, oldest = c_uint32(), c_uint32(), c_uint32()
    call("deem_abi_version", byref(major), byref(minor), byref(oldest))
    if major.value != 0 or not oldest.value <= 1 <= minor.value:
        sys.exit("the library serves another ABI")
    builder, questions, config, client, response = (handle() for _ in range(5))
    call("deem_question_set_builder_new", byref(builder))
    call("deem_question_set_builder_add", builder, NOUL, "urgent", TEXT, "Is help needed right away?")
    call("deem_question_set_builder_add", builder, CHOICE, "team", TEXT, "Who should take it?")
    call("deem_question_set_builder_option", builder, "Büro", TEXT, "Money, invoices, refunds")
    call("deem_question_set_builder_option", builder, "Wärme", TEXT, "Heating and faults")
    call("deem_question_set_new", builder, byref(questions))
    call("deem_question_set_builder_free", builder)
    call("deem_config_new", byref(config))
    call("deem_config_set_api_key", config, "key")
    call("deem_config_set_base_url", config, url)
    call("deem_client_new", config, byref(client))
    call("deem_config_free", config)
    call("deem_client_cancel", client, 2**64 - 2)  # unknown: no error

    state = "The heating has failed, send somebody now."
    call("deem_evaluate_text", client, questions, state, None, byref(response))
    noul, option, label, length, confidence = c_double(), c_int32(), c_void_p(), c_size_t(), c_double()
    call("deem_response_noul", response, 0, byref(noul))
    call("deem_response_choice", response, 1, byref(option), byref(label), byref(length), byref(confidence))
    answers = {"noul": noul.value, "label": ctypes.string_at(label.value, length.value).decode(),
               "confidence": confidence.value, "records": records(response)}

    fd, identity, done = c_int32(), c_uint64(), c_uint64()
    call("deem_client_fd", client, byref(fd))
    call("deem_submit_text", client, questions, state, None, byref(identity))
    while not done.value:
        if not select.select([fd.value], [], [], 10)[0]:
            sys.exit("nothing came within 10 seconds")
        call("deem_client_step", client)
        call("deem_client_next", client, byref(done), byref(response))
    call("deem_response_code", response)
    if done.value != identity.value:
        sys.exit("another call finished")
    answers["submitted"] = records(response)
    call("deem_response_free", response)
    call("deem_client_free", client)
    call("deem_question_set_free", questions)
    print(json.dumps(answers))


main(sys.argv[2])
