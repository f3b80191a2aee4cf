"use strict";
const errors = require("./lib/errors.js");
const { choice, noul, score } = require("./lib/questions.js");
const { APIPromise } = require("./lib/api_promise.js");
const { QuestionSet } = require("./lib/question_set.js");
const { TypeSafeClient } = require("./lib/client.js");
const { ENV, LOG_LEVELS, VERSION } = require("./lib/constants.js");

module.exports = { ...errors.classes, APIPromise, ENV, LOG_LEVELS, QuestionSet, TypeSafeClient, VERSION, choice, noul, score };
