"""The blocking client: what is sent, what comes back, errors, limits, checks, logging."""

import json
import logging
import pickle
import threading
import time

import pytest
from conftest import GOOD, KEY, client_of, reply

import deemster
from deemster import Noul, QuestionSet, RetryPolicy

Q = {"q": Noul(instructions="Is it?")}


def bodies(answer):
    return b'{"model":"m","answers":{"q":' + answer + b'},"usage":{"input_tokens":1,"output_tokens":1}}'


def test_the_request(scripted):
    server = scripted(reply())
    with client_of(server, model="mine", headers={"X-Team": "a"}) as client:
        client.system_one({"a": "ü"}, Q, extra_headers={"x-team": "b", "Authorization": "no"}, extra_body={"extra": [1]})
    head, body = server.requests[0]
    assert head.startswith(b"POST /v1/systemone HTTP/1.1\r\n")
    assert json.loads(body) == {"state": {"a": "ü"}, "model": "mine", "questions": {"q": {"type": "noul", "instructions": "Is it?"}}, "extra": [1]}
    sent = server.head()
    assert (sent["authorization"], sent["x-team"], sent["accept"], sent["content-type"]) == (
        f"Bearer {KEY}", "b", "application/json", "application/json")  # fmt: skip
    assert sent["x-typesafe-runtime"].startswith("python/3.") and "x-typesafe-retry-count" not in sent


def test_everything_known_about_a_call(scripted):
    server = scripted(reply(503), reply(200, GOOD, "x-typesafe-request-id: req_1", "X-A: 1", "x-a: 2"))
    with client_of(server, retry=RetryPolicy(backoff_initial=0)) as client:
        response = client.system_one("x", Q)
    assert (response.attempts, response.request_id, response.status, response.raw) == (2, "req_1", 200, GOOD)
    assert response.headers["X-a"] == "1, 2" and response.headers.get_list("x-a") == ["1", "2"] and response.headers.get("none") is None
    assert response.timings["total"] > 0 and response.bytes_sent > 200 and response.bytes_received > len(GOOD)
    assert response.endpoint == f"POST {server.url}/v1/systemone"
    assert response.valid and response.problems == {} and response.extra_answers == {} and response.cost is None
    assert server.head(1)["x-typesafe-retry-count"] == "1"
    assert server.requests[0][1] == server.requests[1][1]


STATUSES = [
    (400, "TypeSafeBadRequestError"), (401, "TypeSafeAuthenticationError"), (402, "TypeSafePaymentRequiredError"),
    (403, "TypeSafePermissionDeniedError"), (404, "TypeSafeNotFoundError"), (409, "TypeSafeConflictError"),
    (413, "TypeSafeRequestTooLargeError"), (422, "TypeSafeUnprocessableEntityError"), (429, "TypeSafeRateLimitError"),
    (418, "TypeSafeAPIError"), (408, "TypeSafeAPIError"), (307, "TypeSafeAPIError"), (500, "TypeSafeInternalServerError"),
    (503, "TypeSafeInternalServerError"), (529, "TypeSafeOverloadedError"), (599, "TypeSafeInternalServerError"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "name"), STATUSES)
def test_status_errors(status, name, scripted):
    server = scripted(reply(status, b'{"detail":{"error_type":"t","message":"Sorry."}}', "x-typesafe-request-id: req_9"))
    with client_of(server) as client, pytest.raises(deemster.TypeSafeAPIError) as caught:
        client.system_one("x", Q)
    error = caught.value
    assert (type(error).__name__, error.status, error.request_id, error.attempts) == (name, status, "req_9", 1)
    assert error.body == {"detail": {"error_type": "t", "message": "Sorry."}}
    assert str(error) == f"POST {server.url}/v1/systemone: {status} Sorry. (request_id=req_9)"
    assert error.response.status == status and error.response.answers == {}
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.code, again.response.status) == (type(error), str(error), error.code, status)


def test_overloaded_is_a_server_error():
    assert issubclass(deemster.TypeSafeOverloadedError, deemster.TypeSafeInternalServerError)


REPLIES = [
    # body, field_path, reason
    (bodies(b'{"type":"noul","noul":1.2}'), "answers.q.noul", "range"),
    (bodies(b'{"type":"noul","noul":null}'), "answers.q.noul", "type"),
    (bodies(b'{"type":"noul","noul":1e999}'), "answers.q.noul", "range"),
    (bodies(b'{"type":"noul"}'), "answers.q.noul", "shape"),
    (bodies(b'{"type":"choice","choice":"a","confidence":1,"probabilities":{"a":1}}'), "answers.q.type", "wrong_kind"),
    (b'{"model":"m","answers":{},"usage":{}}', "answers.q", "missing"),
    (b'{"model":"m","answers":[],"usage":{}}', "answers", "envelope"),
    (b"", "", "empty"),
    (b"<html>", "", "not_json"),
    (b"[]", "", "envelope"),
    (GOOD + b"xyz", "", "trailing"),
]


@pytest.mark.parametrize(("body", "path", "reason"), REPLIES)
def test_replies_that_must_not_be_believed(body, path, reason, scripted):
    server = scripted(reply(200, body, "x-typesafe-request-id: req_2"))
    with client_of(server, retry=RetryPolicy(backoff_initial=0)) as client:
        with pytest.raises(deemster.TypeSafeAPIResponseValidationError) as caught:
            client.system_one("x", Q)
    error = caught.value
    assert (error.field_path, error.reason, error.status, error.request_id, len(server.requests)) == (path, reason, 200, "req_2", 1)
    assert error.response.raw == body and error.response.answers == {}
    assert pickle.loads(pickle.dumps(error)).field_path == path


def test_good_answers_of_a_bad_reply_stay_readable(scripted):
    body = b'{"model":"m","answers":{"q":{"type":"noul","noul":7},"r":{"type":"noul","noul":0.5}},"usage":{"input_tokens":3}}'
    with client_of(scripted(reply(body=body))) as client, pytest.raises(deemster.TypeSafeAPIResponseValidationError) as caught:
        client.system_one("x", {**Q, "r": Noul(instructions="?")})
    response = caught.value.response
    assert (list(response.answers), response.usage.input_tokens, response.model) == (["r"], 3, "m")
    assert response.problems["q"].reason == "range" and response.problems["q"].path == "answers.q.noul" and not response.valid


def test_lenient(scripted):
    choice = b'{"type":"choice","choice":"c1","confidence":0.99,"probabilities":{"c0":0.9,"c1":0.05,"c2":0.05}}'
    body = b'{"model":"m","answers":{"c":' + choice + b'},"usage":{}}'
    questions = {"c": {"type": "choice", "criteria": {"c0": None, "c1": None, "c2": None}}, "gone": Noul(instructions="?")}
    with client_of(scripted(reply(body=body)), strict=False) as client:
        response = client.system_one("x", questions)
        with pytest.raises(deemster.TypeSafeAPIResponseValidationError):
            client.system_one("x", questions, strict=True)
    answer = response.choices["c"]
    assert (answer.choice, answer.top, answer.problem.reason) == ("c1", "c0", "not_top")
    assert sorted((name, problem.reason) for name, problem in response.problems.items()) == [("c", "not_top"), ("gone", "missing")]
    assert not response.valid and "gone" not in response.answers


def test_what_nobody_asked_is_kept_aside(scripted):
    body = b'{"model":"m","cost":0.5,"answers":{"__proto__":{"noul":0.1},"n":{"type":"new","x":[1]},"q":{"type":"noul","noul":1}},"usage":null}'
    with client_of(scripted(reply(body=body))) as client:
        response = client.system_one("x", Q)
    assert response.extra_answers == {"__proto__": {"noul": 0.1}, "n": {"type": "new", "x": [1]}}
    assert response.nouls["q"].noul == 1.0 and response.cost == 0.5
    assert (response.usage.input_tokens, response.usage.output_tokens) == (None, None) and response.request_id is None


def test_optional_parts_may_be_absent(scripted):
    questions = {"c": {"type": "choice", "criteria": {"a": None, "b": None}}}
    body = b'{"model":"m","answers":{"c":{"type":"choice","choice":"a"}}}'
    with client_of(scripted(reply(body=body))) as client:
        answer = client.system_one("x", questions).choices["c"]
    assert (answer.choice, answer.confidence, answer.probabilities, answer.top) == ("a", None, {}, None)


def test_probabilities_come_in_the_order_of_the_request(scripted):
    labels = [f"l{number}" for number in range(12)]
    shares = {label: round(1 / 12, 4) for label in reversed(labels)}
    answer = {"type": "choice", "choice": "l3", "confidence": 0.1, "probabilities": shares}
    body = json.dumps({"model": "m", "answers": {"c": answer}, "usage": {}}).encode()
    with client_of(scripted(reply(body=body))) as client:
        assert list(client.system_one("x", {"c": {"type": "choice", "criteria": dict.fromkeys(labels)}}).choices["c"].probabilities) == labels


def test_boxes_and_images(scripted):
    box = {"type": "box", "box": {"top": 0.1, "bottom": 0.4, "left": 0.2, "right": 0.6}, "confidence": None}
    body = json.dumps({"model": "m", "answers": {"dog": box, "q": {"type": "noul", "noul": 0.5}}, "usage": {}}).encode()
    server = scripted(reply(body=body))
    photo, other = deemster.Image(b"\x89PNG\r\n\x1a\nrest"), deemster.Image(b"\xff\xd8\xffrest")
    with client_of(server) as client, client.attach_assets(photo):
        response = client.system_one(f"See {photo}", {"dog": deemster.Box(instructions="The dog"), **Q}, assets={"other": other})
    sent = json.loads(server.requests[0][1])
    assert sent["questions"]["dog"] == {"type": "box", "instructions": "The dog"} and sent["questions"]["q"]["type"] == "noul"
    assert {name: (asset["type"], asset["format"]) for name, asset in sent["assets"].items()} == {
        str(photo): ("image", "png"), "other": ("image", "jpeg")}  # fmt: skip
    assert response.boxes["dog"].box.bottom == 0.4 and response.boxes["dog"].confidence is None and list(response.nouls) == ["q"]


@pytest.mark.parametrize("data", [b"neither", "text", b"", 3])
def test_images_that_are_none(data, mock):
    with deemster.TypeSafeClient(api_key=KEY, base_url=mock) as client, pytest.raises(deemster.TypeSafeError, match="Asset"):
        client.system_one("x", Q, assets={"a": deemster.Image(data)})


def test_timeout_of_an_attempt(scripted):
    server = scripted(None)
    with client_of(server, timeout=0.1) as client, pytest.raises(deemster.TypeSafeAPITimeoutError) as caught:
        client.system_one("x", Q)
    assert (caught.value.timeout, caught.value.code, caught.value.attempts) == (0.1, "DEEM_E_TIMEOUT", 1)
    assert isinstance(caught.value, TimeoutError) and isinstance(caught.value, ConnectionError)
    assert pickle.loads(pickle.dumps(caught.value)).timeout == 0.1


def test_deadline_cuts_a_running_attempt(scripted):
    server = scripted(None)
    with client_of(server) as client, pytest.raises(deemster.TypeSafeDeadlineError) as caught:
        client.system_one("x", Q, deadline=0.15)
    assert caught.value.timeout == 0.15 and caught.value.code == "DEEM_E_DEADLINE"


def test_a_hint_beyond_the_deadline_is_the_servers_error(scripted):
    server = scripted(reply(429, b"{}", "retry-after: 60"))
    with client_of(server, retry=RetryPolicy()) as client, pytest.raises(deemster.TypeSafeRateLimitError) as caught:
        client.system_one("x", Q)
    assert caught.value.retry_after_ms == 60_000 and len(server.requests) == 1


def test_a_timeout_object_counts_as_its_longest_part(scripted):
    import httpx2

    assert deemster._config.seconds(httpx2.Timeout(1, read=4), "timeout") == 4.0
    assert deemster._config.seconds(httpx2.Timeout(None), "timeout") is None
    with client_of(scripted(None), timeout=httpx2.Timeout(0.1)) as client, pytest.raises(deemster.TypeSafeAPITimeoutError):
        client.system_one("x", Q)


def test_a_long_timeout_lifts_the_deadline():
    client = deemster.TypeSafeClient(api_key=KEY, timeout=90)
    assert client._config.deadline(90.0, None, None) == 90.0
    assert client._config.deadline(90.0, None, 5) == 5.0
    assert client._config.deadline(10.0, RetryPolicy(timeout=None), None) is None


def test_the_key_is_never_shown(scripted):
    server = scripted(reply(401, json.dumps({"detail": f"bad key {KEY}"}).encode()))
    with client_of(server, headers={"X-Api-Token": KEY}) as client:
        with pytest.raises(deemster.TypeSafeAuthenticationError) as caught:
            client.system_one("x", Q)
        shown = [repr(client), str(client), repr(client.__getstate__()), repr(caught.value), str(caught.value), str(caught.value.body)]
    assert not [text for text in shown if KEY in text]
    assert KEY not in repr(pickle.dumps(client)).replace("X-Api-Token", "").split("headers")[0]


def test_private_text_of_a_422_stays_out_of_the_message(scripted):
    body = {"detail": [{"type": "t", "loc": ["body", "questions", "q", "choice", "criteria"], "msg": "Bad.", "input": {"state": "<private>"}}]}
    with client_of(scripted(reply(422, json.dumps(body).encode()))) as client:
        with pytest.raises(deemster.TypeSafeUnprocessableEntityError) as caught:
            client.system_one("<private>", Q)
    assert "<private>" not in str(caught.value) and "questions.q.choice.criteria: Bad." in str(caught.value)
    assert caught.value.body == body


def test_environment(monkeypatch, mock):
    for name, value in (("API_KEY", f" {KEY} "), ("BASE_URL", f"{mock}/"), ("DEFAULT_MODEL", "jev-preview")):
        monkeypatch.setenv(f"TYPESAFE_{name}", value)
    with deemster.TypeSafeClient() as client:
        assert repr(client) == f"TypeSafeClient(base_url={mock!r}, model='jev-preview')"
        assert client.system_one("x", Q).nouls["q"].noul >= 0
    monkeypatch.setenv("TYPESAFE_BASE_URL", "  ")
    assert "api.typesafe.ai" in repr(deemster.TypeSafeClient())
    with pytest.raises(deemster.TypeSafeConfigurationError):
        deemster.TypeSafeClient(api_key="")


@pytest.mark.parametrize(
    "settings",
    [{"base_url": "ftp://x"}, {"base_url": "http://u:p@x"}, {"headers": {"a b": "c"}}, {"headers": {"a": "b\r\nc: d"}}, {"headers": {"ü": "x"}},
     {"proxy": "nonsense://"}, {"max_connections": 0}, {"timeout": 0}, {"deadline": -1}, {"model": ""}, {"compression": "zstd"},
     {"retry": RetryPolicy(http_statuses={700})}],
)  # fmt: skip
def test_settings_that_are_refused_at_once(settings):
    with pytest.raises(deemster.TypeSafeConfigurationError) as caught:
        deemster.TypeSafeClient(api_key=KEY, **settings)
    assert str(caught.value) and KEY not in str(caught.value)


def test_closed(mock):
    client = deemster.TypeSafeClient(api_key=KEY, base_url=mock)
    client.close()
    client.close()
    with pytest.raises(deemster.TypeSafeClosedError):
        client.system_one("x", Q)
    with pytest.raises(RuntimeError):
        client.models.list()


def test_close_ends_a_call_under_way(scripted):
    server = scripted(None)
    client = client_of(server)
    outcome = []

    def call():
        try:
            client.system_one("x", Q)
        except deemster.TypeSafeError as error:
            outcome.append(type(error))

    thread = threading.Thread(target=call)
    thread.start()
    while not server.requests:
        time.sleep(0.005)
    client.close()
    thread.join(5)
    assert outcome == [deemster.TypeSafeClosedError]


def test_32_threads_on_one_client(mock):
    with deemster.TypeSafeClient(api_key=KEY, base_url=mock) as client:
        made = QuestionSet({f"q{number}": Noul(instructions="?") for number in range(5)})
        seen = []

        def work(number):
            for turn in range(20):
                response = client.system_one(f"{number} {turn}", made)
                seen.append((number, len(response.nouls), response.status))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(32)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    assert sorted(seen) == sorted((number, 5, 200) for number in range(32) for _ in range(20))


def test_responses_outlive_their_client_and_are_not_reused_while_held(mock):
    client = deemster.TypeSafeClient(api_key=KEY, base_url=mock)
    held = [client.system_one(f"state {number}", Q) for number in range(100)]
    client.close()
    del client
    assert len({response.request_id for response in held}) == 100
    assert len({id(response._held.cell) for response in held}) == 100


def test_a_reused_response_leaves_no_trace(scripted):
    server = scripted(reply(200, bodies(b'{"type":"noul","noul":0.5}'), "x-typesafe-request-id: one"), reply(200, GOOD))
    with client_of(server) as client:
        assert client.system_one("x", Q).request_id == "one"
        second = client.system_one("x", Q)
    assert (second.request_id, second.nouls["q"].noul, second.model) == (None, 0.9, "jev-1.13.0")


def test_logging(scripted, caplog):
    server = scripted(reply(503), reply(200, GOOD, "x-typesafe-request-id: req_7", "Set-Cookie: secret"))
    with caplog.at_level(logging.DEBUG, logger="deemster"):
        with client_of(server, retry=RetryPolicy(backoff_initial=0), headers={"X-My-Token": "hidden"}) as client:
            client.system_one("the state", Q)
    text = "\n".join(record.getMessage() for record in caplog.records)
    assert f"POST {server.url}/v1/systemone <- 200 in" in text and "(request req_7, attempts 2)" in text and "the state" in text
    assert KEY not in text and "hidden" not in text and "secret" not in text
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="deemster"), client_of(server) as client:
        client.system_one("the state", Q)
    assert len(caplog.records) == 1 and "the state" not in caplog.text


def test_models_of_both_shapes(scripted):
    server = scripted(
        reply(200, b'{"models":[{"name":"a","description":"d","release_date":"2026-01-01"},{"name":"b"}]}'),
        reply(200, b'{"object":"list","data":[{"id":"c"}]}'), reply(200, b'{"models":3}'),
    )  # fmt: skip
    with client_of(server) as client:
        first, second = client.models.list(), client.models.list(timeout=5, extra_headers={"x-a": "1"})
        with pytest.raises(deemster.TypeSafeAPIResponseValidationError):
            client.models.list()
    assert [(model.name, model.description, model.release_date) for model in first.models] == [("a", "d", "2026-01-01"), ("b", None, None)]
    assert [model.name for model in second.models] == ["c"] and server.head(1)["x-a"] == "1"


def test_reprs_are_short(scripted):
    names = {f"question{number}": {"type": "noul", "instructions": "x" * 50} for number in range(300)}
    body = json.dumps({"model": "m" * 5000, "answers": {name: {"type": "noul", "noul": 0.5} for name in names}, "usage": {}}).encode()
    with client_of(scripted(reply(body=body))) as client:
        response = client.system_one("x", names)
        shown = [response, QuestionSet(names), response.usage, response.nouls["question1"], client, response.headers, deemster.Noul(instructions="x" * 9000)]
    assert [text for text in map(repr, shown) if len(text) > 2000] == []
