import type { Processor } from "@mastra/core/processors";
import type { Ken, Session } from "./index.mjs";
/**
 * An input processor of an agent: each call of its model carries what Ken knows, and Ken learns
 * from the conversation. The agent's own memory stays as it is.
 *
 * A thread of the agent's memory is a session of that name, if the processor is not made for one.
 *
 * @param {Ken | Session} ken
 * @returns {Processor<"ken"> & Required<Pick<Processor, "processLLMRequest" | "processLLMResponse">>}
 */
export declare function kenProcessor(ken: Ken | Session): Processor<"ken"> & Required<Pick<Processor, "processLLMRequest" | "processLLMResponse">>;
