import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { findSecret, redact } from "../../src/kernel/secrets.ts";

describe("a text in the place of a secret", () => {
  for (const text of [
    "API_KEY=your-api-key-here",
    'api_key = "your_api_key_here"',
    "API_KEY=<your-api-key>",
    "api_key: <your token here>",
    "token=<insert-your-token-here>",
    'password: "<YOUR_PASSWORD_HERE>"',
    "PASSWORD=changeme",
    "password=REPLACE_ME_WITH_PASSWORD",
    "password: placeholder-password",
    "API_KEY=YOUR_API_KEY_HERE",
    "apiKey: YourOpenaiApiKeyHere",
    "API_KEY=TU_CLAVE_AQUI",
    "api_key=inserta-tu-clave-aqui",
    "密码: 你的密钥",
    "token=xxxxxxxxxxxxxxxxxxxx",
    "token: XXXX-XXXX-XXXX-XXXX-XXXX",
    "OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxx",
    "GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxx",
    "GITHUB_TOKEN=ghp_your_token_here",
    "Authorization: Bearer <your-access-token-goes-here>",
    '{"token":"your-access-token-here"}',
  ])
    test(`can be stored: ${JSON.stringify(text)}`, () => expect(findSecret(text)).toBeUndefined());

  for (const text of [
    "API_KEY=your-9fk2Ab3x9QzzT1",
    "API_KEY=your-api-key-9fk2Ab3x9Q",
    "API_KEY=your-api-key-here,9fk2Ab3x9Q",
    'API_KEY="your-api-key-here" or "9fk2Ab3x9Q"',
    "token=<9fk2Ab3x9QzzT1>",
    "token=<your-9fk2Ab3x9QzzT1>",
    "token=xxxx9fk2Ab3xxxx1",
    "token=xxxxxxxxhorsestaple",
    "password=changeme-hunter22x",
    "password: changeme123",
    "password=secret-database-access-key",
    "GITHUB_TOKEN=ghp_your_token_9fk2Ab3x9Q",
    "ghp_xxxxxxxxxxxxxxx9fk2",
    "Authorization: Bearer your-access-token-9fk2Ab3x9Q",
    '{"token":"your-9fk2Ab3x9QzzT1"}',
  ])
    test(`is none where anything else is in it: ${JSON.stringify(text)}`, () => {
      expect(findSecret(text)).toBeDefined();
      expect(redact(text)).not.toContain("9fk2");
    });

  const beginning = fc.constantFrom("your-", "YOUR_", "<your-", "insert-", "xxxx-", "replace-me-", "tu-clave-", "example.");
  const tail = fc.stringMatching(/^[A-Za-z0-9]{8,24}[0-9][A-Za-z]$/);
  test("a secret behind a word of such a text is refused", () => {
    fc.assert(
      fc.property(beginning, tail, fc.constantFrom("", "-here", "_HERE>"), (before, value, after) => {
        expect([before, value, findSecret(`API_KEY=${before}${value}${after}`)?.label]).toEqual([before, value, "api key field"]);
      }),
      { numRuns: 500 },
    );
  });
});
