"use strict";
const { TypeSafeError } = require("./errors.js");

/** A state that is no text as JSON: an object or an array. */
function stateText(state) {
  if (typeof state !== "object" || state === null) {
    throw new TypeSafeError(`state must be a string, an object or an array, not ${state === null ? "null" : typeof state}.`);
  }
  let text;
  try {
    text = JSON.stringify(state);
  } catch (cause) {
    throw new TypeSafeError(`state cannot be written as JSON: ${cause.message}`, { cause });
  }
  if (text === undefined) throw new TypeSafeError("state has no JSON form: its toJSON gives undefined.");
  return text;
}

module.exports = { stateText };
