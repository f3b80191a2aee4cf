"""What a call came to, held by the library: read lazily, and given back for the next call when nobody needs it."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

from ._answers import ChoiceAnswer, NoulAnswer, Problem, ScoreAnswer, Usage
from ._headers import Headers
from ._library import NULL, ffi, lib, new, octets, reason_name, text, unpack

if TYPE_CHECKING:
    from ._sets import QuestionSet

_RECORD = struct.Struct("=iiiIddiiII16x")  # struct deem_answer
_NOUL, _CHOICE = 1, 2
_HAS_CONFIDENCE, _HAS_PROBABILITIES, _HAS_LEGEND, _DOUBTFUL = 1, 2, 4, 8
_MOST_SPARE = 64
TIMINGS = ("total", "queue", "dns", "connect", "tls", "first_byte", "waits")

def _setter(cls: type, name: str) -> Any:
    """What writes a slot past the class's own __setattr__."""
    return next(vars(base)[name] for base in cls.__mro__ if name in vars(base)).__set__


_answer: Any = object.__new__
_problem = _setter(NoulAnswer, "problem")
_noul_type, _noul_value = _setter(NoulAnswer, "type"), _setter(NoulAnswer, "noul")
_choice_type, _choice_label = _setter(ChoiceAnswer, "type"), _setter(ChoiceAnswer, "choice")
_choice_confidence, _choice_shares = _setter(ChoiceAnswer, "confidence"), _setter(ChoiceAnswer, "_probabilities")
_score_type, _score_value = _setter(ScoreAnswer, "type"), _setter(ScoreAnswer, "score")
_score_confidence, _score_shares = _setter(ScoreAnswer, "confidence"), _setter(ScoreAnswer, "_probabilities")
_score_legend = _setter(ScoreAnswer, "_legend")

assert struct.calcsize("=iiiIddiiII16x") == ffi.sizeof("deem_answer")


_POINTER, _RECORDS, _SHARES, _LENGTH = (
    ffi.typeof(name) for name in ("deem_response **", "deem_answer[]", "const double **", "size_t *")
)


class Cell:
    """Room for one response and for reading it, used by one call after another."""

    __slots__ = ("length", "pointer", "records", "room", "shares")

    def __init__(self) -> None:
        self.pointer = new(_POINTER)
        self.room = 0
        self.records: Any = None
        self.shares = new(_SHARES)
        self.length = new(_LENGTH)


class Reply:
    """Owns one deem_response; its cell goes back to `spare` for the next call of the client."""

    __slots__ = ("cause", "cell", "handle", "questions", "spare")

    def __init__(self, cell: Cell, spare: list[Cell] | None, questions: QuestionSet[Any] | None) -> None:
        self.cell = cell
        self.handle = cell.pointer[0]
        self.spare = spare
        self.questions = questions
        self.cause: BaseException | None = None

    def __del__(self, _free: Any = lib.deem_response_free) -> None:
        if self.spare is not None and len(self.spare) < _MOST_SPARE:
            self.spare.append(self.cell)
        else:
            _free(self.handle)

    @property
    def code(self) -> int:
        """The call's status code."""
        code: int = lib.deem_response_code(self.handle)
        return code

    def message(self) -> str:
        """Why the call failed."""
        return text(lib.deem_response_message, self.handle) or ""

    def path(self) -> str:
        """Where the problem is."""
        return text(lib.deem_response_path, self.handle) or ""

    def reason(self) -> str:
        """The short name of the first check that failed."""
        return reason_name(lib.deem_response_reason(self.handle))

    def status(self) -> int | None:
        """The HTTP status, or None."""
        value: int | None = self._number("int32_t *", lib.deem_response_http_status)
        return value

    def attempts(self) -> int:
        """How often the request was sent or tried to be sent."""
        return self._number("int32_t *", lib.deem_response_attempts) or 0

    def request_id(self) -> str | None:
        """The request id, or None."""
        return text(lib.deem_response_request_id, self.handle)

    def model(self) -> str | None:
        """The model that answered, or None."""
        return text(lib.deem_response_model, self.handle)

    def usage(self) -> Usage:
        """The token counts."""
        numbers = new("int64_t[2]")
        lib.deem_response_usage(self.handle, numbers, numbers + 1)
        usage = Usage.__new__(Usage)
        object.__setattr__(usage, "input_tokens", numbers[0] if numbers[0] >= 0 else None)
        object.__setattr__(usage, "output_tokens", numbers[1] if numbers[1] >= 0 else None)
        return usage

    def cost(self) -> float | None:
        """The cost that the server states, or None."""
        value: float | None = self._number("double *", lib.deem_response_cost)
        return value

    def timings(self) -> dict[str, float]:
        """Durations in seconds."""
        found: dict[str, float] = {}
        out = new("int64_t *")
        for which, name in enumerate(TIMINGS):
            if lib.deem_response_timing(self.handle, which, out) == 0:
                found[name] = out[0] / 1e6
        return found

    def traffic(self) -> tuple[int, int, bool]:
        """Bytes sent, bytes received, and whether a kept connection was used."""
        numbers, reused = new("int64_t[2]"), new("int32_t *")
        lib.deem_response_traffic(self.handle, numbers, numbers + 1, reused)
        return numbers[0], numbers[1], bool(reused[0])

    def endpoint(self) -> tuple[str, str] | None:
        """Method and URL."""
        texts, lengths = new("const char *[2]"), new("size_t[2]")
        if lib.deem_response_endpoint(self.handle, texts, lengths, texts + 1, lengths + 1) != 0 or not lengths[1]:
            return None
        method, url = (unpack(texts[i], lengths[i]).decode("utf-8", "replace") for i in range(2))
        return method, url

    def body(self) -> bytes | None:
        """The body as it came, or None."""
        return octets(lambda *out: lib.deem_response_body(self.handle, *out, NULL))

    def headers(self) -> Headers:
        """The headers of the last reply."""
        texts, lengths = new("const char *[2]"), new("size_t[2]")
        pairs: list[tuple[str, str]] = []
        while lib.deem_response_header_at(self.handle, len(pairs), texts, lengths, texts + 1, lengths + 1) == 0:
            name, value = (unpack(texts[i], lengths[i]).decode("latin-1") for i in range(2))
            pairs.append((name, value))
        return Headers(pairs)

    def field(self, name: str) -> Any:
        """A field of the reply's top level as a Python value, or None."""
        raw = name.encode()
        found = octets(lib.deem_response_field, self.handle, raw, len(raw))
        return None if found is None else json.loads(found)

    def answer_json(self, index: int) -> bytes | None:
        """The raw JSON of one answer, or None."""
        return octets(lib.deem_response_answer_json, self.handle, index)

    def extra_answers(self) -> dict[str, Any]:
        """Answers that nobody asked for, as Python values."""
        texts, lengths = new("const char *[2]"), new("size_t[2]")
        found: list[tuple[str, Any]] = []
        while lib.deem_response_extra_answer(self.handle, len(found), texts, lengths, texts + 1, lengths + 1) == 0:
            found.append((unpack(texts[0], lengths[0]).decode(), json.loads(unpack(texts[1], lengths[1]))))
        return dict(found)

    def problem(self, index: int) -> Problem | None:
        """Why one question has no good answer."""
        reason, texts, lengths = new("int32_t *"), new("const char *[2]"), new("size_t[2]")
        code = lib.deem_response_problem(self.handle, index, reason, texts, lengths, texts + 1, lengths + 1)
        if code != 0 or reason[0] == 0:
            return None
        path, message = ("" if texts[i] == NULL else unpack(texts[i], lengths[i]).decode("utf-8", "replace") for i in range(2))
        return Problem._make({"reason": reason_name(reason[0]), "path": path, "message": message})

    def legend(self, index: int, levels: int) -> dict[int, Any]:
        """What the server says the levels mean."""
        found: dict[int, Any] = {}
        for number in range(levels):
            raw = octets(lib.deem_response_legend, self.handle, index, number)
            if raw is not None:
                found[number] = json.loads(raw)
        return found

    def records(self) -> Any:
        """The answer records, in the order of the set (several threads may read: they write the same bytes)."""
        count = len(self.questions.names) if self.questions is not None else 0
        cell = self.cell
        if cell.room != count:
            cell.records, cell.room = new(_RECORDS, count), count
        lib.deem_response_answers(self.handle, cell.records, 64, count, NULL)
        return _RECORD.iter_unpack(ffi.buffer(cell.records))

    def shares(self) -> list[float]:
        """The probabilities of all answers."""
        cell = self.cell
        if lib.deem_response_probabilities(self.handle, cell.shares, cell.length) != 0 or not cell.length[0]:
            return []
        numbers: list[float] = unpack(cell.shares[0], cell.length[0])
        return numbers

    def answers(self) -> tuple[dict[str, Any], list[int]]:
        """The readable answers by name, and the indices of the questions that have a problem."""
        found: dict[str, Any] = {}
        troubled: list[int] = []
        if self.questions is None:
            return found, troubled
        names, labels, all_shares = self.questions.names, self.questions.labels, self.shares()
        answer: Any
        for index, kind, status, flags, value, confidence, chosen, _top, first, count in self.records():
            problem = None
            if status:
                troubled.append(index)
                if not flags & _DOUBTFUL:
                    continue
                problem = self.problem(index)
            if kind == _NOUL:
                answer = _answer(NoulAnswer)
                _noul_type(answer, "noul")
                _noul_value(answer, value)
            elif kind == _CHOICE:
                answer = _answer(ChoiceAnswer)
                _choice_type(answer, "choice")
                _choice_label(answer, labels[index][chosen] if chosen >= 0 else "")
                _choice_confidence(answer, confidence if flags & _HAS_CONFIDENCE else None)
                shares = dict(zip(labels[index], all_shares[first : first + count])) if flags & _HAS_PROBABILITIES else {}
                _choice_shares(answer, shares)
            else:
                answer = _answer(ScoreAnswer)
                _score_type(answer, "score")
                _score_value(answer, value)
                _score_confidence(answer, confidence if flags & _HAS_CONFIDENCE else None)
                _score_shares(answer, dict(enumerate(all_shares[first : first + count])) if flags & _HAS_PROBABILITIES else {})
                _score_legend(answer, _Legend(self, index) if flags & _HAS_LEGEND else {})
            _problem(answer, problem)
            found[names[index]] = answer
        return found, troubled

    def listed_models(self) -> list[tuple[str, str | None, str | None]]:
        """Name, description and release date of each model of a model list."""
        texts, lengths = new("const char *[3]"), new("size_t[3]")
        found: list[tuple[str, str | None, str | None]] = []
        while (
            lib.deem_response_listed_model(self.handle, len(found), texts, lengths, texts + 1, lengths + 1, texts + 2, lengths + 2) == 0
        ):
            name, description, date = (
                None if texts[i] == NULL else unpack(texts[i], lengths[i]).decode("utf-8", "replace") for i in range(3)
            )
            found.append((name or "", description, date))
        return found

    def _number(self, kind: str, getter: Any) -> Any:
        out = new(kind)
        return out[0] if getter(self.handle, out) == 0 else None


class _Legend:
    """A legend that is read when somebody looks at it."""

    __slots__ = ("index", "reply")

    def __init__(self, reply: Reply, index: int) -> None:
        self.reply = reply
        self.index = index

    def __call__(self) -> dict[int, Any]:
        questions = self.reply.questions
        return self.reply.legend(self.index, len(questions.labels[self.index]) if questions else 0)
