// Ours, as the drop-in call and with a compiled set. Variants: dropin, set.
import { picked, serve, whole } from '../common/protocol.mjs';

const start = performance.now();
const sdk = await import('../../../bindings/node/index.mjs');
const imported = performance.now() - start;

class Deemster {
  open(setup) {
    this.setup = setup;
    const retry = setup.retries >= 0 ? { retry: { maxRetries: setup.retries } } : {};
    const more = { ...(setup.ca && { ca: setup.ca }), ...(setup.in_flight > 256 && { maxConnections: setup.in_flight }) };
    this.client = new sdk.TypeSafeClient({ apiKey: setup.key, baseURL: setup.url, defaultModel: setup.model, ...retry, ...more });
    this.questions = process.argv[2] === 'set' ? new sdk.QuestionSet(setup.questions) : setup.questions;
  }

  ask() {
    return this.client.systemOne({ state: this.setup.state, questions: this.questions });
  }

  async call() {
    return picked(this.setup, (await this.ask()).answers);
  }

  async answer() {
    return whole(this.setup, await this.ask());
  }

  close() {
    return this.client.close();
  }
}

await serve(Deemster, 'deemster', sdk.LIBRARY_VERSION ?? sdk.VERSION, imported);
