/**
 * The server of a folder. Each call needs one release.
 * @param {string} project
 * @param {() => string} program
 */
export declare function acquire(project: string, program: () => string): Server;
/** A server that is started when its address is asked for. */
export declare class Server {
    #private;
    users: number;
    /**
     * @param {string} folder
     * @param {() => string} program
     */
    constructor(folder: string, program: () => string);
    /** The address. */
    url(): Promise<string>;
    /** Ends it, unless others use it, and waits for that. */
    release(): Promise<void>;
}
