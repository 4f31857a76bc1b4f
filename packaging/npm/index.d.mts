/** The path of the program ken. Throws where no package for this platform is installed. */
export declare function findKen(): string;
