"use strict";
// The builders, and how questions become the JSON text that the core compiles: in the order given, also where a plain
// object could not keep it (options as pairs or a Map).
const { TypeSafeError } = require("./errors.js");

/** A yes/no question. */
const noul = (instructions = null, criteria) => ({ type: "noul", instructions, criteria });

/** A question with one label as its answer. */
function choice(instructions, criteria) {
  if (Array.isArray(criteria) && !criteria.every(isPair)) {
    throw new TypeSafeError("choice() takes labels with descriptions: an object, a Map, or an array of [label, description] pairs.");
  }
  return { type: "choice", instructions, criteria };
}

/** A question with a position on ordered levels as its answer. */
function score(instructions, criteria) {
  if (!Array.isArray(criteria)) throw new TypeSafeError("score() takes an array with a description for each level, lowest first.");
  return { type: "score", instructions, criteria };
}

const isPair = (item) => Array.isArray(item) && item.length === 2 && typeof item[0] === "string";
const isInteger = (label) => /^(0|[1-9]\d{0,9})$/.test(label) && Number(label) < 4294967295;

/** [label, description] pairs of any of the forms that options have, or undefined. */
function pairs(criteria) {
  if (criteria instanceof Map) return [...criteria];
  if (Array.isArray(criteria) && criteria.every(isPair)) return criteria;
  return undefined;
}

/** JSON of one value; what JSON cannot say (undefined, a function) is left out, as JSON.stringify does. */
function encode(value, where) {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw new TypeSafeError(`${where} cannot be written as JSON: ${cause.message}`, { cause });
  }
}

function members(entries, where) {
  const written = [];
  for (const [name, value] of entries) {
    if (typeof name !== "string") throw new TypeSafeError(`${where} has a label that is no string.`);
    const json = encode(value, where);
    if (json !== undefined) written.push(`${JSON.stringify(name)}:${json}`);
  }
  return `{${written.join(",")}}`;
}

function encodeQuestion(question, where) {
  if (typeof question !== "object" || question === null || Array.isArray(question)) {
    throw new TypeSafeError(`${where} must be an object with a type: noul(), choice() and score() make them.`);
  }
  const list = pairs(question.criteria);
  if (list === undefined || question.type !== "choice") return encode(question, where);
  const written = [];
  for (const name of Object.keys(question)) {
    const json = name === "criteria" ? members(list, `${where}.criteria`) : encode(question[name], where);
    if (json !== undefined) written.push(`${JSON.stringify(name)}:${json}`);
  }
  return `{${written.join(",")}}`;
}

/** Whether every question can be left to JSON.stringify at once. */
function isPlain(questions) {
  for (const name in questions) {
    const criteria = questions[name]?.criteria;
    if (typeof questions[name] !== "object" || questions[name] === null || criteria instanceof Map ||
      (Array.isArray(criteria) && questions[name].type === "choice")) {
      return false;
    }
  }
  return true;
}

/** The JSON text of `questions`: an object, a Map, or an array of [name, question] pairs. */
function encodeQuestions(questions) {
  if (typeof questions !== "object" || questions === null) {
    throw new TypeSafeError("questions must be an object of questions by name, or a QuestionSet.");
  }
  const list = pairs(questions);
  if (list === undefined && Array.isArray(questions)) {
    throw new TypeSafeError("questions must be an object of questions by name, or an array of [name, question] pairs.");
  }
  if (list === undefined && isPlain(questions)) return encode(questions, "questions");
  const written = [];
  for (const [name, question] of list ?? Object.entries(questions)) {
    written.push(`${JSON.stringify(name)}:${encodeQuestion(question, `questions.${name}`)}`);
  }
  return `{${written.join(",")}}`;
}

/** Names of choices whose plain object may not be in the order in which it was written. */
function reordered(questions) {
  if (Array.isArray(questions)) return [];
  const entries = questions instanceof Map ? [...questions] : Object.entries(questions);
  return entries.filter(([, question]) => {
    const criteria = question?.type === "choice" ? question.criteria : undefined;
    return typeof criteria === "object" && criteria !== null && !(criteria instanceof Map) && !Array.isArray(criteria) &&
      Object.keys(criteria).filter(isInteger).length > 1;
  }).map(([name]) => name);
}

module.exports = { choice, encodeQuestions, noul, reordered, score };
