"use strict";
const errors = require("./errors.js");
const { choice, noul, score } = require("./questions.js");
const { APIPromise } = require("./api_promise.js");
const { QuestionSet } = require("./question_set.js");
const { TypeSafeClient } = require("./client.js");
const { ENV, LOG_LEVELS, VERSION } = require("./constants.js");

module.exports = { ...errors.classes, APIPromise, ENV, LOG_LEVELS, QuestionSet, TypeSafeClient, VERSION, choice, noul, score };
