import { Document } from "@langchain/core/documents";
import { BaseRetriever } from "@langchain/core/retrievers";
import type { AgentMiddleware } from "langchain";
import type { Ken, Session } from "./index.mjs";
/**
 * @import { BaseMessage } from "@langchain/core/messages"
 * @import { AgentMiddleware } from "langchain"
 * @import { Ken, Message, Session } from "./index.mjs"
 */
/** Finds what Ken knows, as documents: the claim's text, and what else is known of it as metadata. */
export declare class KenRetriever extends BaseRetriever {
    #private;
    lc_namespace: string[];
    static lc_name(): string;
    /**
     * @param {Ken} ken
     * @param {{ limit?: number }} [options] `limit` is at most how many documents, 5 by default.
     */
    constructor(ken: Ken, { limit }?: {
        limit?: number;
    });
    /** @param {string} question */
    _getRelevantDocuments(question: string): Promise<Document<{
        kind: string;
        status: string;
        tier: "Guessed" | "Assumed" | "Inferred" | "Verified";
        entities?: string[];
        constraint?: boolean;
        created_at: string;
        score: number;
    }>[]>;
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
export declare function kenMiddleware(ken: Ken | Session): AgentMiddleware;
