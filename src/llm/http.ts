/** A JSON request to a chat service: bounded answer, no redirect (a key goes to the address that was chosen and to no other). */
import { unavailable } from "../kernel/errors.ts";
import { chatFailure, refusedBy } from "./failures.ts";

/** A verdict is a line; what is longer than this is no answer to us. */
const MOST_BYTES = 1_048_576;

export interface JsonPost {
  readonly what: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** @returns the decoded answer of a 2xx. @throws MemoryError */
export async function postJson({ what, url, headers, body }: JsonPost, signal: AbortSignal): Promise<unknown> {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(body),
      redirect: "error",
      signal,
    });
    const text = await limitedText(response, what);
    const json = parsed(text);
    if (!response.ok) throw refusedBy(what, response.status, json);
    if (json === undefined) throw unavailable(`${what} answered with something that is not JSON.`);
    return json;
  } catch (error) {
    throw chatFailure(what, error, signal);
  }
}

async function limitedText(response: Response, what: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MOST_BYTES) throw unavailable(`${what} answered with more than ${MOST_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
