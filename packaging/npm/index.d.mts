import { KenError } from "./lib/error.mjs";
export { KenError };
/** The path of the program: KEN_BIN, else the one in the package for this platform. Throws where none is installed. */
export declare function findKen(): string;
export type KenOptions = {
    /**
     * The address of a running `ken serve`. Default: the environment variable KEN_URL. Without either, Ken is started.
     */
    url?: string;
    /**
     * A key of that `ken serve`. Default: the environment variable KEN_KEY.
     */
    key?: string;
    /**
     * The owner of the knowledge, for a Ken without keys. A key has its owner already.
     */
    owner?: string;
    /**
     * The project's folder, for a Ken that is started. Default: the current folder.
     */
    project?: string;
};
export type Claim = {
    id: string;
    text: string;
    /**
     * The kind, `fact` by default.
     */
    kind: string;
    /**
     * Its state: `observed`, `inferred`, `hypothesis`, `verified`, `disputed` …
     */
    status: string;
    /**
     * How reliable it is.
     */
    tier: "Guessed" | "Assumed" | "Inferred" | "Verified";
    /**
     * The entities that it is about, the main one first.
     */
    entities?: string[];
    /**
     * It is a rule.
     */
    constraint?: boolean;
    created_at: string;
};
export type Found = Claim & {
    score: number;
};
export type RememberOptions = {
    /**
     * The entities that it is about, the main one first. By default they are read from the text.
     */
    about?: string | string[];
    /**
     * true: a rule, which is in every turn about its entity. false: no rule, whatever its wording.
     */
    rule?: boolean;
    tags?: string[];
    /**
     * A name of your own: the same key again is a new version.
     */
    key?: string;
};
export type Message = {
    role: string;
    content?: unknown;
    name?: string;
    tool_calls?: {
        id?: string;
        type?: string;
        function: {
            name: string;
            arguments: string;
        };
    }[];
    tool_call_id?: string;
};
export type Insertion = {
    /**
     * An index into the messages: the block is a user message before that one.
     */
    before: number;
    text: string;
    /**
     * The text goes to the beginning of that message instead, followed by an empty line.
     */
    merge?: boolean;
};
export type PreparedTurn = {
    id: string;
    /**
     * The session's name.
     */
    session: string;
    /**
     * What to add, by rising `before`.
     */
    insertions: Insertion[];
    /**
     * The conversation with that added.
     */
    messages: Message[];
    /**
     * Passes the model's answer to Ken.
     */
    answered: (message: Message, options?: {
        signal?: AbortSignal;
    }) => Promise<void>;
};
export type TurnOptions = {
    /**
     * The session's name. Without it, Ken distinguishes conversations by their first user message.
     */
    session?: string;
    /**
     * The model's name.
     */
    model?: string;
    signal?: AbortSignal;
};
export type Wrappable<T> = {
    withOptions(options: any): T;
};
export type Fetch = typeof globalThis.fetch;
export type Place = {
    url: string;
    /**
     * What requests need there.
     */
    headers: Record<string, string>;
    /**
     * The key of a Ken that was started.
     */
    key?: string;
    started: boolean;
};
/** Ken, at an address or started for this process. */
export declare class Ken {
    #private;
    /**
     * A fetch that sends model calls through Ken and everything else as it is. Give it to any
     * client that takes one.
     * @type {Fetch}
     */
    fetch: Fetch;
    /** @param {KenOptions} [options] */
    constructor({ url, key, owner, project }?: KenOptions);
    /** The address of Ken, which is started if need be. */
    url(): Promise<string>;
    /** A link to the console, for a browser. Keep it to yourself: for a Ken that was started, it has the key. */
    console(): Promise<string>;
    /**
     * Ends the Ken that was started, unless others in this process use it, and waits until it has learned from the sessions.
     * Model calls go on without it then. Another call of this object starts it anew.
     */
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
    /**
     * Remembers a statement.
     * @param {string} text One statement.
     * @param {RememberOptions} [options]
     * @returns {Promise<Claim>}
     */
    remember(text: string, { about, rule, tags, key }?: RememberOptions): Promise<Claim>;
    /**
     * Finds the claims that are relevant to a question, best first. Of a question with more than 8192 bytes, the beginning and the end count.
     * @param {string} question
     * @param {{ limit?: number }} [options] `limit` is at most how many, 5 by default.
     * @returns {Promise<Found[]>}
     */
    recall(question: string, { limit }?: {
        limit?: number;
    }): Promise<Found[]>;
    /**
     * Erases a claim and what was derived from it, everywhere. It can't be undone.
     * @param {string | { id: string }} claim A claim, or its id.
     * @returns {Promise<string[]>} The ids of the deleted claims.
     */
    forget(claim: string | {
        id: string;
    }): Promise<string[]>;
    /**
     * A session. When it ends, Ken learns from its messages.
     * @param {string} [name] By default, and for "", a new, unique name.
     */
    session(name?: string): Session;
    /**
     * A copy of a client whose model calls go through Ken, with the client's own key and API.
     * @template {Wrappable<T>} T
     * @param {T} client
     * @returns {T}
     */
    wrap<T extends Wrappable<T>>(client: T): T;
    /**
     * Gets what to add to a conversation, for a model that no adapter is for. Send the whole
     * conversation each time.
     * @param {Message[]} messages
     * @param {TurnOptions} [options]
     * @returns {Promise<PreparedTurn>}
     */
    prepare(messages: Message[], { session, model, signal }?: TurnOptions): Promise<PreparedTurn>;
    /**
     * Sends a request to Ken's API (see /api/openapi.json) and returns what it answers.
     * @param {string} method
     * @param {string} path
     * @param {unknown} [body]
     * @param {{ signal?: AbortSignal }} [options]
     * @returns {Promise<any>}
     */
    request(method: string, path: string, body?: unknown, { signal }?: {
        signal?: AbortSignal;
    }): Promise<any>;
}
/** A conversation, or several that belong together. Ken learns from it when it ends. */
export declare class Session {
    #private;
    name: string;
    /** As {@link Ken.fetch}, for calls of this session. */
    fetch: typeof fetch;
    /**
     * Use {@link Ken.session}.
     * @param {Ken} ken
     * @param {string} name
     * @param {(own?: Fetch) => Fetch} routed
     */
    constructor(ken: Ken, name: string, routed: (own?: Fetch) => Fetch);
    /**
     * As {@link Ken.wrap}, for calls of this session.
     * @template {Wrappable<T>} T
     * @param {T} client
     * @returns {T}
     */
    wrap<T extends Wrappable<T>>(client: T): T;
    /**
     * As {@link Ken.prepare}, for a turn of this session.
     * @param {Message[]} messages
     * @param {TurnOptions} [options]
     */
    prepare(messages: Message[], options?: TurnOptions): Promise<PreparedTurn>;
    /**
     * Ends the session. Resolves when Ken has learned from it, after at most `wait`
     * milliseconds, 10 seconds by default. Ken completes the rest.
     * @param {{ wait?: number }} [options]
     */
    end({ wait }?: {
        wait?: number;
    }): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
