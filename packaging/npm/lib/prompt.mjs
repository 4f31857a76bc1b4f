// Prompts of the AI SDK's language models, which Mastra has as well.

import { answered, insert, prepare } from "./blocks.mjs";

/**
 * @import { Ken, Message, PreparedTurn, Session } from "../index.mjs"
 * @typedef {{ role: string, content: any }} PromptMessage
 */

/**
 * The messages of a prompt in the form of chat completions, and for each the index in the prompt.
 * @param {readonly PromptMessage[]} prompt
 */
function read(prompt) {
  /** @type {Message[]} */
  const messages = [];
  /** @type {number[]} */
  const places = [];
  const add = (/** @type {number} */ place, /** @type {Message} */ message) => {
    messages.push(message);
    places.push(place);
  };
  prompt.forEach(({ role, content }, i) => {
    if (typeof content === "string") return add(i, { role, content });
    const parts = /** @type {any[]} */ (content);
    if (role === "tool") {
      for (const p of parts) if (p.type === "tool-result") add(i, { role, tool_call_id: p.toolCallId, content: output(p.output ?? p.result) });
      return;
    }
    const texts = parts.filter((p) => p.type === "text").map((p) => ({ type: "text", text: p.text }));
    const files = parts.filter((p) => p.type === "file" || p.type === "image").map((p) => ({ type: "file", name: p.filename ?? p.mediaType ?? p.type }));
    const calls = parts.filter((p) => p.type === "tool-call").map((p) => ({ id: p.toolCallId, type: "function", function: { name: p.toolName, arguments: json(p.input ?? p.args) } }));
    add(i, { role, content: [...texts, ...files], ...(calls.length > 0 && { tool_calls: calls }) });
  });
  return { messages, places };
}

/** @param {unknown} value */
const json = (value) => (typeof value === "string" ? value : JSON.stringify(value ?? {}));

/** @param {any} result What a tool gave: a value, or one with its type. */
function output(result) {
  const value = result && typeof result === "object" && "type" in result && "value" in result ? result.value : result;
  if (!Array.isArray(value)) return json(value);
  return value.map((p) => p.text ?? json(p)).join("\n");
}

/**
 * Prepares the turn of a prompt, and returns the prompt with its blocks.
 * @template {readonly PromptMessage[]} P
 * @param {Ken | Session} ken
 * @param {P} prompt
 * @param {{ session?: string, model?: string, signal?: AbortSignal }} options
 * @returns {Promise<{ turn: PreparedTurn | undefined, prompt: P }>}
 */
export async function prepared(ken, prompt, options) {
  const { messages, places } = read(prompt);
  const turn = await prepare(ken, messages, options);
  if (!turn) return { turn, prompt };
  const insertions = turn.insertions.map((i) => ({ ...i, before: places[i.before] }));
  const part = (/** @type {string} */ text) => ({ type: "text", text });
  const blocks = insert(
    /** @type {PromptMessage[]} */ (/** @type {unknown} */ (prompt)),
    insertions,
    (text) => ({ role: "user", content: [part(text)] }),
    (text, m) => ({ ...m, content: [part(`${text}\n\n`), ...m.content] }),
  );
  return { turn, prompt: /** @type {P} */ (/** @type {unknown} */ (blocks)) };
}

/** Collects what a model answers, part by part. */
export class Answer {
  #text = "";
  /** @type {{ id: string, name: string, arguments: string }[]} */
  #calls = [];

  /** @param {any} part Of an answer or of its stream: of the AI SDK, or one of Mastra, which has a payload. */
  add(part) {
    const { type } = part;
    const p = part.payload ?? part;
    if (type === "text" || type === "text-delta") this.#text += p.text ?? p.delta ?? "";
    if (type === "tool-call") this.#calls.push({ id: p.toolCallId, name: p.toolName, arguments: json(p.input ?? p.args) });
  }

  /** @param {PreparedTurn | undefined} turn */
  tell(turn) {
    return answered(turn, this.#text, this.#calls);
  }
}
