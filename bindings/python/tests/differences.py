"""What differs from the official SDK on purpose: a function for each row of the table in docs/python.md."""

import logging
import time

import deemster
import numpy
import pytest
import typesafe_sdk as official
from conftest import GOOD, KEY, reply

Q = {"q": {"type": "noul", "instructions": "Is it?"}}
PNG = b"\x89PNG\r\n\x1a\nrest"


def call(sdk, server, questions=Q, state="x", **settings):
    """One call; gives the response or the error."""
    settings.setdefault("retry", sdk.RetryPolicy(max_retries=0))
    try:
        with sdk.TypeSafeClient(api_key=KEY, base_url=server.url, **settings) as client:
            return client.system_one(state, questions)
    except Exception as error:  # noqa: BLE001 - it is what the test looks at
        return error


def both(server, *arguments, **settings):
    return call(official, server, *arguments, **settings), call(deemster, server, *arguments, **settings)


def missing_answer(scripted):
    theirs, ours = both(scripted(reply(body=b'{"model":"m","answers":{},"usage":{}}')))
    assert theirs.answers == {} and ours.field_path == "answers.q" and ours.reason == "missing"


def unbelievable(scripted):
    theirs, ours = both(scripted(reply(body=GOOD.replace(b"0.9", b"1.2"))))
    assert theirs.nouls["q"].noul == 1.2 and (ours.field_path, ours.reason) == ("answers.q.noul", "range")


def optional_parts(scripted):
    body = b'{"model":"m","answers":{"q":{"type":"choice","choice":"a"}},"usage":{}}'
    theirs, ours = both(scripted(reply(body=body)), {"q": {"type": "choice", "criteria": {"a": None}}})
    assert isinstance(theirs, official.TypeSafeAPIResponseValidationError) and ours.choices["q"].confidence is None


def unknown_types(scripted):
    body = GOOD.replace(b'"answers":{', b'"answers":{"n":{"type":"new"},"m":{"type":"noul","noul":0.5},')
    theirs, ours = both(scripted(reply(body=body)))
    assert sorted(theirs.answers) == ["m", "q"] and sorted(ours.answers) == ["q"] and sorted(ours.extra_answers) == ["m", "n"]


def request_id(scripted):
    theirs, ours = both(scripted(reply()))
    with pytest.raises(official.TypeSafeError):
        theirs.request_id  # noqa: B018
    assert ours.request_id is None


def not_a_number(scripted):
    server = scripted(reply())
    theirs, ours = both(server, Q, {"a": float("nan")})
    assert b'"NaN"' in server.requests[0][1] and len(server.requests) == 1 and ours.path == "state.a"


def sets_and_bytes(scripted):
    server = scripted(reply())
    for value, place in (({"a": {1}}, "state.a"), ({"a": b"x"}, "state.a")):
        theirs, ours = both(server, Q, value)
        assert theirs.nouls and ours.path == place


def numpy_scalars(scripted):
    server = scripted(reply())
    theirs, ours = both(server, Q, {"a": numpy.int64(3)})
    assert isinstance(theirs, official.TypeSafeError) and ours.nouls and b'{"a":3}' in server.requests[0][1]


def numbers_as_state(scripted):
    server = scripted(reply())
    theirs, ours = both(server, Q, 3)
    assert theirs.nouls and isinstance(ours, deemster.TypeSafeStateError) and len(server.requests) == 1


def bad_questions(scripted):
    many = {"q": {"type": "choice", "criteria": {str(number): None for number in range(256)}}, "r": {"type": "new"}}
    server = scripted(reply(400, b"{}"))
    theirs, ours = both(server, many)
    assert theirs.status == 400 and len([finding for finding in ours.findings if finding.severity == "error"]) == 2


def unknown_argument(scripted):
    with pytest.raises(ValueError):
        official.Noul(colour="red")
    with pytest.raises(TypeError):
        deemster.Noul(colour="red")


def changing(scripted):
    theirs, ours = both(scripted(reply()))
    with pytest.raises(ValueError):
        theirs.model = "x"
    with pytest.raises(deemster.TypeSafeValidationError):
        ours.model = "x"


def timeout(scripted):

    server = scripted(reply())
    original = server.serve

    def dripping(connection):
        class Dripping:
            def __enter__(self):
                return self

            def __exit__(self, *_):
                connection.close()

            def makefile(self, mode):
                return connection.makefile(mode)

            def sendall(self, data):
                for number in range(len(data)):
                    try:
                        connection.sendall(data[number : number + 1])
                    except OSError:
                        return
                    time.sleep(0.004)

        original(Dripping())

    server.serve = dripping
    theirs, ours = both(server, timeout=0.3)
    assert theirs.nouls["q"].noul == 0.9 and isinstance(ours, deemster.TypeSafeAPITimeoutError)


def retry_budget(scripted):
    server = scripted(None)
    theirs = call(official, server, timeout=0.4, retry=official.RetryPolicy(max_retries=0, timeout=0.1))
    ours = call(deemster, server, timeout=5, deadline=0.1)
    assert type(theirs) is official.TypeSafeAPITimeoutError and type(ours) is deemster.TypeSafeDeadlineError


def blank_retry_after(scripted):
    spent = []
    for sdk in (official, deemster):
        start = time.monotonic()
        call(sdk, scripted(reply(503, b"{}", "Retry-After: "), reply()), retry=sdk.RetryPolicy(backoff_initial=0.4, backoff_jitter=0))
        spent.append(time.monotonic() - start)
    assert spent[0] < 0.4 <= spent[1]


def statuses(scripted):
    for status, name in ((402, "PaymentRequired"), (409, "Conflict"), (413, "RequestTooLarge"), (529, "Overloaded")):
        theirs, ours = both(scripted(reply(status, b"{}")))
        assert type(ours).__name__ == f"TypeSafe{name}Error"
        assert type(theirs).__name__ in {base.__name__ for base in type(ours).__mro__}


def closed(scripted):
    server = scripted(reply())
    for sdk, kind in ((official, RuntimeError), (deemster, deemster.TypeSafeClosedError)):
        client = sdk.TypeSafeClient(api_key=KEY, base_url=server.url)
        client.close()
        with pytest.raises(kind):
            client.system_one("x", Q)
    assert issubclass(deemster.TypeSafeClosedError, RuntimeError)


def compression(scripted):
    server = scripted(reply())
    assert isinstance(call(deemster, server, compression="zstd"), deemster.TypeSafeConfigurationError)
    assert call(deemster, server, compression=False, state="x" * 5000).nouls and b"content-encoding" not in server.requests[-1][0].lower()


def images(scripted):
    server = scripted(reply())
    for sdk in (official, deemster):
        photo = sdk.Image(PNG)
        assert call(sdk, server, Q, {"photo": photo}).nouls
    assert b"multipart/form-data" in server.requests[0][0] and b"data_base64" in server.requests[1][1]
    assert isinstance(call(deemster, server, Q, {"photo": deemster.Image(b"GIF89a")}), deemster.TypeSafeError)


def boxes(scripted):
    body = b'{"model":"m","answers":{"b":{"type":"box","box":{"top":0,"bottom":1,"left":0,"right":1},"confidence":null}},"usage":{}}'
    theirs, ours = both(scripted(reply(body=body)), {"b": {"type": "box", "instructions": "The dog"}})
    assert theirs.boxes["b"].box.bottom == 1.0 and isinstance(ours, deemster.TypeSafeQuestionError)


def own_policies(scripted):
    seen = []
    for sdk in (official, deemster):
        server = scripted(reply(418, b"{}"), reply())
        policy = sdk.RetryPolicy(backoff_initial=0, predicate=lambda error: True)
        assert call(sdk, server, retry=policy).nouls
        seen.append(server.head(1).get("x-typesafe-retry-count"))
    assert seen == ["1", None]


def loggers(scripted):
    seen = []

    class Handler(logging.Handler):
        def emit(self, record):
            seen.append(record.name)

    handler = Handler()
    for name in ("typesafe_sdk", "deemster"):
        logging.getLogger(name).addHandler(handler)
        logging.getLogger(name).setLevel(logging.INFO)
    try:
        for sdk in (official, deemster):
            call(sdk, scripted(reply(503), reply()), retry=sdk.RetryPolicy(backoff_initial=0))
    finally:
        for name in ("typesafe_sdk", "deemster"):
            logging.getLogger(name).removeHandler(handler)
            logging.getLogger(name).setLevel(logging.NOTSET)
    assert (seen.count("typesafe_sdk"), seen.count("deemster")) == (3, 1)


def subclasses(scripted):
    assert hasattr(official.SystemOneResponse, "__pydantic_validator__") and not hasattr(deemster.SystemOneResponse, "__pydantic_validator__")


ROWS = {
    "missing answer": missing_answer,
    "unbelievable answer": unbelievable,
    "optional parts": optional_parts,
    "answers of unknown types": unknown_types,
    "request_id": request_id,
    "NaN and infinity in the state": not_a_number,
    "sets and bytes in the state": sets_and_bytes,
    "numpy scalars in the state": numpy_scalars,
    "numbers, booleans as state": numbers_as_state,
    "bad questions": bad_questions,
    "unknown argument of a question class": unknown_argument,
    "changing a response": changing,
    "timeout": timeout,
    "retry budget": retry_budget,
    "blank Retry-After": blank_retry_after,
    "statuses 402, 409, 413, 529": statuses,
    "closed client": closed,
    "compression": compression,
    "images": images,
    "box questions": boxes,
    "policies with exceptions or predicate": own_policies,
    "logger": loggers,
    "subclasses of SystemOneResponse": subclasses,
}
