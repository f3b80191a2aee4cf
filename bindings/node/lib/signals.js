"use strict";
// Abort signals: one listener per signal however many calls share it, and none while no call does.

const watched = new WeakMap();

/** Calls `call.abort(reason)` when the signal is aborted, until forget(). The signal must not be aborted yet. */
function watch(signal, call) {
  let entry = watched.get(signal);
  if (entry === undefined) {
    const calls = new Set();
    const listener = () => {
      watched.delete(signal);
      for (const each of calls) each.abort(signal.reason);
    };
    entry = { calls, listener };
    watched.set(signal, entry);
    signal.addEventListener("abort", listener, { once: true });
  }
  entry.calls.add(call);
}

function forget(signal, call) {
  const entry = watched.get(signal);
  if (entry === undefined) return;
  entry.calls.delete(call);
  if (entry.calls.size === 0) {
    watched.delete(signal);
    signal.removeEventListener("abort", entry.listener);
  }
}

module.exports = { forget, watch };
