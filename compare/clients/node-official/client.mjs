// The official SDK.
import { picked, serve, whole } from '../common/protocol.mjs';

const start = performance.now();
const sdk = await import('@typesafe-ai/sdk');
const imported = performance.now() - start;

class Official {
  open(setup) {
    this.setup = setup;
    const retry = setup.retries >= 0 ? { retry: { maxRetries: setup.retries } } : {};
    this.client = new sdk.TypeSafeClient({ apiKey: setup.key, baseURL: setup.url, defaultModel: setup.model, ...retry });
  }

  ask() {
    return this.client.systemOne({ state: this.setup.state, questions: this.setup.questions });
  }

  async call() {
    return picked(this.setup, (await this.ask()).answers);
  }

  async answer() {
    return whole(this.setup, await this.ask());
  }
}

await serve(Official, '@typesafe-ai/sdk', sdk.VERSION, imported);
