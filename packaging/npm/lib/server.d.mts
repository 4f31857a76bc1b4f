export type Address = {
    url: string;
    key?: string;
};
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
    /**
     * Where it is.
     * @param {string} [dead] An address that refuses connections, because its server has ended.
     */
    address(dead?: string): Promise<Address>;
    /** Ends it, unless others use it, and waits for that. */
    release(): Promise<void>;
}
