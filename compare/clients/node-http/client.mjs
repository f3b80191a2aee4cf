// What one would write by hand. Variants: fetch, undici (its pool), http (node:http with a keep-alive agent).
import { readFileSync } from 'node:fs';
import { picked, serve, whole } from '../common/protocol.mjs';

const variant = process.argv[2];
const start = performance.now();
const library = variant === 'fetch' ? null : await import(variant === 'undici' ? 'undici' : 'node:http');
const imported = performance.now() - start;

class Base {
  open(setup) {
    this.setup = setup;
    this.headers = { authorization: `Bearer ${setup.key}`, 'content-type': 'application/json' };
    this.url = new URL(`${setup.url}/v1/systemone`);
    this.ca = setup.ca ? readFileSync(setup.ca) : undefined;
  }

  body() {
    const { state, model, questions } = this.setup;
    return JSON.stringify({ state, model, questions });
  }

  read(status, text) {
    if (status !== 200) throw new Error(`HTTP ${status}: ${text.slice(0, 100)}`);
    return JSON.parse(text);
  }

  async call() {
    return picked(this.setup, (await this.ask()).answers);
  }

  async answer() {
    return whole(this.setup, await this.ask());
  }
}

class Fetch extends Base {
  async ask() {
    const reply = await fetch(this.url, { method: 'POST', headers: this.headers, body: this.body(), signal: AbortSignal.timeout(10000) });
    return this.read(reply.status, await reply.text());
  }
}

class Undici extends Base {
  open(setup) {
    super.open(setup);
    this.pool = new library.Pool(this.url.origin, { connections: Math.max(1, setup.in_flight), connect: { ca: this.ca } });
  }

  async ask() {
    const reply = await this.pool.request({ method: 'POST', path: this.url.pathname, headers: this.headers, body: this.body() });
    return this.read(reply.statusCode, await reply.body.text());
  }

  close() {
    return this.pool.close();
  }
}

class Http extends Base {
  async open(setup) {
    super.open(setup);
    this.module = this.url.protocol === 'http:' ? library : await import('node:https');
    this.agent = new this.module.Agent({ keepAlive: true, ca: this.ca });
  }

  ask() {
    return new Promise((resolve, reject) => {
      const body = this.body();
      const headers = { ...this.headers, 'content-length': Buffer.byteLength(body) };
      const request = this.module.request(this.url, { method: 'POST', agent: this.agent, headers, timeout: 10000 }, (reply) => {
        const parts = [];
        reply.on('data', (part) => parts.push(part));
        reply.on('error', reject);
        reply.on('end', () => {
          try {
            resolve(this.read(reply.statusCode, Buffer.concat(parts).toString()));
          } catch (error) {
            reject(error);
          }
        });
      });
      request.on('timeout', () => request.destroy(new Error('timed out')));
      request.on('error', reject);
      request.end(body);
    });
  }

  close() {
    this.agent.destroy();
  }
}

const version = variant === 'undici' ? JSON.parse(readFileSync(new URL('node_modules/undici/package.json', import.meta.url))).version : process.versions.node;
await serve({ fetch: Fetch, undici: Undici, http: Http }[variant], variant === 'http' ? 'node:http' : variant, version, imported);
