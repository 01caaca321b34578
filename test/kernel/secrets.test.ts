import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { findSecret, redact, redactedStart } from "../../src/kernel/secrets.ts";

const cases: [text: string, label: string | undefined, offset: number | undefined, redacted: string][] = [
  ["deploy uses ghp_abcdefghijklmnop", "github token", 12, "deploy uses ***"],
  ["Authorization: Bearer eyJhbG.eyJzdWI.SflKxw", "jwt bearer token", 22, "Authorization: Bearer ***"],
  ["DISCORD_TOKEN=abc123xyz", "token field", 0, "DISCORD_TOKEN=***"],
  ["password: hunter2", "password field", 10, "password: ***"],
  ["api_key: sk-live-1234 end", "api key field", 9, "api_key: *** end"],
  ["postgresql://app:s3cr3t@db:5432/brain", "credentials in a url", 0, "postgresql://app:***@db:5432/brain"],
  ["AKIAIOSFODNN7EXAMPLE from the docs", "aws access key id", 0, "*** from the docs"],
  ["ghp_12345678", undefined, undefined, "ghp_12345678"],
  ["ghp_123456789", "github token", 0, "***"],
  ["pwd: hunterpass", undefined, undefined, "pwd: ***"],
  ["ratio 3:1 and done", undefined, undefined, "ratio 3:1 and done"],
  ["sk-1", undefined, undefined, "sk-1"],
  ["max_tokens: 500000", undefined, undefined, "max_tokens: 500000"],
  ["secret_scanning: enabled in the repo", undefined, undefined, "secret_scanning: enabled in the repo"],
  ["task-scheduler-service", undefined, undefined, "task-scheduler-service"],
  ["disk-encryption risk-assessment-2026", undefined, undefined, "disk-encryption risk-assessment-2026"],
  ["use-ghp_abcdefghijklmnop-here", "github token", 0, "use-***"],
  ["client_secret = abcd1234efgh", "secret field", 16, "client_secret = ***"],
  ["aws_secret_access_key=abcd1234efgh", "secret field", 0, "aws_secret_access_key=***"],
  ['{"file":"a.ts","password":"hunter22"}', "password field", 0, '{"file":"a.ts","password":"***"}'],
  ["Authorization: Bearer abcdefghijklmnopqrstuvwx", "bearer token", 22, "Authorization: Bearer ***"],
  ["token ghp_abcd\nefghijklmnop rest", "github token", 6, "token *** rest"],
  ["token sk-ant-api03-Q0490WZq7X\r\nw9Lk3Vb5Nm1PQ0490W rest", "provider api key", 6, "token *** rest"],
  ["name sk-ant-api03-Q0490WZq7X w9Lk3Vb5Nm1PQ0490W rest", "provider api key", 5, "name *** rest"],
  ["ghp_abcdefghijklmnop\nnext line 2", "github token", 0, "***\nnext line 2"],
  ["API_KEY=abc123xyz\nPORT=5432", "api key field", 0, "API_KEY=***\nPORT=5432"],
  ["pass allow_secret: true if this is a false match", undefined, undefined, "pass allow_secret: true if this is a false match"],
  ["密钥 ghp_abcdefghijklmnop", "github token", 3, "密钥 ***"],
  ["notes/eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4.md", "jwt bearer token", 0, "notes/***.md"],
  ["https://h/x?t=eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4&y=1", "jwt bearer token", 0, "https://h/x?t=***&y=1"],
  ["数据库密码：hunter22x", "password field", 0, "数据库密码：***"],
  ["口令: hunter22x", "password field", 4, "口令: ***"],
  ["contraseña=hunter22x", "password field", 0, "contraseña=***"],
  ["mysql --password hunter22x -u root", "password field", 17, "mysql --password *** -u root"],
  ["Authorization: Basic dXNlcjpodW50ZXIyMnh5eg==", "bearer token", 21, "Authorization: Basic ***"],
  ["use sk_test_4eC39HqLyjWDarjtT1zdp7dc", "provider api key", 4, "use ***"],
  ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "webhook secret", 0, "***"],
  ["https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX", "slack webhook", 0, "https://***"],
];

describe("the secret scanner", () => {
  for (const [text, label, offset, redacted] of cases) {
    test(`reads ${JSON.stringify(text)}`, () => {
      expect(findSecret(text)).toEqual(label === undefined ? undefined : { label, offset: offset ?? -1 });
      expect(redact(text)).toBe(redacted);
    });
  }

  for (const prose of [
    "password: not set yet",
    "the token: temporary, expires in 15 minutes",
    "rotate the password after five failures and validate the session token before saving it",
    "commit 4f2d9c1b7a8e3f60512d4c9b8a7f6e5d4c3b2a19 risk-based",
    "da39a3ee5e6b4b0d3255bfef95601890afd80709aaaaaaaaaaaaaaaaaaaaaaaa",
    "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
    "密码：至少八位，需要大写字母和数字，并且每九十天更换一次",
    "password:请至少使用8个字符并且不要写在代码仓库里面",
    "la contraseña: pendiente de definir",
    "Basic authentication is used by the proxy",
    "mysql --password is asked for",
    "https://hooks.slack.com/services/ is where webhooks live",
  ])
    test(`lets ${JSON.stringify(prose)} be stored`, () => expect(findSecret(prose)).toBeUndefined());

  const sha512 = `sha512-${"biOj/6M5qdgx5TKjDnFT1ymSpM5tbd3ylwDtrQvFQSu0Z7bBYko2dF+W/aUkXUPuk6IVpRxk/3Q2sHOzGlS36g"}==`;
  // A package may be called after a credential: its version, itself at a version and its digest are no credential.
  for (const line of [
    '"js-tiktoken": "1.0.21",',
    '"js-tiktoken":"1.0.21"',
    '"js-tiktoken": "^1.0.21-beta.3",',
    `"js-tiktoken": ["js-tiktoken@1.0.21", "", { "dependencies": { "base64-js": "^1.5.1" } }, "${sha512}"],`,
    `"@langchain/core/js-tiktoken": ["js-tiktoken@1.0.21", "", {}, "${sha512}"],`,
    `"@acme/csrf-token": ["@acme/csrf-token@10.0.12", "", {}, "${sha512}"],`,
    '"csrf-token": "npm:@acme/csrf-tokens@10.0.12",',
    '"csrf-token": "workspace:^10.0.12",',
    `"js-tiktoken": "${sha512}"`,
    '"generate-password": "^1.7.12"',
    "js-tiktoken@^1.0.14:",
    "tiktoken==0.12.0",
    "tiktoken>=0.12.0",
    'tiktoken = "^0.12.0"',
    "js-tiktoken:\n    specifier: ^1.0.21\n    version: 1.0.21",
  ])
    test(`lets ${JSON.stringify(line.slice(0, 60))} of a lock file be stored`, () => {
      expect(findSecret(line)).toBeUndefined();
    });

  test("lets the lock file of this repository be stored", () => {
    expect(findSecret(readFileSync(join(import.meta.dir, "../../bun.lock"), "utf8"))).toBeUndefined();
  });

  // What stands where a package's version would, and is none.
  for (const [text, label] of [
    ['"js-tiktoken": "abc123xyz"', "token field"],
    ['"js-tiktoken": "1.0.21-hunter2"', "token field"],
    ['"js-tiktoken": ["hunter@1.0.21", ""]', "token field"],
    ['"js-tiktoken":"hunter@1.0.21"', "token field"],
    ["password: 12.03.1998", "password field"],
    ["password: 12.03.1998-hunter2", "password field"],
    [`password: ${sha512}`, "password field"],
    [`token: ${sha512.slice(0, -3)}`, "token field"],
    ["token: sha512-hunter2hunter2", "token field"],
    ["token: 123456", "token field"],
    ["token: npm:ghp_abcdefghijklmnop@1.0.21", "token field"],
    ["token: 1.0.21 ghp_abcdefghijklmnop", "github token"],
    [`integrity ${sha512} NPM_TOKEN=abc123xyz`, "token field"],
  ] as const)
    test(`refuses ${JSON.stringify(text.slice(0, 60))}`, () => {
      expect(findSecret(text)?.label).toBe(label);
      expect(redact(text)).not.toBe(text);
    });

  test("finds a private key block and hides all of it", () => {
    const text = "key:\n-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----\nend";
    expect(findSecret(text)?.label).toBe("private key");
    expect(redact(text)).toBe("key:\n***\nend");
    const pgp = "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQdGBF\n-----END PGP PRIVATE KEY BLOCK-----\nend";
    expect(findSecret(pgp)?.label).toBe("private key");
    expect(redact(pgp)).toBe("***\nend");
  });

  const fragment = fc.oneof(
    fc.constantFrom(
      "password=",
      "token: ",
      '"js-token": "',
      "1.0.21",
      "npm:a@1.0.21",
      "^",
      "ghp_",
      "eyJ",
      "://",
      "@",
      ":",
      "=",
      " ",
      "\n",
      "AKIA",
      "sk-",
      "Bearer ",
      '"',
      "{",
      "api_key",
    ),
    fc.string({ maxLength: 12 }),
    fc.stringMatching(/^[A-Za-z0-9]{1,24}$/),
  );
  const texts = fc.array(fragment, { maxLength: 12 }).map((parts) => parts.join(""));

  test("whatever the gate refuses, the redactor changes", () => {
    fc.assert(
      fc.property(texts, (text) => findSecret(text) === undefined || redact(text) !== text),
      { numRuns: 2000 },
    );
  });

  test("a masked or empty password in a url is no credential", () => {
    expect(redact("see http://u:p@h/x")).toBe("see http://u:***@h/x");
    expect(findSecret("see http://u:***@h/x")).toBeUndefined();
    expect(findSecret("a://b:@c")).toBeUndefined();
  });

  test("redacting twice is redacting once, and nothing refused is left", () => {
    fc.assert(
      fc.property(texts, (text) => {
        const once = redact(text);
        expect(redact(once)).toBe(once);
        expect(findSecret(once)).toBeUndefined();
      }),
      { numRuns: 2000 },
    );
  });
});

describe("a passphrase in quotes", () => {
  for (const [text, redacted] of [
    ['password: "correct horse battery 9 staple"', "password: ***"],
    ["passphrase: 'tall red lamp 42 runs' # old", "passphrase: *** # old"],
    ['password: "correct horse battery staple"', "password: ***"],
    ['{"password":"correct horse battery 9 staple","user":"ana"}', '{"password":"***","user":"ana"}'],
    ['{"password": "correct horse battery 9 staple"}', '{"password": ***'],
    ["contraseña: 'caballo correcto pila 9 grapa'", "contraseña: ***"],
  ] as const)
    test(`is refused and hidden whole: ${JSON.stringify(text)}`, () => {
      expect(findSecret(text)?.label).toBe("password field");
      expect(redact(text)).toBe(redacted);
    });

  for (const text of [
    'password: "Password must be at least 8 characters"',
    '"password": "Enter your password, 8 to 20 characters"',
    'password: "login of user 12"',
    'password: "see vault entry 12"',
    "password: correct horse battery 9 staple",
    'password: "see step 2"',
    'token: "left paren 2 right"',
    'password: "请输入您的密码"',
    "password: 'la clave de tu cuenta 2'",
  ])
    test(`is none in ${JSON.stringify(text)}`, () => expect(findSecret(text)).toBeUndefined());
});

describe("a password in a comparison", () => {
  for (const text of [
    'if password == "hunter2345"',
    "if (password === 'hunter2345') {",
    'password != "hunter2345"',
    'if (user.password !== "hunter2345")',
  ])
    test(`is refused: ${JSON.stringify(text)}`, () => {
      expect(findSecret(text)?.label).toBe("password field");
      expect(redact(text)).not.toContain("hunter2345");
    });

  for (const text of [
    'if password == "":',
    "if (password === confirmPassword) {",
    "if password != user.password1:",
    'if (type === "password_field_2")',
    'if (password === "undefined")',
    'if token == "refresh_token_v2":',
    'if (token === "abc123xyz") skip();',
    'if (password == "your-password-here")',
  ])
    test(`is none in ${JSON.stringify(text)}`, () => expect(findSecret(text)).toBeUndefined());
});

describe("a pair behind another in one word", () => {
  for (const [text, label, redacted] of [
    ["a=1&token=abc123xyz", "token field", "a=1&token=***"],
    ["https://x.y/z?a=1&token=abc123xyz99&b=2", "token field", "https://x.y/z?a=1&token=***&b=2"],
    ["https://x.y/z?access_token=abc123xyz99", "token field", "https://x.y/z?access_token=***"],
    ["user=ana;password=hunter22x", "password field", "user=ana;password=***"],
    ["user=ana,password=hunter22x", "password field", "user=ana,password=***"],
    ["Server=db;Uid=sa;Pwd=hunter22x;Port=1", "password field", "Server=db;Uid=sa;Pwd=***;Port=1"],
    ["grant_type=password&password=hunter22x", "password field", "grant_type=password&password=***"],
    ["a=1&token=abc123xyz&key=ghp_abcdefghijklmnop", "token field", "a=1&token=***&key=***"],
  ] as const)
    test(`is judged as the first is: ${JSON.stringify(text)}`, () => {
      expect(findSecret(text)?.label).toBe(label);
      expect(redact(text)).toBe(redacted);
    });

  for (const text of [
    "a=1&token=$TOKEN",
    "a=1&token=${TOKEN_V2}&b=2",
    "?page=1&token=",
    "https://x.y/z?page=1&token=<token>",
    "grant_type=password&password=pass",
    "f(a=1,token=config.token2)",
    "a=1,tokens=123456",
  ])
    test(`is none in ${JSON.stringify(text)}`, () => expect(findSecret(text)).toBeUndefined());
});

describe("the start of a redacted text", () => {
  test("is what redacting the whole begins with, wherever it is cut", () => {
    const filler = fc.string({ maxLength: 40 }).map((text) => text.replace(/[^a-z ]/g, "x"));
    fc.assert(
      fc.property(
        fc.array(fc.oneof(filler, fc.constant(" ghp_abcdefghijklmnop "), fc.constant(" password: hunter22x "))),
        fc.nat(200),
        (parts, units) => {
          const text = `${parts.join("")} ${"and so on ".repeat(1_000)}`;
          const start = redactedStart(text, units);
          expect(redact(text).startsWith(start)).toBe(true);
        },
      ),
      { numRuns: 60 },
    );
    expect(redactedStart("password: hunter22x", 13)).toBe("password: ***");
    expect(redactedStart(`${"a".repeat(100)} password=${"b1".repeat(5_000)}`, 120)).toBe(`${"a".repeat(100)} password=***`);
    expect(redactedStart("see ghp_abcdefghijklmnop of it", 12)).toBe("see ");
  });
});
