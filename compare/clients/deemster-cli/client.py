"""The command: a process for each call, as a shell script would use it."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from protocol import serve  # noqa: E402

PROGRAM = sys.argv[1]


class Command:
    def __init__(self, setup):
        self.setup = setup
        self.arguments = [PROGRAM, "evaluate", "--questions", os.path.join(setup.folder, "questions.json"), "--model", setup.model,
                          "--json", "@" + os.path.join(setup.folder, "state.txt")]
        self.environment = {**os.environ, "TYPESAFE_API_KEY": setup.key, "TYPESAFE_BASE_URL": setup.url}
        if setup.retries >= 0:
            self.arguments += ["--retries", str(setup.retries)]

    def run(self):
        done = subprocess.run(self.arguments, env=self.environment, capture_output=True, text=True)
        if done.returncode < 0:
            os._exit(1)  # it crashed: so does this contestant
        if done.returncode != 0:
            raise RuntimeError(f"exit {done.returncode}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def call(self):
        return self.setup.picked(self.run()["answers"])

    def answer(self):
        return self.setup.whole(self.run())

    def close(self):
        pass


if __name__ == "__main__":
    version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout.split()
    serve(Command, "deemster", version[1] if len(version) > 1 else "", 0)
