/** Passwords of database roles: never sent as text, so that neither statement logs nor pg_stat_statements see one. */
import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";

/** RFC 7677 asks for at least 4096 rounds; PostgreSQL's own default. */
const ITERATIONS = 4096;
const SALT_BYTES = 16;
const KEY_BYTES = 32;

/**
 * A SCRAM-SHA-256 verifier (RFC 5802, RFC 7677) as `ALTER ROLE … PASSWORD` takes it: `SCRAM-SHA-256$4096:<salt>$<StoredKey>:<ServerKey>`.
 * The password is used as it is: ours are ASCII, for which SASLprep changes nothing.
 */
export function scramVerifier(password: string, salt: Uint8Array = randomBytes(SALT_BYTES)): string {
  const salted = pbkdf2Sync(password, salt, ITERATIONS, KEY_BYTES, "sha256");
  const hmac = (label: string) => createHmac("sha256", salted).update(label).digest();
  const storedKey = createHash("sha256").update(hmac("Client Key")).digest("base64");
  return `SCRAM-SHA-256$${ITERATIONS}:${Buffer.from(salt).toString("base64")}$${storedKey}:${hmac("Server Key").toString("base64")}`;
}

/** What stands before the hosts of an address: `user:password`. */
function credentialsOf(url: string): string {
  const authority = /^postgres(?:ql)?:\/\/([^/?#]*)/i.exec(url)?.[1] ?? "";
  return authority.slice(0, Math.max(0, authority.lastIndexOf("@")));
}

const PASSWORD_PARAMETER = /([?&]password=)[^&#]+/i;

/** True where an address holds a password; without one the server trusts the login by other means, such as the owner of a socket. */
export const hasPassword = (url: string): boolean => /:./.test(credentialsOf(url)) || PASSWORD_PARAMETER.test(url);

/** An address that holds a password, with another one. */
export function withPassword(url: string, password: string): string {
  const [user = ""] = credentialsOf(url).split(":");
  return /:./.test(credentialsOf(url))
    ? withCredentials(url, decodeURIComponent(user), password)
    : url.replace(PASSWORD_PARAMETER, (_, name: string) => name + encodeURIComponent(password));
}

/** A random password of 128 bits, hexadecimal. */
export const newPassword = (): string => randomBytes(16).toString("hex");

/**
 * `url` with another user and password; hosts, database and parameters stay. Written by hand because a list of hosts is no URL to the
 * standard parser.
 */
export function withCredentials(url: string, user: string, password: string): string {
  const scheme = /^postgres(?:ql)?:\/\//i.exec(url)?.[0];
  if (scheme === undefined) throw new TypeError("not a PostgreSQL URL");
  const rest = url.slice(scheme.length);
  const end = /[/?#]/.exec(rest)?.index ?? rest.length;
  const hosts = rest.slice(0, end).split("@").at(-1) ?? "";
  return `${scheme}${encodeURIComponent(user)}:${encodeURIComponent(password)}@${hosts}${rest.slice(end)}`;
}
