// Ken for the Vercel AI SDK.

import { checkKen } from "./lib/check.mjs";
import { Answer, prepared } from "./lib/prompt.mjs";

/**
 * @import { LanguageModelMiddleware } from "ai"
 * @import { Ken, Session } from "./index.mjs"
 */

/**
 * A middleware for `wrapLanguageModel`: each call of the model gets knowledge from Ken, and Ken
 * learns from the conversation. It works with every model of the SDK.
 *
 * A call names its session in `providerOptions: { ken: { session: "…" } }`, if the middleware is
 * not made for one.
 *
 * @param {Ken | Session} ken
 * @returns {LanguageModelMiddleware}
 */
export function kenMiddleware(ken) {
  checkKen(ken);
  /** @param {any} params @param {any} model */
  const before = (params, model) =>
    prepared(ken, params.prompt, { session: params.providerOptions?.ken?.session, model: model.modelId, signal: params.abortSignal });
  return {
    specificationVersion: "v4",
    wrapGenerate: async ({ params, model }) => {
      const { turn, prompt } = await before(params, model);
      const result = await model.doGenerate({ ...params, prompt });
      const answer = new Answer();
      for (const part of result.content) answer.add(part);
      await answer.tell(turn);
      return result;
    },
    wrapStream: async ({ params, model }) => {
      const { turn, prompt } = await before(params, model);
      const { stream, ...rest } = await model.doStream({ ...params, prompt });
      const answer = new Answer();
      const heard = new TransformStream({
        transform(part, out) {
          answer.add(part);
          out.enqueue(part);
        },
        flush: () => answer.tell(turn),
      });
      return { stream: stream.pipeThrough(heard), ...rest };
    },
  };
}
