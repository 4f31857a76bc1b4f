// Ken for LangChain.js.

import { Document } from "@langchain/core/documents";
import { HumanMessage } from "@langchain/core/messages";
import { BaseRetriever } from "@langchain/core/retrievers";
import { answered, insert, merged, prepare } from "./lib/blocks.mjs";
import { checkKen } from "./lib/check.mjs";

/**
 * @import { BaseMessage } from "@langchain/core/messages"
 * @import { AgentMiddleware } from "langchain"
 * @import { Ken, Message, Session } from "./index.mjs"
 */

/** Finds what Ken knows, as documents: the claim's text, and what else is known of it as metadata. */
export class KenRetriever extends BaseRetriever {
  lc_namespace = ["kenlayer", "ken"];
  #ken;
  #limit;

  static lc_name() {
    return "KenRetriever";
  }

  /**
   * @param {Ken} ken
   * @param {{ limit?: number }} [options] `limit` is at most how many documents, 5 by default.
   */
  constructor(ken, { limit } = {}) {
    super();
    this.#ken = ken;
    this.#limit = limit;
  }

  /** @param {string} question */
  async _getRelevantDocuments(question) {
    const found = await this.#ken.recall(question, { limit: this.#limit });
    return found.map(({ id, text, ...metadata }) => new Document({ id, pageContent: text, metadata }));
  }
}

/**
 * A middleware for `createAgent`: each call of the model gets knowledge from Ken, and Ken learns
 * from the conversation.
 *
 * The agent's `thread_id` is the session's name, if the middleware is not made for a session.
 *
 * @param {Ken | Session} ken
 * @returns {AgentMiddleware}
 */
export function kenMiddleware(ken) {
  checkKen(ken);
  /** @type {any} */
  const middleware = {
    // As createMiddleware of langchain makes it; the retriever above needs @langchain/core alone.
    [Symbol.for("AgentMiddleware")]: true,
    name: "Ken",
    /** @param {any} request @param {(request: any) => Promise<any>} handler */
    async wrapModelCall(request, handler) {
      /** @type {BaseMessage[]} */
      const messages = request.messages;
      const turn = await prepare(ken, messages.map(read), {
        session: request.runtime?.configurable?.thread_id,
        model: request.model?.model ?? request.model?.modelName,
        signal: request.runtime?.signal,
      });
      const answer = await handler(turn ? { ...request, messages: withBlocks(messages, turn.insertions) } : request);
      if (answer?.getType?.() === "ai") {
        const calls = (answer.tool_calls ?? []).map((/** @type {any} */ c) => ({ id: c.id ?? "", name: c.name, arguments: JSON.stringify(c.args) }));
        await answered(turn, answer.text, calls);
      }
      return answer;
    },
  };
  return middleware;
}

/** @type {Record<string, string>} */
const roles = { human: "user", user: "user", system: "system", developer: "developer", tool: "tool", function: "tool" };

/**
 * A message in the form of chat completions.
 * @param {any} m
 * @returns {Message}
 */
function read(m) {
  const kind = m.getType() === "generic" ? m.role : m.getType();
  return {
    role: roles[kind] ?? "assistant",
    content: Array.isArray(m.content) ? m.content.filter((/** @type {any} */ p) => p.type === "text") : m.content, // without pictures
    ...(m.tool_call_id && { tool_call_id: m.tool_call_id }),
    ...(m.tool_calls?.length > 0 && {
      tool_calls: m.tool_calls.map((/** @type {any} */ c) => ({ id: c.id, type: "function", function: { name: c.name, arguments: JSON.stringify(c.args) } })),
    }),
  };
}

/**
 * @param {BaseMessage[]} messages
 * @param {import("./index.mjs").Insertion[]} insertions
 */
function withBlocks(messages, insertions) {
  return insert(messages, insertions, (text) => new HumanMessage(text), (text, m) => new HumanMessage({ ...m, content: /** @type {any} */ (merged(text, m.content)) }));
}
