"""What is asked and what the servers answer. A workload is a folder that the contestants read:
workload.json, and for those that want no JSON library state.txt, questions.json and body.json."""
import hashlib
import json

# The request and answer of the experiment published by Minos.NET; the answer is built into the mock.
MINOS_SHA256 = "1ccb455dc4a161c3b27d3eb481c38a46956dbf9be69d05044042cf56889ce7b4"
MODEL = "jev-latest"
STATE = "Is my booking to Rome still on? I fly tonight."
INTENT = {
    "type": "choice", "instructions": "What does the traveller want?",
    "criteria": {
        "look_up_booking": "Wants to see or look up an existing booking",
        "change_booking": "Wants to change dates, names, seats or luggage on a booking",
        "dispute_charge": "Disputes a charge or asks for money back",
        "other": "Anything else",
    },
}  # fmt: skip
TRAVELS = {"type": "noul", "instructions": "Does the request mention travelling within the next 24 hours?"}
MINOS_ANSWER = {
    "model": "typesafe/jev-1.13-20260917", "choice": "look_up_booking", "confidence": 0.99, "noul": 0.86,
    "probabilities": {"look_up_booking": 0.99, "change_booking": 0, "other": 0.01, "dispute_charge": 0},
}  # fmt: skip
KEY = "benchmark-dummy-key"


def compact(document):
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


class Workload:
    def __init__(self, folder, state, questions, choice_key, noul_key, want_choice="", want_noul=0.0):
        body = {"state": state, "model": MODEL, "questions": questions}
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "workload.json").write_text(compact(body), encoding="utf-8")
        (folder / "state.txt").write_text(state, encoding="utf-8")
        (folder / "questions.json").write_text(compact(questions), encoding="utf-8")
        (folder / "body.json").write_text(compact(body), encoding="utf-8")
        self.bytes = len(compact(body).encode())
        self.opening = {"folder": str(folder), "key": KEY, "model": MODEL, "choice_key": choice_key, "noul_key": noul_key,
                        "want_choice": want_choice, "want_noul": want_noul}


def minos(folder):
    work = Workload(folder / "minos", STATE, {"intent": INTENT, "travels_within24_hours": TRAVELS}, "intent",
                    "travels_within24_hours", "look_up_booking", 0.86)
    digest = hashlib.sha256((folder / "minos" / "body.json").read_bytes()).hexdigest()
    if digest != MINOS_SHA256:
        raise ValueError(f"the request body of the published experiment changed: {digest}")
    return work


def big(folder):
    """100 questions, 80 kB up and 17 kB down; returns the workload and the file that the mock serves."""
    words = "The text below the line names a person, a place, a date, an amount or a reason that the reader must act on".split()
    questions, answers = {"intent": INTENT}, {}
    answers["intent"] = {"type": "choice", "choice": "look_up_booking", "probabilities": MINOS_ANSWER["probabilities"], "confidence": 0.99}
    for number in range(98):
        text = " ".join(words[(number * 7 + step) % len(words)] for step in range(124))
        noul = {"type": "noul", "instructions": f"Question {number}: {text}?", "criteria": {"true": "It is so", "false": "It is not"}}
        questions[f"question_{number:03}_of_a_long_checklist"] = noul
        answers[f"question_{number:03}_of_a_long_checklist"] = {
            "type": "noul", "noul": round((number * 37 % 101) / 100, 2), "x_trace": f"{number:04}" + "0123456789abcdef" * 5}
    questions["travels_within24_hours"] = TRAVELS
    answers["travels_within24_hours"] = {"type": "noul", "noul": 0.86}
    reply = folder / "big-reply.json"
    folder.mkdir(parents=True, exist_ok=True)
    reply.write_text(compact({"model": MINOS_ANSWER["model"], "answers": answers, "usage": {"input_tokens": 20000, "output_tokens": 300}}))
    work = Workload(folder / "big", STATE, questions, "intent", "travels_within24_hours", "look_up_booking", 0.86)
    return work, reply


def one_noul(folder):
    return Workload(folder / "noul", "It is so.", {"q": {"type": "noul", "instructions": "Is it so?"}}, "", "q", "", 0.9)


def three_kinds(folder):
    """For the faulty servers: what each of their faults touches is asked for."""
    questions = {
        "q": {"type": "noul", "instructions": "Is it so?", "criteria": {"true": "It is so"}},
        "team-name": {"type": "choice", "instructions": "Who?", "criteria": {"Billing": "Invoices", "Résumé desk": "Applications", "Other": None}},
        "urgency": {"type": "score", "instructions": "How urgent?", "criteria": ["can wait", "this week", "today"]},
    }
    return Workload(folder / "kinds", "It is so.", questions, "", "q")
