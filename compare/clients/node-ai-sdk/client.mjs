// @ai-sdk/typesafe-ai, through the AI SDK's own evaluation call.
import { serve } from '../common/protocol.mjs';

const start = performance.now();
const { createTypeSafeAi, VERSION } = await import('@ai-sdk/typesafe-ai');
const { experimental_evaluate: evaluate } = await import('ai');
const imported = performance.now() - start;

class AiSdk {
  open(setup) {
    this.setup = setup;
    this.model = createTypeSafeAi({ apiKey: setup.key, baseURL: `${setup.url}/v1` }).evaluationModel(setup.model);
    this.retries = setup.retries >= 0 ? { maxRetries: setup.retries } : {};
    // Its name for a noul question is boolean.
    this.questions = Object.fromEntries(
      Object.entries(setup.questions).map(([id, question]) => [id, question.type === 'noul' ? { ...question, type: 'boolean' } : question]),
    );
  }

  ask() {
    return evaluate({ model: this.model, state: this.setup.state, questions: this.questions, ...this.retries });
  }

  async call() {
    const { answers } = await this.ask();
    const { choice_key: choice, noul_key: noul } = this.setup;
    return [choice ? answers[choice].choice : null, answers[noul].probability];
  }

  async answer() {
    const { answers, providerMetadata, response } = await this.ask();
    const { choice_key: choice, noul_key: noul } = this.setup;
    return {
      model: response?.modelId, noul: answers[noul].probability, choice: answers[choice].choice,
      confidence: providerMetadata?.typesafe?.confidence?.[choice], probabilities: answers[choice].probabilities,
    };
  }
}

await serve(AiSdk, '@ai-sdk/typesafe-ai', VERSION, imported);
