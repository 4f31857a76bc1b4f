import type { LanguageModelMiddleware } from "ai";
import type { Ken, Session } from "./index.mjs";
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
export declare function kenMiddleware(ken: Ken | Session): LanguageModelMiddleware;
