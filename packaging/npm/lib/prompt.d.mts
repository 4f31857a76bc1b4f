import type { Ken, PreparedTurn, Session } from "../index.mjs";
export type PromptMessage = {
    role: string;
    content: any;
};
/**
 * Prepares the turn of a prompt, and returns the prompt with its blocks.
 * @template {readonly PromptMessage[]} P
 * @param {Ken | Session} ken
 * @param {P} prompt
 * @param {{ session?: string, model?: string, signal?: AbortSignal }} options
 * @returns {Promise<{ turn: PreparedTurn | undefined, prompt: P }>}
 */
export declare function prepared<P extends readonly PromptMessage[]>(ken: Ken | Session, prompt: P, options: {
    session?: string;
    model?: string;
    signal?: AbortSignal;
}): Promise<{
    turn: PreparedTurn | undefined;
    prompt: P;
}>;
/** Collects what a model answers, part by part. */
export declare class Answer {
    #private;
    /** @param {any} part Of an answer or of its stream: of the AI SDK, or one of Mastra, which has a payload. */
    add(part: any): void;
    /** @param {PreparedTurn | undefined} turn */
    tell(turn: PreparedTurn | undefined): Promise<void>;
}
