/** The version of the program; the manifests of the wrappers and `server.json` are held to it by a test. */
import manifest from "../../package.json" with { type: "json" };

export const VERSION: string = manifest.version;

declare const BUILD_COMMIT: string | undefined;

/** The commit that a compiled program was built from; undefined where the sources run themselves. */
export const COMMIT: string | undefined = typeof BUILD_COMMIT === "string" ? BUILD_COMMIT : undefined;
