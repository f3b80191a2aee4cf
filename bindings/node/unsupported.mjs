throw new Error(
  "deemster is a native client and runs on a server (Node, Bun or Deno on Linux), not in browsers or edge runtimes: " +
    "call it from a server route, which also keeps your API key secret.",
);
