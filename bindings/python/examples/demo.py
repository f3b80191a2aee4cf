"""The demo from Python: evaluates a text file with a question set file and prints the answers."""

import sys

from deemster import ChoiceAnswer, NoulAnswer, QuestionSet, ScoreAnswer, TypeSafeClient

questions = QuestionSet.from_file(sys.argv[1])
with open(sys.argv[2], encoding="utf-8") as file, TypeSafeClient() as client:
    response = client.system_one(file.read(), questions)
for name, answer in response.answers.items():
    match answer:
        case NoulAnswer(noul=share):
            print(f"{name:24} {share:.2f} yes")
        case ChoiceAnswer(choice=label, confidence=confidence):
            print(f"{name:24} {label} (confidence {confidence:.2f})")
        case ScoreAnswer(score=position, level=level, confidence=confidence):
            print(f"{name:24} {position:.2f} of {len(answer.legend) - 1}: {answer.legend[level]} (confidence {confidence:.2f})")
print(f"{response.model}, {response.usage.input_tokens} tokens, {response.attempts} attempt, request {response.request_id}")
