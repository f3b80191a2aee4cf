"""Starts the mock server for a while: with Mock(program) as mock: … mock.url …"""
import subprocess

from tools import Failure


class Mock:
    KEY = "demo"

    def __init__(self, program, *options):
        self.command = [str(program), "--port", "0", *options]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        words = self.process.stdout.readline().split()
        urls = [word for word in words if word.startswith("http://")]
        if not urls:
            self.__exit__()
            raise Failure(f"{self.command[0]} printed no URL: run it by hand to see why.")
        self.url = urls[0]
        return self

    def __exit__(self, *error):
        self.process.terminate()
        self.process.wait(timeout=10)
        self.process.stdout.close()

    def variables(self):
        """What a program needs in its environment to talk to this server."""
        return {"TYPESAFE_BASE_URL": self.url, "TYPESAFE_API_KEY": self.KEY}
