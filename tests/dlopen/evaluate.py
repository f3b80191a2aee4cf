"""Python's ctypes. usage: evaluate.py LIBRARY QUESTIONS STATE; server and key come from TYPESAFE_*."""
import ctypes
import sys
from ctypes import byref, c_char_p, c_double, c_int32, c_size_t, c_uint32, c_void_p

deem = ctypes.CDLL(sys.argv[1])
questions, state = (text.encode() for text in sys.argv[2:4])


def new(name, *arguments):
    """A handle from a deem_*_new function."""
    handle = c_void_p()
    assert getattr(deem, name)(*arguments, byref(handle)) == 0, name
    return handle


major, minor = c_uint32(), c_uint32()
assert deem.deem_abi_version(byref(major), byref(minor), None) == 0
print("abi", major.value, minor.value)
builder = new("deem_question_set_builder_new")
assert deem.deem_question_set_builder_json(builder, questions, c_size_t(len(questions))) == 0
questionset, config, response = new("deem_question_set_new", builder), new("deem_config_new"), c_void_p()
client = new("deem_client_new", config)
assert deem.deem_evaluate_text(client, questionset, state, c_size_t(len(state)), None, byref(response)) == 0
urgent, label, length = c_double(), c_char_p(), c_size_t()
assert deem.deem_response_noul(response, c_size_t(0), byref(urgent)) == 0
assert deem.deem_response_choice(response, c_size_t(1), None, byref(label), byref(length), None) == 0
print(f"urgent {urgent.value:.6f}\nteam {ctypes.string_at(label, length.value).decode()}")
assert deem.deem_response_noul(response, c_size_t(1), byref(urgent)) == 6 and urgent.value != urgent.value
for name, handle in (("response", response), ("client", client), ("config", config), ("question_set", questionset),
                     ("question_set_builder", builder)):
    getattr(deem, f"deem_{name}_free")(handle)
