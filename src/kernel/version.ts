/** The version of the program; the manifests of the wrappers and `server.json` are held to it by a test. */
import manifest from "../../package.json" with { type: "json" };

export const VERSION: string = manifest.version;
