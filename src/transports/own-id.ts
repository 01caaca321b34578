/** Finds the `id` of a JSON-RPC message in its bytes without parsing the rest: of a line that is too long to be kept, and of one whose id a number cannot hold. */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN = [0x7b, 0x5b];
const CLOSE = [0x7d, 0x5d];
const isSpace = (byte: number) => byte === 0x20 || byte === 0x09 || byte === 0x0d || byte === 0x0a;

/** Bytes of a key or an id that are kept; no client has a longer id. */
const LONGEST = 1_024;

export interface IdFinder {
  /** Takes the next bytes of the message. */
  push(bytes: Uint8Array): void;
  /** The id as it stands in the message (`7`, `"a"`), once it is complete; undefined where there is none so far. */
  readonly source: string | undefined;
}

/** Follows one message. Only keys of the outermost object count; malformed JSON finds nothing that is not there. */
export function createIdFinder(): IdFinder {
  const utf8 = new TextDecoder();
  let depth = 0;
  let inText = false;
  let escaped = false;
  /** What stands at the outermost level: a key, or the value of the key before it. */
  let place: "key" | "value" = "key";
  let key = "";
  let token: number[] = [];
  let source: string | undefined;

  const close = () => {
    const text = utf8.decode(Uint8Array.from(token));
    token = [];
    if (place === "key") key = text;
    else if (key === '"id"' && text !== "" && text !== "null") source = text;
  };
  const keep = (byte: number) => {
    if (depth === 1 && token.length < LONGEST) token.push(byte);
  };
  const take = (byte: number) => {
    if (inText) {
      keep(byte);
      if (escaped) escaped = false;
      else if (byte === BACKSLASH) escaped = true;
      else if (byte === QUOTE) inText = false;
    } else if (byte === QUOTE) {
      keep(byte);
      inText = true;
    } else if (OPEN.includes(byte)) {
      if (depth === 1) keep(byte); // a value that is no id
      depth++;
    } else if (CLOSE.includes(byte)) {
      if (depth === 1) close();
      depth--;
    } else if (depth === 1 && (byte === COMMA || byte === COLON)) {
      close();
      place = byte === COLON ? "value" : "key";
    } else if (!isSpace(byte)) keep(byte);
  };

  return {
    push(bytes) {
      for (const byte of bytes) {
        if (source !== undefined) return;
        take(byte);
      }
    },
    get source() {
      return source;
    },
  };
}

declare global {
  interface JSON {
    /** Text that `stringify` writes as it is (ECMAScript 2026); the types do not have it yet. */
    rawJSON(text: string): object;
  }
}

/** An id as a value that is written the way it came, however many digits it has; undefined where it is neither text nor a number. */
export function exactId(source: string | undefined): unknown {
  if (source === undefined) return undefined;
  try {
    const id: unknown = JSON.parse(source);
    return typeof id === "string" ? id : typeof id === "number" ? JSON.rawJSON(source) : undefined;
  } catch {
    return undefined;
  }
}
