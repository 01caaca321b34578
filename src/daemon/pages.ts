/** The page at `/` and `/connect`: how to connect a client. Static, holds no data and no script. */
import { randomBytes } from "node:crypto";

/** Headers of every HTML answer (`cli-daemon.md` §4.2). The nonce is drawn for each response, so nothing inline runs that we did not write. */
export function htmlHeaders(nonce: string): Readonly<Record<string, string>> {
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": policy.join("; "),
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
  };
}

export const newNonce = (): string => randomBytes(16).toString("base64");

export interface ConnectFacts {
  /** `http://127.0.0.1:8787` */
  readonly origin: string;
  readonly needsToken: boolean;
  readonly hasPanel: boolean;
}

const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);

/** The page, ready to send. */
export function connectPage({ origin, needsToken, hasPanel }: ConnectFacts): Response {
  const nonce = newNonce();
  const server = {
    type: "http",
    url: `${origin}/mcp`,
    headers: { "Mcp-Client-Id": "my-editor", ...(needsToken ? { Authorization: "Bearer <CUBA_HTTP_TOKEN>" } : {}) },
  };
  const http = JSON.stringify({ mcpServers: { "memory-industry": server } }, null, 2);
  const stdio = JSON.stringify({ mcpServers: { "memory-industry": { command: "memory-industry" } } }, null, 2);
  const token = needsToken
    ? "<p>This daemon wants a token. It is the value of <code>CUBA_HTTP_TOKEN</code> on this machine; the page does not know it.</p>"
    : "";
  const panel = hasPanel ? '<p>The <a href="/panel">panel</a> shows what the daemon is doing.</p>' : "";
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>MemoryIndustry: connect a client</title>
<style nonce="${nonce}">body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem}pre{background:#8881;padding:1rem;overflow:auto}</style>
</head>
<body>
<h1>MemoryIndustry</h1>
<p>The daemon runs. Paste one of these into your client's MCP configuration.</p>
<h2>An editor on this machine</h2>
<p>Nothing to type in twice: <code>memory-industry setup</code> writes it for you.</p>
<pre>${escapeHtml(stdio)}</pre>
<h2>A client that speaks HTTP</h2>
<p>Give each client its own <code>Mcp-Client-Id</code>: sessions are kept by it.</p>
<pre>${escapeHtml(http)}</pre>
${token}${panel}
<p>State: <a href="/health"><code>/health</code></a></p>
</body>
</html>
`;
  return new Response(html, { headers: htmlHeaders(nonce) });
}
