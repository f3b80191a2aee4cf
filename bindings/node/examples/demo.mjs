// The demo from Node: evaluates a text file with a question set file and prints the answers.
import { readFileSync } from "node:fs";
import { QuestionSet, TypeSafeClient } from "deemster";

const [questions, state] = process.argv.slice(2).map((file) => readFileSync(file, "utf8"));
const client = new TypeSafeClient();
const set = QuestionSet.fromJSON(questions);
const { data, requestId, attempts } = await client.systemOne({ state, questions: set }).withResponse();
const shown = {
  noul: ({ noul }) => `${noul.toFixed(2)} yes`,
  choice: ({ choice, confidence }) => `${choice} (confidence ${confidence.toFixed(2)})`,
  score: ({ score, confidence, legend, probabilities }) => {
    const [level] = Object.entries(probabilities).reduce((best, next) => (next[1] > best[1] ? next : best));
    return `${score.toFixed(2)} of ${Object.keys(legend).length - 1}: ${legend[level]} (confidence ${confidence.toFixed(2)})`;
  },
};
for (const name of set.names) console.log(name.padEnd(24), shown[data.answers[name].type](data.answers[name]));
console.log(`${data.model}, ${data.usage.input_tokens} tokens, ${attempts} attempt, request ${requestId}`);
