"""What a start loads: offline commands load neither libcurl nor a server's libraries."""
import re

import command
from command import Folder, deemster, rows

HEAVY = r"curl|ssl|crypto|gnutls|microhttpd|yajl|nghttp|libstdc\+\+"
TABLE = [
    dict(name="version", arguments=["--version"]),
    dict(name="help", arguments=["--help"]),
    dict(name="check", arguments=["check", command.TRIAGE]),
    dict(name="check with errors", arguments=["check", "/dev/null"], code=2),
    dict(name="evaluate: usage", arguments=["evaluate"], code=2),
    dict(name="a plain call", arguments=["evaluate", "--noul", "x", "s", "--base-url", "http://127.0.0.1:1", "--retries", "0"], code=4),
    # What shows that the list below would name libcurl: a call that needs TLS loads it.
    dict(name="a TLS call", arguments=["evaluate", "--noul", "x", "s", "--base-url", "https://127.0.0.1:1", "--retries", "0"], code=4,
         heavy=True),
]


def run(test, arguments, code=0, heavy=False):
    log = test.folder / "loaded"
    end = deemster(*arguments, LD_DEBUG="libs", LD_DEBUG_OUTPUT=str(log), TYPESAFE_API_KEY="x")
    test.assertEqual(end[0], code, end)
    listing = "".join(file.read_text() for file in test.folder.glob("loaded.*"))
    loaded = set(re.findall(r"calling init: \S*/(\S+)", listing))
    test.assertIn("libdeemster.so", {name[:14] for name in loaded})
    found = sorted(name for name in loaded if re.search(HEAVY, name) and not re.search(r"asan|tsan|ubsan", name))
    test.assertEqual(any("curl" in name for name in found), heavy, found)
    if not heavy:
        test.assertEqual(found, [])


@lambda cls: rows(cls, TABLE, run)
class Start(Folder):
    pass


if __name__ == "__main__":
    command.main()
