// What every contestant written in JavaScript shares: one JSON object a line in, one a line out (README.md has the
// operations). A contestant calls serve() with a class. `await new Class().open(setup)` makes the client; `call()` makes one call
// and returns [choice, noul] (choice is null when none is asked); `answer()` makes one and returns the whole answer.
import { readFileSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import process from 'node:process';

const now = () => Number(process.hrtime.bigint());

/** The checked answers out of a decoded reply. */
export function picked(setup, answers) {
  return [setup.choice_key ? answers[setup.choice_key].choice : null, answers[setup.noul_key].noul];
}

export function whole(setup, reply) {
  const answers = reply.answers;
  const all = { model: reply.model, noul: answers[setup.noul_key].noul };
  if (setup.choice_key) {
    const { choice, confidence, probabilities } = answers[setup.choice_key];
    Object.assign(all, { choice, confidence, probabilities });
  }
  return all;
}

class Meter {
  finished = [];
  taken = [];
  failures = 0;
  error = '';

  constructor(setup, { end = Infinity, calls = Infinity }) {
    Object.assign(this, { setup, end, left: calls });
  }

  /** The time at which a call may begin, or 0. */
  begin() {
    if (this.left-- <= 0) return 0;
    const time = now();
    return time < this.end ? time : 0;
  }

  finish(begin, error) {
    const time = now();
    this.finished.push(time);
    this.taken.push(time - begin);
    if (error) {
      this.failures++;
      this.error ||= error;
    }
  }

  async loop(client) {
    const { setup } = this;
    for (let begin; (begin = this.begin()); ) {
      let error = '';
      try {
        const [choice, noul] = await client.call();
        if (noul !== setup.want_noul || (setup.choice_key && choice !== setup.want_choice)) error = `wrong answer: ${choice}, ${noul}`;
      } catch (thrown) {
        error = described(thrown);
      }
      this.finish(begin, error);
    }
  }

  report(start, cpu, most) {
    const last = this.finished.reduce((a, b) => Math.max(a, b), start);
    const buckets = new Array(Math.floor((last - start) / 1e8) + 1).fill(0);
    for (const time of this.finished) buckets[Math.floor((time - start) / 1e8)]++;
    const stride = Math.max(1, Math.ceil(this.taken.length / most));
    return {
      calls: this.taken.length, failures: this.failures, error: this.error, elapsed_ns: last - start, cpu_us: cpu,
      samples: this.taken.filter((_, i) => i % stride === 0), buckets,
    };
  }
}

function described(error) {
  const causes = [];
  for (let at = error; at && causes.length < 4; at = at.cause) causes.push(`${at.name} ${at.status ?? at.statusCode ?? at.code ?? ''} ${at.message}`);
  return causes.join(' <- ').slice(0, 400);
}

async function run(client, meter, inFlight) {
  await Promise.all(Array.from({ length: inFlight }, () => meter.loop(client)));
}

async function measured(client, meter, inFlight, most) {
  const before = process.cpuUsage();
  const start = now();
  await run(client, meter, inFlight);
  const { user, system } = process.cpuUsage(before);
  return meter.report(start, user + system, most);
}

export async function serve(Client, library, version, importMs) {
  let client, setup;
  const say = (reply) => {
    for (let bytes = Buffer.from(JSON.stringify(reply) + '\n'); bytes.length; ) {
      try {
        bytes = bytes.subarray(writeSync(1, bytes));
      } catch (error) {
        if (error.code !== 'EAGAIN') throw error; // the pipe is full: the harness is reading
      }
    }
  };
  const operations = {
    async open(line) {
      setup = { ...line, ...JSON.parse(readFileSync(`${line.folder}/workload.json`, 'utf8')) };
      const start = now();
      try {
        client = new Client();
        await client.open(setup);
      } catch (error) {
        return { open_us: 0, error: described(error) };
      }
      return { open_us: (now() - start) / 1000, error: '' };
    },
    async close() {
      await client.close?.();
      return {};
    },
    answer: () => client.answer(),
    async verdict() {
      const begin = now();
      try {
        const noul = (await client.call())[1];
        // JSON has no Infinity or NaN: as text they are still told from a number.
        return { taken_ns: now() - begin, noul: typeof noul === 'number' && !Number.isFinite(noul) ? String(noul) : noul ?? null };
      } catch (error) {
        return { taken_ns: now() - begin, error: described(error) };
      }
    },
    latency: (line) => measured(client, new Meter(setup, { calls: line.calls }), 1, Infinity),
    async load(line) {
      const warm = new Meter(setup, { end: now() + line.warm_s * 1e9 });
      await run(client, warm, line.in_flight);
      const meter = new Meter(setup, { end: now() + line.seconds * 1e9 });
      return { warm_calls: warm.taken.length, ...(await measured(client, meter, line.in_flight, line.samples)) };
    },
  };
  say({ library, version, runtime: `Node ${process.versions.node}`, import_us: Math.round(importMs * 1000) });
  for await (const text of createInterface({ input: process.stdin })) {
    const line = JSON.parse(text);
    say(await operations[line.op](line));
  }
  process.exit(0);
}
