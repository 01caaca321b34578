/**
 * Fetches one page from the public internet. Redirects are followed by hand, and at every hop the host's addresses are looked up once, all of them must be
 * public, and the connection goes to the address that was checked: a second lookup could answer something else (DNS rebinding).
 */
import { lookup } from "node:dns/promises";
import http from "node:http";
import https from "node:https";
import { isIP } from "node:net";
import { beforeAbort } from "../kernel/deadline.ts";
import { MemoryError, refused, unavailable } from "../kernel/errors.ts";
import type { FetchPage } from "./port.ts";
import { isPublicAddress } from "./public-address.ts";

const MOST_REDIRECTS = 5;
/** Of a page; documentation pages have some hundred KiB. */
const MOST_BYTES = 2 * 1_048_576;

export interface Reply {
  readonly status: number;
  readonly location: string | undefined;
  readonly contentType: string;
  /** At most {@link MOST_BYTES}. */
  readonly body: Uint8Array;
}

/** The two things that touch the network. */
export interface Network {
  /** Every address of a host. The system's lookup cannot be broken off: who waits for it leaves. */
  resolve(host: string): Promise<readonly string[]>;
  /** GET from exactly this address, under the host name of the URL. */
  get(url: URL, address: string, signal: AbortSignal): Promise<Reply>;
}

const NOTHING = "Nothing was stored.";

export const createFetchPage =
  (network: Network): FetchPage =>
  async (start, signal) => {
    let url = new URL(start);
    for (let hop = 0; hop <= MOST_REDIRECTS; hop++) {
      const address = await checkedAddress(network, url, signal, hop > 0);
      const reply = await beforeAbort(signal, network.get(url, address, signal)).catch((cause: unknown) => {
        if (cause instanceof MemoryError) throw cause;
        throw unavailable(
          `${url.host} ${signal.aborted ? "did not answer in time" : "could not be reached"}. ${NOTHING} Try again later.`,
          { cause },
        );
      });
      if (reply.status >= 300 && reply.status < 400 && reply.location !== undefined) {
        url = nextUrl(reply.location, url);
        continue;
      }
      if (reply.status < 200 || reply.status >= 300) throw unavailable(`${url.host} answered with status ${reply.status}. ${NOTHING}`);
      if (!/^text\/|xhtml/i.test(reply.contentType)) throw unavailable(`${url.host} answered with something that is no text. ${NOTHING}`);
      return { url: url.href, html: decode(reply) };
    }
    throw unavailable(`${url.host} redirects more than ${MOST_REDIRECTS} times. ${NOTHING}`);
  };

function nextUrl(location: string, from: URL): URL {
  if (!URL.canParse(location, from.href)) throw unavailable(`${from.host} redirects to something that is no address. ${NOTHING}`);
  return new URL(location, from.href);
}

async function checkedAddress(network: Network, url: URL, signal: AbortSignal, isRedirect: boolean): Promise<string> {
  const what = isRedirect ? `A redirect to ${url.host} was not followed` : `${url.host} was not asked`;
  const no = (why: string) => refused(`${what}: ${why}. ${NOTHING}`);
  if (url.protocol !== "https:" && url.protocol !== "http:") throw no(`${url.protocol} is neither http nor https`);
  if (url.username !== "" || url.password !== "") throw no("it carries credentials");
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const addresses =
    isIP(host) === 0
      ? await beforeAbort(signal, network.resolve(host)).catch((cause: unknown) => {
          const late = signal.aborted ? " in time" : "";
          throw unavailable(`The address of ${host} could not be found out${late}. ${NOTHING} Is this machine on the network?`, { cause });
        })
      : [host];
  const [first] = addresses;
  if (first === undefined) throw unavailable(`${host} has no address. ${NOTHING}`);
  if (!addresses.every(isPublicAddress)) throw no("it lies on this machine or in its network");
  return first;
}

/** UTF-8, but for the one other encoding that pages still declare. */
function decode({ contentType, body }: Reply): string {
  const isLatin = /charset=["']?(iso-8859-1|latin-?1|windows-1252)\b/i.test(contentType);
  return new TextDecoder(isLatin ? "windows-1252" : "utf-8").decode(body);
}

/** The real network. */
export const internet: Network = {
  resolve: async (host) => (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address),
  get: (url, address, signal) =>
    new Promise((resolve, reject) => {
      const family = isIP(address);
      const request = (url.protocol === "https:" ? https : http).get(
        url,
        {
          signal,
          agent: false,
          headers: { accept: "text/html, text/plain;q=0.8", "user-agent": "memory-industry" },
          // The name stands in the request and in the certificate check; the connection goes to the address that was checked.
          lookup: (_host, options, done) => {
            if (options.all === true) done(null, [{ address, family }]);
            else done(null, address, family);
          },
        },
        (answer) => {
          const parts: Buffer[] = [];
          let size = 0;
          const finish = () => {
            const { location, "content-type": contentType = "text/html" } = answer.headers;
            resolve({ status: answer.statusCode ?? 0, location, contentType, body: Buffer.concat(parts).subarray(0, MOST_BYTES) });
          };
          answer.on("data", (part: Buffer) => {
            parts.push(part);
            size += part.length;
            if (size < MOST_BYTES) return;
            finish();
            answer.destroy();
          });
          answer.on("end", finish);
          answer.on("error", reject);
        },
      );
      request.on("error", reject);
    }),
};
