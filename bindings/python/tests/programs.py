"""Programs written for the official SDK. Each takes the package and a server's URL and returns what it saw.

test_dropin.py runs each with the official package and with deemster, and compares.
"""

import asyncio
import copy
import pickle

QUESTIONS = {
    "billing": {"type": "noul", "instructions": "Is this about billing?"},
    "tone": {"type": "choice", "instructions": "Tone?", "criteria": {"calm": None, "angry": "Upset or hostile"}},
    "urgency": {"type": "score", "instructions": "How urgent?", "criteria": ["can wait", "this week", {"what": "today"}]},
}
STATE = "I was charged twice. Please help."


def objects(sdk):
    return {
        "billing": sdk.Noul(instructions="Is this about billing?", criteria={"true": "It is", "false": None}),
        "tone": sdk.Choice(instructions="Tone?", criteria={"calm": None, "angry": "Upset or hostile"}),
        "urgency": sdk.Score(instructions="How urgent?", criteria=["can wait", "this week", {"what": "today"}]),
    }


def client(sdk, url, **settings):
    return sdk.TypeSafeClient(api_key="key-4711-test", base_url=url, **settings)


def answered(result):
    return result.model_dump(exclude={"usage"}), result.usage.input_tokens, result.usage.output_tokens


def call_with_objects(sdk, url):
    with client(sdk, url) as c:
        return answered(c.system_one(STATE, objects(sdk)))


def call_with_dicts(sdk, url):
    with client(sdk, url) as c:
        return answered(c.system_one(state=STATE, questions=QUESTIONS))


def call_with_both(sdk, url):
    with client(sdk, url) as c:
        return answered(c.system_one(STATE, {**QUESTIONS, "more": sdk.Noul(instructions="More?")}))


def extra_keys_in_a_question(sdk, url):
    with client(sdk, url) as c:
        return answered(c.system_one(STATE, {"q": {"type": "noul", "instructions": "?", "weight": 3}}))


def object_state(sdk, url):
    with client(sdk, url) as c:
        return answered(c.system_one({"a": [1, 2.5, None, True, "ü€😀"], "b": {"c": 2**63}}, QUESTIONS))


def list_state(sdk, url):
    with client(sdk, url) as c:
        return answered(c.system_one([{"role": "user", "content": "hi"}], QUESTIONS))


def views(sdk, url):
    with client(sdk, url) as c:
        r = c.system_one(STATE, objects(sdk))
    noul, choice, score = r.nouls["billing"], r.choices["tone"], r.scores["urgency"]
    return (
        sorted(r.answers), sorted(r.nouls), sorted(r.choices), sorted(r.scores), noul.type, noul.noul, choice.type, choice.choice,
        choice.confidence, sorted(choice.probabilities.items()), score.type, score.score, score.confidence,
        sorted(score.legend.items()), sorted(score.probabilities.items()), r.model, bool(r.request_id),
    )  # fmt: skip


def isinstance_checks(sdk, url):
    with client(sdk, url) as c:
        r = c.system_one(STATE, objects(sdk))
    kinds = (sdk.NoulAnswer, sdk.ChoiceAnswer, sdk.ScoreAnswer)
    return {name: [isinstance(answer, kind) for kind in kinds] for name, answer in r.answers.items()}


def matching(sdk, url):
    with client(sdk, url) as c:
        r = c.system_one(STATE, objects(sdk))
    seen = []
    for name in ("billing", "tone", "urgency"):
        match r.answers[name]:
            case sdk.NoulAnswer(noul=value):
                seen.append(("noul", value))
            case sdk.ChoiceAnswer(choice=label, confidence=share):
                seen.append((label, share))
            case sdk.ScoreAnswer(score=value, legend={0: first}):
                seen.append((value, first))
    return seen


def dumping(sdk, url):
    import json

    with client(sdk, url) as c:
        r = c.system_one(STATE, objects(sdk))
    return r.model_dump(), json.loads(r.model_dump_json()), r.scores["urgency"].model_dump(), r.model_dump(mode="json")["answers"], (
        r.nouls["billing"].model_dump_json(), list(r.model_dump()), list(r.scores["urgency"].model_dump()),
    )  # fmt: skip


def dumping_parts(sdk, url):
    with client(sdk, url) as c:
        r = c.system_one(STATE, objects(sdk))
    return r.model_dump(include={"model"}), r.model_dump(exclude={"answers": {"tone"}, "model": True}), list(r.model_dump_json(indent=2))[:20]


def validating(sdk, url):
    raw = {
        "model": "m", "usage": {"input_tokens": 1, "output_tokens": None}, "more": 1,
        "answers": {"s": {"type": "score", "score": 1.5, "confidence": 0.5, "legend": {0: "a"}, "probabilities": {0: 1.0}}},
    }  # fmt: skip
    r = sdk.SystemOneResponse.model_validate(raw)
    again = sdk.SystemOneResponse.model_validate_json(r.model_dump_json())
    return r.model_dump(), again == r, r.scores["s"].legend, again.scores["s"].probabilities


def validation_fails(sdk, url):
    seen = []
    for bad in ({}, {"model": 3, "usage": {}}, {"model": "m", "usage": {"input_tokens": "x"}}):
        try:
            sdk.SystemOneResponse.model_validate(bad)
        except ValueError as error:
            seen.append(error.errors()[0]["loc"])
    return seen


def copying(sdk, url):
    with client(sdk, url) as c:
        r = c.system_one(STATE, objects(sdk))
    changed = r.model_copy(update={"model": "other"})
    return changed.model, copy.deepcopy(r) == r, copy.copy(r) == r, changed == r, changed.answers == r.answers


def pickling(sdk, url):
    with client(sdk, url) as c:
        r = c.system_one(STATE, objects(sdk))
    again = pickle.loads(pickle.dumps(r))
    return again == r, again.model_dump() == r.model_dump(), again.request_id == r.request_id


def frozen(sdk, url):
    with client(sdk, url) as c:
        r = c.system_one(STATE, objects(sdk))
    seen = []
    for target, name in ((r, "model"), (r.nouls["billing"], "noul"), (r.usage, "input_tokens")):
        try:
            setattr(target, name, 1)
        except ValueError:
            seen.append(name)
    return seen


def hashing(sdk, url):
    with client(sdk, url) as c:
        r = c.system_one(STATE, objects(sdk))
    a = r.nouls["billing"]
    return hash(a) == hash(a.model_copy()), hash(r.usage) == hash(sdk.Usage(input_tokens=r.usage.input_tokens, output_tokens=r.usage.output_tokens))


def question_models(sdk, url):
    n, c, s = sdk.Noul(instructions="i"), sdk.Choice(criteria={"a": None}), sdk.Score(criteria=["x", {"k": 1}], instructions="i")
    n2 = sdk.Noul.model_validate({"type": "noul", "instructions": "i"})
    n.instructions = "changed"
    return n.model_dump(), c.model_dump(), s.model_dump(), n2.model_dump_json(), n2 == sdk.Noul(instructions="i"), c.type, n == n2


def question_failures(sdk, url):
    seen = []
    for make in (lambda: sdk.Choice(), lambda: sdk.Score(criteria=[]), lambda: sdk.Score(criteria="abc"), lambda: sdk.Noul(instructions=3)):
        try:
            make()
            seen.append("made")
        except (ValueError, TypeError):
            seen.append("refused")
    return seen


def refused_before_sending(sdk, url):
    seen = []
    with client(sdk, url) as c:
        for state, questions in (
            (STATE, {}), (None, QUESTIONS), (STATE, {"q": {"type": "choice", "criteria": {}}}), (STATE, {"q": {"type": "choice"}}),
            (STATE, {"q": {"type": "score", "criteria": []}}), (STATE, {"q": "text"}), (STATE, {"q": {"type": ""}}),
            (STATE, {"q": {"type": "noul"}}), ({"x": object()}, QUESTIONS), (STATE, {"q": {"type": "noul", "instructions": "?", "criteria": 3}}),
        ):  # fmt: skip
            try:
                c.system_one(state, questions)
                seen.append("sent")
            except sdk.TypeSafeError as error:
                seen.append(isinstance(error, sdk.TypeSafeAPIError))
    return seen


def keys(sdk, url):
    seen = []
    for key in ("", "  ", "a b", "a\nb", "schlüssel", "\x7f", " good "):
        try:
            sdk.TypeSafeClient(api_key=key, base_url=url).close()
            seen.append("made")
        except sdk.TypeSafeError as error:
            seen.append(bool(key.strip()) and key.strip() in str(error))
    return seen


def wrong_key(sdk, url):
    try:
        sdk.TypeSafeClient(api_key="wrong-key", base_url=url).system_one(STATE, QUESTIONS)
    except sdk.TypeSafeAuthenticationError as error:
        return error.status, error.body, bool(error.request_id), error.endpoint.replace(url, ""), isinstance(error, sdk.TypeSafeAPIError)


def unknown_model(sdk, url):
    try:
        with client(sdk, url) as c:
            c.system_one(STATE, QUESTIONS, model="jev-9")
    except sdk.TypeSafeBadRequestError as error:
        return error.status, error.body, str(error).replace(url, "").replace(error.request_id, "")


def extra_body(sdk, url):
    seen = []
    with client(sdk, url) as c:
        try:
            c.system_one(STATE, QUESTIONS, extra_body={"colour": "red"})
        except sdk.TypeSafeBadRequestError as error:
            seen.append(error.body)
        seen.append(answered(c.system_one("x", QUESTIONS, extra_body={"state": STATE, "model": "jev-preview"})))
    return seen


def error_pickles(sdk, url):
    try:
        with client(sdk, url) as c:
            c.system_one(STATE, QUESTIONS, model="jev-9")
    except sdk.TypeSafeAPIError as error:
        again = pickle.loads(pickle.dumps(error))
        return type(again).__name__, again.status, again.body, again.headers["content-type"], str(again) == str(error)


def made_errors(sdk, url):
    headers = sdk.TypeSafeAPIError(500, None, {}).headers
    rows = []
    for body in ("text", {"error": "a"}, {"error": {"message": "b"}}, {"message": "c"}, {"detail": "d"}, {"detail": {"message": "e"}},
                 {"detail": [{"loc": ["body", "q", 1], "msg": "f"}, {"msg": "g"}]}, {"x": 1}, None, "y" * 300):  # fmt: skip
        rows.append(str(sdk.TypeSafeAPIError(418, body, headers, endpoint="POST http://h/v1")))
    rows.append(str(sdk.TypeSafeAPIError(418, None, headers, "own words")))
    rows.append(repr(sdk.TypeSafeAPITimeoutError(2.5)))
    rows.append(str(sdk.TypeSafeAPIConnectionError("gone")))
    return rows


def refused_connection(sdk, url):
    try:
        client(sdk, "http://127.0.0.1:9", retry=sdk.RetryPolicy(max_retries=0)).system_one(STATE, QUESTIONS)
    except sdk.TypeSafeAPIConnectionError as error:
        return isinstance(error, ConnectionError), isinstance(error, TimeoutError), str(error).startswith("Connection error: ")


def policies(sdk, url):
    p = sdk.RetryPolicy()
    seen = [p.max_retries, p.backoff_initial, p.backoff_max, p.backoff_jitter, len(p.http_statuses), p.respect_retry_after,
            p.api_connection_error, p.api_timeout_error, p.exceptions, p.predicate, p.timeout]  # fmt: skip
    for bad in ({"max_retries": -1}, {"backoff_initial": -1}, {"backoff_max": float("inf")}, {"backoff_jitter": 2}, {"timeout": 0}):
        try:
            sdk.RetryPolicy(**bad)
        except sdk.TypeSafeError:
            seen.append(sorted(bad))
    try:
        p.max_retries = 3
    except AttributeError:
        seen.append("frozen")
    return seen


def timeouts_refused(sdk, url):
    seen = []
    for value in (0, -1, float("nan"), float("inf")):
        try:
            client(sdk, url, timeout=value)
        except sdk.TypeSafeError:
            seen.append("refused")
    return seen


def models(sdk, url):
    with client(sdk, url) as c:
        listed = c.models.list()
    return listed.model_dump(), type(listed.models).__name__, listed.models[0].name, bool(listed.request_id)


def constants(sdk, url):
    c = sdk.constants
    return c.API_KEY_ENV, c.BASE_URL_ENV, c.DEFAULT_MODEL_ENV, c.LOG_LEVEL_ENV, c.DEFAULT_BASE_URL, c.DEFAULT_MODEL, c.DEFAULT_TIMEOUT


def response_subclass(sdk, url):
    class Triage(sdk.SystemOneResponse):
        billing: sdk.NoulAnswer
        tone: sdk.ChoiceAnswer

    with client(sdk, url) as c:
        r = c.system_one(STATE, objects(sdk), response_model=Triage)
    return type(r) is Triage, r.billing.noul, r.tone.choice, r.billing == r.nouls["billing"], sorted(r.answers)


def response_subclass_fails(sdk, url):
    class Triage(sdk.SystemOneResponse):
        nothing: sdk.NoulAnswer

    try:
        with client(sdk, url) as c:
            c.system_one(STATE, objects(sdk), response_model=Triage)
    except sdk.TypeSafeAPIResponseValidationError as error:
        return error.status, error.field_path


def whole_body_model(sdk, url):
    import pydantic

    class Answers(pydantic.BaseModel):
        billing: sdk.NoulAnswer
        tone: sdk.ChoiceAnswer

    class Body(pydantic.BaseModel):
        model: str
        answers: Answers
        usage: sdk.Usage

    with client(sdk, url) as c:
        r = c.system_one(STATE, objects(sdk), response_model=Body)
    return type(r) is Body, r.answers.billing.noul, r.answers.tone.probabilities["calm"], r.usage.output_tokens


def whole_body_model_fails(sdk, url):
    import pydantic

    class Body(pydantic.BaseModel):
        model: str
        colour: str

    try:
        with client(sdk, url) as c:
            c.system_one(STATE, objects(sdk), response_model=Body)
    except sdk.TypeSafeAPIResponseValidationError as error:
        return error.status, error.field_path


def pydantic_fields(sdk, url):
    import pydantic

    class Holder(pydantic.BaseModel):
        question: sdk.Choice
        answer: sdk.NoulAnswer | None = None

    made = Holder(question={"criteria": {"a": None}}, answer={"type": "noul", "noul": 0.5})
    kept = Holder(question=sdk.Choice(criteria={"a": None}), answer=None)
    schema = Holder.model_json_schema()
    return made.answer.noul, made.question.criteria, kept.question.type, made.model_dump(mode="json"), "question" in schema["properties"]


def raw_response(sdk, url):
    with client(sdk, url) as c:
        r = c.system_one(STATE, QUESTIONS)
    raw = r.raw_http_response
    return raw.status_code, raw.json()["model"], raw.headers["content-type"], raw.is_success, raw.request.method, type(raw).__module__


def headers_sent(sdk, url):
    with client(sdk, url, headers={"X-Team": "a", "Authorization": "stolen"}) as c:
        return answered(c.system_one(STATE, QUESTIONS, extra_headers={"x-team": "b"}))


def str_subclasses(sdk, url):
    import enum

    class Tone(str, enum.Enum):
        CALM = "calm"

    class Name(str):
        pass

    with client(sdk, url) as c:
        return answered(c.system_one({Name("key"): Name("value"), "tone": Tone.CALM}, QUESTIONS)), answered(c.system_one(Name("text"), QUESTIONS))


def python_values(sdk, url):
    import dataclasses
    import datetime
    import decimal
    import types

    @dataclasses.dataclass
    class Ticket:
        text: str
        when: datetime.datetime
        price: decimal.Decimal

    ticket = Ticket("x", datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc), decimal.Decimal("1.10"))
    with client(sdk, url) as c:
        return answered(c.system_one(types.MappingProxyType({"t": ticket, "d": datetime.date(2026, 1, 2), "l": (1, 2)}), QUESTIONS))


def asynchronous(sdk, url):
    async def main():
        async with sdk.AsyncTypeSafeClient(api_key="key-4711-test", base_url=url) as c:
            first = await c.system_one(STATE, objects(sdk))
            many = await asyncio.gather(*(c.system_one(f"{STATE} {i}", QUESTIONS) for i in range(20)))
            listed = await c.models.list()
            return answered(first), [answered(r) for r in many], listed.model_dump()

    return asyncio.run(main())


def asynchronous_errors(sdk, url):
    async def main():
        async with sdk.AsyncTypeSafeClient(api_key="wrong-key", base_url=url) as c:
            try:
                await c.system_one(STATE, QUESTIONS)
            except sdk.TypeSafeAuthenticationError as error:
                return error.status, error.body

    return asyncio.run(main())


def asynchronous_timeout(sdk, url):
    async def main():
        async with sdk.AsyncTypeSafeClient(api_key="key-4711-test", base_url=url) as c:
            try:
                return await asyncio.wait_for(c.system_one(STATE, QUESTIONS), 30) is not None
            except asyncio.TimeoutError:
                return "timeout"

    return asyncio.run(main())


def transport(sdk, url):
    import httpx2

    seen = []

    def handler(request):
        seen.append((request.method, request.url.path, request.headers["authorization"], request.headers.get("x-typesafe-retry-count")))
        if len(seen) == 1:
            return httpx2.Response(503, headers={"retry-after-ms": "1"})
        body = {"model": "m", "usage": {}, "answers": {"q": {"type": "noul", "noul": 0.25}}}
        return httpx2.Response(200, json=body, headers={"x-typesafe-request-id": "req_1"})

    with sdk.TypeSafeClient(api_key="key-4711-test", base_url=url, transport=httpx2.MockTransport(handler)) as c:
        r = c.system_one(STATE, {"q": {"type": "noul", "instructions": "?"}})
    return r.nouls["q"].noul, r.request_id, seen


def http_client(sdk, url):
    import httpx2

    h = httpx2.Client(timeout=httpx2.Timeout(3.0, read=4.0))
    with sdk.TypeSafeClient(api_key="key-4711-test", base_url=url, http_client=h) as c:
        r = c.system_one(STATE, QUESTIONS)
        open_before = h.is_closed
    return answered(r), open_before, h.is_closed


def http_client_errors(sdk, url):
    import httpx2

    def handler(request):
        raise httpx2.ConnectTimeout("slow", request=request)

    def other(request):
        raise httpx2.ConnectError("no route with key k-e-y", request=request)

    seen = []
    for function in (handler, other):
        h = httpx2.Client(transport=httpx2.MockTransport(function))
        try:
            with sdk.TypeSafeClient(api_key="k-e-y", base_url=url, http_client=h, retry=sdk.RetryPolicy(max_retries=1, backoff_initial=0)) as c:
                c.system_one(STATE, QUESTIONS)
        except sdk.TypeSafeAPIConnectionError as error:
            seen.append((type(error).__name__, type(error.__cause__).__name__, "k-e-y" in str(error)))
    return seen


def async_transport(sdk, url):
    import httpx2

    def handler(request):
        return httpx2.Response(200, json={"model": "m", "usage": {}, "answers": {"q": {"type": "noul", "noul": 0.25}}})

    async def main():
        async with sdk.AsyncTypeSafeClient(api_key="key-4711-test", base_url=url, transport=httpx2.MockTransport(handler)) as c:
            return (await c.system_one(STATE, {"q": {"type": "noul", "instructions": "?"}})).nouls["q"].noul

    return asyncio.run(main())


def both_transports(sdk, url):
    import httpx2

    try:
        client(sdk, url, transport=httpx2.MockTransport(lambda request: None), http_client=httpx2.Client())
    except ValueError as error:
        return type(error).__name__


def own_rules(sdk, url):
    import httpx2

    calls = []

    def handler(request):
        calls.append(1)
        if len(calls) < 3:
            return httpx2.Response(418, json={"detail": "teapot"})
        return httpx2.Response(200, json={"model": "m", "usage": {}, "answers": {"q": {"type": "noul", "noul": 0.25}}})

    policy = sdk.RetryPolicy(backoff_initial=0, predicate=lambda error: getattr(error, "status", 0) == 418)
    with sdk.TypeSafeClient(api_key="key-4711-test", base_url=url, transport=httpx2.MockTransport(handler), retry=policy) as c:
        return c.system_one(STATE, {"q": {"type": "noul", "instructions": "?"}}).nouls["q"].noul, len(calls)


def from_http_response(sdk, url):
    import httpx2

    body = {"model": "m", "usage": {}, "answers": {"q": {"type": "noul", "noul": 0.25}, "n": {"type": "new", "x": 1}}}
    r = sdk.SystemOneResponse.from_http_response(httpx2.Response(200, json=body, headers={"x-typesafe-request-id": "r1"}))
    seen = [r.nouls["q"].noul, r.request_id, sorted(r.answers)]
    for bad in (httpx2.Response(200, json={"model": "m"}), httpx2.Response(429, json={"detail": "slow"}, headers={"retry-after": "2"})):
        try:
            sdk.SystemOneResponse.from_http_response(bad)
        except sdk.TypeSafeAPIError as error:
            seen.append((type(error).__name__, error.status, getattr(error, "field_path", None), getattr(error, "retry_after_ms", None)))
    return seen


PROGRAMS = [
    value for name, value in list(globals().items())
    if callable(value) and getattr(value, "__module__", "") == __name__ and name not in ("objects", "client", "answered")
]  # fmt: skip
