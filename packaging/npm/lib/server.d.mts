/** The server at an address, or one that is started when it is needed. */
export declare class Server {
    #private;
    /**
     * @param {string | undefined} url
     * @param {string} dir
     * @param {() => string} program
     */
    constructor(url: string | undefined, dir: string, program: () => string);
    /** The address. */
    url(): Promise<string>;
    /** Ends what was started, and waits for that. */
    close(): Promise<void>;
}
