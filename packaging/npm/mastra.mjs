// Ken for Mastra.

import { checkKen } from "./lib/check.mjs";
import { Answer, prepared } from "./lib/prompt.mjs";

/**
 * @import { Processor } from "@mastra/core/processors"
 * @import { Ken, Session } from "./index.mjs"
 */

const turnOf = Symbol("turn");

/**
 * An input processor of an agent: each call of its model carries what Ken knows, and Ken learns
 * from the conversation. The agent's own memory stays as it is.
 *
 * A thread of the agent's memory is a session of that name, if the processor is not made for one.
 *
 * @param {Ken | Session} ken
 * @returns {Processor<"ken"> & Required<Pick<Processor, "processLLMRequest" | "processLLMResponse">>}
 */
export function kenProcessor(ken) {
  checkKen(ken);
  return {
    id: "ken",
    name: "Ken",
    async processLLMRequest({ prompt, model, state, requestContext, abortSignal }) {
      const thread = /** @type {any} */ (requestContext?.get("MastraMemory"))?.thread?.id;
      const got = await prepared(ken, prompt, { session: thread, model: model.modelId, signal: abortSignal });
      /** @type {any} */ (state)[turnOf] = got.turn;
      return { prompt: got.prompt };
    },
    async processLLMResponse({ chunks, state }) {
      const answer = new Answer();
      for (const chunk of chunks) answer.add(chunk);
      await answer.tell(/** @type {any} */ (state)[turnOf]);
    },
  };
}
