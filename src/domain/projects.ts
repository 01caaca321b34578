/** What identifies a project: the repository, not the directory's name (`tools-cognition.md` §1.3). Pure rules; git is asked elsewhere. */

import { trimmedEnd } from "../kernel/text.ts";
import { BREAK_HINTS, cleanLabel } from "./names.ts";

const SLASHES = "/\\";

/** What is known of the directory a client works in. */
export interface WorkspaceFacts {
  /** Top level of the work tree, else the directory; symbolic links resolved. */
  readonly top: string;
  /** First commit of HEAD's first-parent line; undefined without git, without commits, or in a shallow clone. */
  readonly rootCommit: string | undefined;
  /** URL of `origin`. */
  readonly remote: string | undefined;
  /** Set where the path lies on another machine. */
  readonly machine: string | undefined;
}

/** `remote:<host>/<path>` without scheme, user, port and `.git`, host in lower case; undefined for what is no address (a local path). */
export function remoteIdentity(url: string): string | undefined {
  const text = url.trim();
  const withScheme = /^[a-z][a-z0-9+.-]*:\/\/(?:[^@/]*@)?(\[[^\]]+\]|[^/:]+)(?::\d+)?\/+(.+)$/i.exec(text);
  // `user@host:path`, the form git itself prefers for ssh; a single letter before the colon is a Windows drive.
  const scp = withScheme === null ? /^(?:[^@\s/]+@)?([^\s/:]{2,}):(?!\/\/)(.+)$/.exec(text) : null;
  const found = withScheme ?? scp;
  if (found === null || /^file:/i.test(text)) return undefined;
  const host = (found[1] ?? "").toLowerCase();
  const path = trimmedEnd((found[2] ?? "").replace(/^[/~]+/, ""), "/").replace(/\.git$/i, "");
  return host === "" || path === "" ? undefined : `remote:${host}/${path}`;
}

/** Identities of a workspace, best first; `path:` counts only where there is no other. */
export function identityCandidates({ top, rootCommit, remote, machine }: WorkspaceFacts): readonly string[] {
  const address = remote === undefined ? undefined : remoteIdentity(remote);
  return [
    ...(rootCommit === undefined ? [] : [`git:${rootCommit}`]),
    ...(address === undefined ? [] : [address]),
    machine === undefined ? `path:${top}` : `path:${machine}:${top}`,
  ];
}

/** True for an identity that names a repository wherever it lies. */
export const isRepositoryIdentity = (identity: string): boolean => identity.startsWith("git:") || identity.startsWith("remote:");

const lastSegment = (path: string): string =>
  path
    .split(/[/\\]/)
    .filter((part) => part !== "")
    .at(-1) ?? "";

/** The name a new project gets: last segment of the remote, else of the top level. Empty for a root directory. */
export function projectName({ top, remote }: WorkspaceFacts): string {
  const address = remote === undefined ? undefined : remoteIdentity(remote);
  return cleanLabel(lastSegment(address ?? top));
}

/** `api`, `api-2`, `api-3`…: the first that `isTaken` lets pass. */
export function freeName(wanted: string, isTaken: (name: string) => boolean): string {
  if (!isTaken(wanted)) return wanted;
  let number = 2;
  while (isTaken(`${wanted}-${number}`)) number++;
  return `${wanted}-${number}`;
}

/** Percent-decoding as UTF-8; a malformed escape stays as it is. */
export function percentDecode(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (run) => {
    try {
      return decodeURIComponent(run);
    } catch {
      return run;
    }
  });
}

/**
 * The directory behind a client's root URI: `file://` stripped, decoded, without a trailing slash. Undefined where it names no project:
 * empty, `.`, a root directory, the home directory, or another scheme.
 */
export function rootDirectory(uri: string, home: string | undefined): string | undefined {
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(uri) && !/^file:\/\//i.test(uri)) return undefined;
  const raw = percentDecode(uri.replace(/^file:\/\/(?:localhost(?=\/))?/i, ""));
  // `/C:/Users/x` is how a Windows path looks inside a URI.
  const path = trimmedEnd(raw.replace(/^\/([a-z]:[/\\])/i, "$1"), SLASHES);
  const isRoot = path === "" || path === "." || /^[a-z]:$/i.test(path);
  return isRoot || (home !== undefined && path === trimmedEnd(home, SLASHES)) ? undefined : path;
}

/** Names that differ only in case, `-`, `_`, spaces or in what cannot be seen are likely one project mistyped. */
export const projectNameKey = (name: string): string =>
  name
    .toLowerCase()
    .replace(BREAK_HINTS, "")
    .replace(/[-_\s]/g, "");
