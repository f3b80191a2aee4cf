"""The mock against the wire contract: statuses, bodies, numbers."""
import json
import unittest

from server import QUESTIONS, Mock, body

MISSING_KEY = {"detail": {"error_type": "authentication_error",
                          "message": "Must supply an API key! Check your request and try again."}}
WRONG_KEY = {"detail": {"error_type": "authentication_error", "message": "Cannot authenticate with the server. Please "
                                                                         "check your API key and try again."}}
INVALID = {"detail": {"error_type": "api_usage_error", "message": "Invalid request."}}
NOT_FOUND = {"detail": "Not Found"}
WRONG_METHOD = {"detail": "Method Not Allowed"}


def union(loc, value):
    """The three issues of a field that takes a text, an object or a list."""
    return [
        {"type": "string_type", "loc": loc + ["str"], "msg": "Input should be a valid string", "input": value},
        {"type": "dict_type", "loc": loc + ["dict[any,any]"], "msg": "Input should be a valid dictionary", "input": value},
        {"type": "list_type", "loc": loc + ["list[any]"], "msg": "Input should be a valid list", "input": value},
    ]


def missing(loc, value):
    return {"type": "missing", "loc": loc, "msg": "Field required", "input": value}


def one(question, **more):
    return body({"q": question}, **more)


def choice(options):
    return {"type": "choice", "criteria": options}


def score(levels):
    return {"type": "score", "criteria": levels}


# request facts -> status and body
ROUTES = [
    ("GET", "/health", None, 200, {"status": "ok"}),
    ("GET", "/v1/models", None, 403, MISSING_KEY),
    ("GET", "/v1/models", "wrong-key", 401, WRONG_KEY),
    ("GET", "/v1/systemone", "k", 405, WRONG_METHOD),
    ("POST", "/v1/models", "k", 405, WRONG_METHOD),
    ("PUT", "/health", "k", 405, WRONG_METHOD),
    ("POST", "/count", "k", 405, WRONG_METHOD),
    ("GET", "/", "k", 404, NOT_FOUND),
    ("GET", "/v1/systemone/", "k", 404, NOT_FOUND),
    ("GET", "/control/last", None, 404, {"detail": "No request yet"}),
]

KEYS = [
    (None, 403, MISSING_KEY),
    ("Basic dXNlcjp4", 403, MISSING_KEY),
    ("Bearer ", 403, MISSING_KEY),
    ("wrong-key", 401, WRONG_KEY),
    ("anything", 200, None),
    ("bearer lower-case-scheme", 200, None),
]

NOUL = {"type": "noul"}
REFUSED = [
    # JSON
    (b"", 422, {"detail": [missing(["body"], None)]}),
    (b"[]", 422, {"detail": [{"type": "model_attributes_type", "loc": ["body"], "input": [],
                              "msg": "Input should be a valid dictionary or object to extract fields from"}]}),
    # missing fields and wrong kinds
    (body(model=...), 422, {"detail": [missing(["body", "model"], body(model=...))]}),
    (body(model=5), 422, {"detail": [{"type": "string_type", "loc": ["body", "model"], "input": 5,
                                      "msg": "Input should be a valid string"}]}),
    (body(state=...), 422, {"detail": [missing(["body", "state"], body(state=...))]}),
    (body(state=None), 422, {"detail": [missing(["body", "state"], body(state=None))]}),
    (body(state=7), 422, {"detail": union(["body", "state"], 7)}),
    (body(state=True), 422, {"detail": union(["body", "state"], True)}),
    (body(questions=...), 422, {"detail": [missing(["body", "questions"], body(questions=...))]}),
    (body([]), 422, {"detail": [{"type": "dict_type", "loc": ["body", "questions"], "input": [],
                                 "msg": "Input should be a valid dictionary"}]}),
    (body({}), 422, {"detail": [{"type": "too_short", "loc": ["body", "questions"], "input": {},
                                 "msg": "Dictionary should have at least 1 item after validation, not 0",
                                 "ctx": {"field_type": "Dictionary", "min_length": 1, "actual_length": 0}}]}),
    (one(3), 422, {"detail": [{"type": "model_attributes_type", "loc": ["body", "questions", "q"], "input": 3,
                               "msg": "Input should be a valid dictionary or object to extract fields from"}]}),
    (one({}), 422, {"detail": [{"type": "union_tag_not_found", "loc": ["body", "questions", "q"], "input": {},
                                "msg": "Unable to extract tag using discriminator 'type'",
                                "ctx": {"discriminator": "'type'"}}]}),
    (one({"type": "noul", "instructions": 1}), 422, {"detail": union(["body", "questions", "q", "noul", "instructions"], 1)}),
    (one({"type": "noul", "criteria": "x"}), 422,
     {"detail": [{"type": "model_type", "loc": ["body", "questions", "q", "noul", "criteria"], "input": "x",
                  "msg": "Input should be a valid dictionary or instance of NoulCriteria",
                  "ctx": {"class_name": "NoulCriteria"}}]}),
    (one({"type": "noul", "criteria": {"true": 1}}), 422,
     {"detail": union(["body", "questions", "q", "noul", "criteria", "true"], 1)}),
    (one({"type": "choice"}), 422, {"detail": [missing(["body", "questions", "q", "choice", "criteria"], {"type": "choice"})]}),
    (one(choice(["a"])), 422, {"detail": [{"type": "dict_type", "loc": ["body", "questions", "q", "choice", "criteria"],
                                           "msg": "Input should be a valid dictionary", "input": ["a"]}]}),
    (one(choice({"a.b": 1})), 422, {"detail": union(["body", "questions", "q", "choice", "criteria", "a.b"], 1)}),
    (one(score({"0": "a"})), 422, {"detail": [{"type": "list_type", "loc": ["body", "questions", "q", "score", "criteria"],
                                               "msg": "Input should be a valid list", "input": {"0": "a"}}]}),
    (one(score([])), 422, {"detail": [{"type": "too_short", "loc": ["body", "questions", "q", "score", "criteria"], "input": [],
                                       "msg": "List should have at least 1 item after validation, not 0",
                                       "ctx": {"field_type": "List", "min_length": 1, "actual_length": 0}}]}),
    (one(score(["a", None])), 422, {"detail": union(["body", "questions", "q", "score", "criteria", 1], None)}),
    # 400
    (body(temperature=0), 400, INVALID),
    (body(assets={}), 400, INVALID),
    (one({"type": "box"}), 400, INVALID),
    (one({"type": "Noul"}), 400, INVALID),
    (body({"": NOUL}), 400, {"detail": "Question key cannot be empty."}),
    (one(choice({})), 400, {"detail": "Choice question must have at least one choice: q"}),
    (one(choice({str(i): None for i in range(256)})), 400, {"detail": "Too many choices. Must have at most 255 choices."}),
    (one(score(["x"] * 11)), 400, {"detail": "Too many score levels. Must have at most 10 levels."}),
    (body(model="jev-9"), 400, {"detail": {"error_type": "api_usage_error", "message": "Unknown model: jev-9"}}),
    (body(model="JEV-LATEST"), 400, {"detail": {"error_type": "api_usage_error", "message": "Unknown model: JEV-LATEST"}}),
    (body(state="x" * 260000), 400, {"detail": {"error_type": "max_tokens_exceeded"}}),
]

ACCEPTED = [
    body(), body(state=""), body(state={}), body(state=[]), body(state={"a": [1, 2.50, None]}),
    body(state="x" * 120000),
    one(NOUL), one({"type": "noul", "criteria": None}), one({"type": "noul", "criteria": {"true": None, "false": {"x": 1}}}),
    one({"type": "noul", "critera": "a typo is ignored"}),
    one(choice({"only": None})), one(choice({str(i): None for i in range(255)})),
    one(choice({"": None, "a.b": ["x"], "1": {"x": 1}, "e\u0301": None, "\u00e9": None, "a\0b": None, "__proto__": None})),
    one(score(["only"])), one(score([str(i) for i in range(10)])),
    body({f"q{i}": {"type": "noul", "instructions": f"Question {i}"} for i in range(2000)}),
    body({"10": NOUL, "9": NOUL, "a\0b": NOUL, "\U0001f600": NOUL}),
]


class Contract(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.mock = Mock().__enter__()

    @classmethod
    def tearDownClass(cls):
        status, out, err = cls.mock.stop()
        assert (status, out, err) == (0, "", ""), (status, out, err)

    def check(self, reply, status, expected):
        self.assertEqual(reply.status, status, reply.body)
        self.assertEqual(reply.headers["content-type"], "application/json")
        self.assertRegex(reply.headers["x-typesafe-request-id"], "^req_[0-9a-f]+$")
        if expected is not None:
            self.assertEqual(reply.json(), expected)

    def test_routes(self):
        with Mock() as fresh:
            for method, path, key, status, expected in ROUTES:
                with self.subTest(method=method, path=path, key=key):
                    self.check(fresh.call(method, path, key=key), status, expected)

    def test_models(self):
        models = self.mock.call("GET", "/v1/models").json()["models"]
        self.assertEqual([model["name"] for model in models], ["jev-latest", "jev-preview"])

    def test_keys(self):
        for key, status, expected in KEYS:
            with self.subTest(key=key):
                self.check(self.mock.ask(key=key), status, expected)

    def test_refused(self):
        for content, status, expected in REFUSED:
            with self.subTest(content=str(content)[:100]):
                self.check(self.mock.ask(content), status, expected)

    def test_syntax_error(self):
        for content, offset in [(b'{"model":}', 10), (b'{"model":"a"', 12), (b"\xef\xbb\xbf{}", 0), (b'{"a":"\xff"}', 6),
                                (b"{} {}", 4), (b'{"a":1', 6)]:
            with self.subTest(content=content):
                reply = self.mock.ask(content)
                self.assertEqual(reply.status, 422)
                issue, = reply.json()["detail"]
                self.assertEqual((issue["type"], issue["loc"][0]), ("json_invalid", "body"))
                self.assertLessEqual(abs(issue["loc"][1] - offset), 3)

    def test_content_type(self):
        for value, status in [("application/json; charset=utf-8", 200), ("application/problem+json", 200),
                              ("text/plain", 422), ("application/x-www-form-urlencoded", 422)]:
            with self.subTest(value=value):
                self.assertEqual(self.mock.ask(headers=[("Content-Type", value)]).status, status)

    def test_too_deep(self):
        for depth, status in [(900, 200), (1100, 500)]:
            content = json.dumps(body(state="@")).replace('"@"', "[" * depth + "]" * depth).encode()
            self.assertEqual(self.mock.ask(content).status, status)

    def test_accepted(self):
        for content in ACCEPTED:
            with self.subTest(content=str(content)[:100]):
                reply = self.mock.ask(content)
                self.check(reply, 200, None)
                check_answers(self, content, reply.json())

    def test_duplicate_keys_last_wins(self):
        content = b'{"model":"jev-latest","state":"x","questions":{"q":5,"q":{"type":"choice","criteria":{"a":3,"a":null}}}}'
        answer = self.mock.ask(content).json()["answers"]["q"]
        self.assertEqual(answer, {"type": "choice", "choice": "a", "confidence": 1.0, "probabilities": {"a": 1.0}})

    def test_levels_come_back_as_sent(self):
        content = (b'{"model":"jev-latest","state":"x","questions":{"q":{"type":"score","criteria":'
                   b'["a", {"k": 1.50, "k2":[12345678901234567890123]} ,["b"]]}}}')
        self.assertIn(b'"legend":{"0":"a","1":{"k": 1.50, "k2":[12345678901234567890123]},"2":["b"]}', self.mock.ask(content).body)

    def test_answers_follow_content_not_spelling(self):
        plain = b'{"model":"jev-latest","state":{"a":"e\xc3\xa9"},"questions":{"q":{"type":"noul"}}}'
        spaced = b'{ "model":"jev-latest", "state": {"\\u0061":"e\\u00e9"}, "questions":{"q":{"type":"noul"}}}'
        self.assertEqual(self.mock.ask(plain).body, self.mock.ask(spaced).body)

    def test_answers_vary(self):
        seen = {self.mock.ask(body(state=f"state {i}")).json()["answers"]["n"]["noul"] for i in range(50)}
        self.assertGreater(len(seen), 20)
        seen = {self.mock.ask(one(choice({"a": None, "b": str(i)}))).json()["answers"]["q"]["choice"] for i in range(30)}
        self.assertEqual(seen, {"a", "b"})
        seen = {self.mock.ask(one({"type": "noul", "instructions": str(i)})).body for i in range(20)}
        self.assertGreater(len(seen), 10)

    def test_numbers_are_rounded_last(self):
        """Score and confidence come from the unrounded distribution: the rounded one gives others."""
        unlike = 0
        for i in range(60):
            answer = self.mock.ask(one(score(["a", "b", "c", "d", "e"]), state=str(i))).json()["answers"]["q"]
            mean = sum(int(level) * p for level, p in answer["probabilities"].items())
            self.assertLessEqual(abs(mean - answer["score"]), 0.06)
            unlike += round(mean, 2) != answer["score"]
        self.assertGreater(unlike, 10)

    def test_seed_orders_keys(self):
        orders = set()
        content = one(choice({name: None for name in "abcdef"}))
        for seed in range(4):
            with Mock("--seed", str(seed)) as mock:
                answer = mock.ask(content).json()["answers"]["q"]
                orders.add(tuple(answer["probabilities"]))
                if seed == 0:
                    self.assertEqual("".join(answer["probabilities"]), "abcdef")
                    self.assertEqual(list(mock.ask().json()["answers"]), ["n", "c", "s"])
        self.assertGreater(len(orders), 2)

    def test_models_answered(self):
        with Mock("--model", "own/model", "--model", "two") as mock:
            for asked, answered in [("jev-latest", "jev-1.13.0"), ("jev-preview", "jev-1.14.0"), ("jev-1.13.0", "jev-1.13.0"),
                                    ("own/model", "own/model"), ("two", "two")]:
                self.assertEqual(mock.ask(body(model=asked)).json()["model"], answered)

    def test_options(self):
        with Mock("--key", "right", "--prefix", "/typesafe/", "--token-limit", "600", "--unknown-type-422") as mock:
            self.assertTrue(mock.url.endswith(f":{mock.port}/typesafe"))
            for path, content, key, status in [
                    ("/typesafe/v1/systemone", body(), "right", 200), ("/typesafe/v1/systemone", body(), "other", 401),
                    ("/v1/systemone", body(), "right", 404), ("/typesafe/health", None, "right", 405),
                    ("/typesafe/v1/systemone", body(state="x" * 3000), "right", 400),
                    ("/typesafe/v1/systemone", one({"type": "box"}), "right", 422)]:
                with self.subTest(path=path, status=status):
                    self.assertEqual(mock.call("POST", path, content, key=key).status, status)
            self.assertEqual(mock.call("GET", "/typesafe/health").status, 200)
            self.assertEqual(mock.call("GET", "/count").body, mock.call("GET", "/typesafe/count").body)
        with Mock("--no-auth") as mock:
            self.assertEqual(mock.ask(key=None).status, 200)


def check_answers(test, content, reply):
    """Every rule of wire contract section 3."""
    questions = content["questions"]
    test.assertEqual(reply["usage"], {"input_tokens": 280 + 35 * len(questions), "output_tokens": 20 * len(questions)})
    test.assertEqual(reply["model"], "jev-1.13.0")
    test.assertEqual(set(reply["answers"]), set(questions))
    for name, question in questions.items():
        answer = reply["answers"][name]
        test.assertEqual(answer["type"], question["type"])
        if answer["type"] == "noul":
            test.assertEqual(set(answer), {"type", "noul"})
            test.assertTrue(0 <= answer["noul"] <= 1 and isinstance(answer["noul"], float))
            continue
        options = list(question["criteria"]) if answer["type"] == "choice" else [str(i) for i in range(len(question["criteria"]))]
        p = [answer["probabilities"][option] for option in options]
        test.assertEqual(set(answer["probabilities"]), set(options))
        test.assertEqual(p, [round(value, 2) for value in p])
        test.assertLessEqual(abs(sum(p) - 1), 0.005 * len(p) + 1e-9)
        n = len(p)
        if answer["type"] == "choice":
            test.assertEqual(set(answer), {"type", "choice", "confidence", "probabilities"})
            test.assertEqual(answer["probabilities"][answer["choice"]], max(p))
            formula = 1 if n == 1 else (max(p) - 1 / n) / (1 - 1 / n)
            slack = 0.02
        else:
            test.assertEqual(set(answer), {"type", "score", "confidence", "legend", "probabilities"})
            test.assertEqual([answer["legend"][option] for option in options], question["criteria"])
            spread = sum(abs(i - (n - 1) / 2) for i in range(n)) / n
            away = sum(value * abs(i - p.index(max(p))) for i, value in enumerate(p))
            formula = 1 if n == 1 else max(0, 1 - away / spread)
            slack = 0.02 + 0.01 * n
            test.assertLessEqual(abs(answer["score"] - sum(i * value for i, value in enumerate(p))), 0.01 * n * n)
        test.assertLessEqual(abs(answer["confidence"] - formula), slack)


if __name__ == "__main__":
    unittest.main()
