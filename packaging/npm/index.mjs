// Finds the program ken, which the package of this platform carries.

import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

/** The path of the program. Throws where no package for this platform is installed. */
export function findKen() {
  const name = `@kenlayer/ken-${process.platform}-${process.arch}`;
  try {
    return require.resolve(`${name}/bin/ken${process.platform === "win32" ? ".exe" : ""}`);
  } catch (cause) {
    throw new Error(`ken: the package ${name} is not installed. Install @kenlayer/ken without --no-optional (--omit=optional), on a platform that Ken is built for: Linux, macOS or Windows on x64 or arm64.`, { cause });
  }
}
