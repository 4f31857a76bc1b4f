import type { Insertion, Ken, Message, PreparedTurn, Session, TurnOptions } from "../index.mjs";
/**
 * A copy of a list of messages with blocks in it.
 * @template T
 * @param {T[]} messages
 * @param {Insertion[]} insertions By rising `before`, an index into messages.
 * @param {(text: string) => T} message Makes a user message.
 * @param {(text: string, into: T) => T} merge Puts a text before what a message says.
 */
export declare function insert<T>(messages: T[], insertions: Insertion[], message: (text: string) => T, merge: (text: string, into: T) => T): T[];
/**
 * @param {Message[]} messages
 * @param {Insertion[]} insertions
 */
export declare function withBlocks(messages: Message[], insertions: Insertion[]): Message[];
/**
 * A content with a text before it: a string, or an array of parts.
 * @template T
 * @param {string} text
 * @param {T} content
 */
export declare function merged<T>(text: string, content: T): string | (T & any[])[number][];
/**
 * Prepares a turn. A model call never fails because knowledge does: without Ken there is no turn, and a warning.
 * @param {Ken | Session} ken
 * @param {Message[]} messages
 * @param {TurnOptions} options
 * @returns {Promise<PreparedTurn | undefined>}
 */
export declare function prepare(ken: Ken | Session, messages: Message[], options: TurnOptions): Promise<PreparedTurn | undefined>;
/**
 * Tells the answer of a turn, which never fails either.
 * @param {PreparedTurn | undefined} turn
 * @param {string} text
 * @param {{ id: string, name: string, arguments: string }[]} calls
 */
export declare function answered(turn: PreparedTurn | undefined, text: string, calls: {
    id: string;
    name: string;
    arguments: string;
}[]): Promise<void>;
