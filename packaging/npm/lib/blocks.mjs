// Blocks in conversations.

import { warn } from "./error.mjs";
import { within } from "./route.mjs";

/**
 * @import { Insertion, Ken, Message, PreparedTurn, Session, TurnOptions } from "../index.mjs"
 */

/** How long a model call waits for Ken, in milliseconds. */
const patience = 5_000;

/**
 * A copy of a list of messages with blocks in it.
 * @template T
 * @param {T[]} messages
 * @param {Insertion[]} insertions By rising `before`, an index into messages.
 * @param {(text: string) => T} message Makes a user message.
 * @param {(text: string, into: T) => T} merge Puts a text before what a message says.
 */
export function insert(messages, insertions, message, merge) {
  const out = [...messages];
  for (const { before, text, merge: into } of insertions.toReversed()) {
    if (into) out[before] = merge(text, out[before]);
    else out.splice(before, 0, message(text));
  }
  return out;
}

/**
 * @param {Message[]} messages
 * @param {Insertion[]} insertions
 */
export function withBlocks(messages, insertions) {
  return insert(messages, insertions, (content) => ({ role: "user", content }), (text, m) => ({ ...m, content: merged(text, m.content) }));
}

/**
 * A content with a text before it: a string, or an array of parts.
 * @template T
 * @param {string} text
 * @param {T} content
 */
export function merged(text, content) {
  return Array.isArray(content) ? [{ type: "text", text: `${text}\n\n` }, ...content] : `${text}\n\n${content}`;
}

/**
 * Prepares a turn. A model call never fails because knowledge does: without Ken there is no turn, and a warning.
 * @param {Ken | Session} ken
 * @param {Message[]} messages
 * @param {TurnOptions} options
 * @returns {Promise<PreparedTurn | undefined>}
 */
export async function prepare(ken, messages, options) {
  try {
    return await ken.prepare(messages, { ...options, signal: within(patience, options.signal) });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    warn(error);
  }
}

/**
 * Tells the answer of a turn, which never fails either.
 * @param {PreparedTurn | undefined} turn
 * @param {string} text
 * @param {{ id: string, name: string, arguments: string }[]} calls
 */
export async function answered(turn, text, calls) {
  if (!turn || (text === "" && calls.length === 0)) return;
  try {
    const tool_calls = calls.length > 0 ? calls.map(({ id, ...f }) => ({ id, type: "function", function: f })) : undefined;
    await turn.answered({ role: "assistant", content: text, tool_calls }, { signal: within(patience) });
  } catch (error) {
    warn(error);
  }
}
