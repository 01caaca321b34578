import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { findSecret, redact } from "../../src/kernel/secrets.ts";

describe("a value that only refers to a secret", () => {
  for (const text of [
    "token: process.env.TOKEN_V2",
    "const token = process.env.TOKEN_V2!;",
    'let secret = std::env::var("APP_SECRET")?;',
    "API_KEY=process.env.API_KEY_2",
    "password = os.environ['DB_PASSWORD']",
    'alert says: password = os.environ[\\"DB_PASSWORD\\"]\\nfollows',
    'api_key = os.getenv("API_KEY_2")',
    'api_key = os.getenv("API_KEY_2", "none")',
    'password = config["password_2"] ?? ""',
    "password: z.string().min(12)",
    'password: z.string().min(12, "Password must be at least 12 characters"),',
    "{ password: z.string().min(12), name: z.string() }",
    "password varchar(255)",
    "password: varchar(255) not null",
    "password = req.body.password1",
    "password: user.password1, name: user.name",
    "token = parser.next2()",
    "{token:parser.next2()}",
    "token: Token(kind=1)",
    "token = tokens[100000]",
    "secret = crypto.randomBytes(32).toString('base64')",
    "token = process.env.TOKEN_V2 || config.token2",
    "pwd=/srv/www/site2",
    "PWD=/srv/www/site2",
    "the pwd: /home/user1/x",
    "pwd: /code/site2/build.",
    "pwd: C:\\Users\\user1\\site",
    "password: /run/secrets/db_password1",
    "secret = ./secrets/db2.txt",
    'password: "${DB_PASSWORD_2}"',
    '{"token":"${TOKEN_V2_NAME}"}',
    "PASSWORD=${DB_PASSWORD_2}",
    "PASSWORD=$DB_PASSWORD_2",
    "token: ${{secrets.GITHUB_TOKEN}}",
    "num_token = 500000",
    "max_token: 131072",
    "token: 128000",
    "token: 1,048,576",
    "token: 2026-11-30",
    "token: 2026-11-30T10:00:00Z",
    'password := flag.String("password", "", "database password")',
    'secret = client.access_secret_version(name=f"projects/{p}/secrets/{s}/versions/latest")',
    'secret = get_secret_value(SecretId="prod/db/credentials")',
    'password = keyring.get_password("service1", "user1")',
    'const password = await keytar.getPassword("service1", "account1");',
    'password = keyring.get_password("https://git.example.com", "user1")',
    "Authorization: `Bearer ${process.env.GITHUB_TOKEN_2}`",
    "Authorization: Bearer $ACCESS_TOKEN_FROM_STEP",
  ])
    test(`lets ${JSON.stringify(text)} be stored`, () => expect(findSecret(text)).toBeUndefined());

  for (const [text, label] of [
    ["password = hunter22x", "password field"],
    ['{"password":"hunter22x"}', "password field"],
    ['password="a.b(c)9"', "password field"],
    ["password = 'req.body.password1'", "password field"],
    ['password: "config(9).token"', "password field"],
    ['password="/home/user1/x"', "password field"],
    ["PASSWORD=/9fk2+Ab3==", "password field"],
    ["PASSWORD=correct.horse9", "password field"],
    ["PASSWORD=config.horse9", "password field"],
    ["DB_PASSWORD=horse(staple)9", "password field"],
    ["PORT=5432\nDB_PASSWORD=a.b(c)9\nTZ=UTC", "password field"],
    ["password: correct.horse9", "password field"],
    ["password: my.password1", "password field"],
    ["password: abc(def)9", "password field"],
    ["password: hunter22(x)", "password field"],
    ["token: MTk4NjIyNDg3.Cl2FMQ.ZnCjm1X", "token field"],
    ['token = os.getenv("API_KEY_2", "hunter22x")', "token field"],
    ['let secret = std::env::var("APP_SECRET").unwrap_or("hunter22x".into())?;', "secret field"],
    ['password = is_local()? "hunter22x" : env_password();', "password field"],
    ['token = process.env.TOKEN_V2 || "hunter22x"', "token field"],
    ["token = process.env.TOKEN_V2 || hunter22x", "token field"],
    ["PASSWORD=${DB_PASSWORD:-hunter22x}", "password field"],
    ['password = decrypt("hunter22x9")', "password field"],
    ["password: Token(kind=hunter22x)", "password field"],
    ["token: read(ghp_abcdefghijklmnop)", "token field"],
    ["token: ${ghp_abcdefghijklmnop}", "token field"],
    ['{"token":"${ghp_abcdefghijklmnop}"}', "token field"],
    ["password: req.body.name,token:hunter22x", "password field"],
    ["pwd=/srv/www;password=hunter22x", "password field"],
    ["pwd=/srv/www/9fk2Ab3x9Q", "password field"],
    ["password: 2026-11-30", "password field"],
    ["password: 500000", "password field"],
    ["api_key: 84629173", "api key field"],
    ['password := flag.String("password", "hunter22x", "database password")', "password field"],
    ['password := flag.String("password", "", "correct horse 9 staple")', "password field"],
    ['secret = client.access_secret_version(name="projects/{p}/9fk2Ab3x9Q")', "secret field"],
    ['password = get_password("service", "hunter22x")', "password field"],
    ['password = get_password("hunter22x")', "password field"],
    ['password = get_password("service", default="hunter22x")', "password field"],
    ['password = keyring.get_password("service1", "9fk2Ab3x9Q")', "password field"],
    ['password = keyring.get_password("service1", "user1") or "hunter22x"', "password field"],
    ['password = keyring.get_password("service1", "user1", "hunter22x")', "password field"],
    ["Authorization: Bearer ${9fk2Ab3x9QzzT1abcdefg}", "bearer token"],
    ["Authorization: Bearer $9fk2Ab3x9QzzT1abcdefg", "bearer token"],
  ] as const)
    test(`is told from one that may be it: ${JSON.stringify(text)}`, () => expect(findSecret(text)?.label).toBe(label));

  const key = fc.constantFrom("password", "db_password", "token", "clientSecret", "api_key", "accessToken");
  const separated = fc.constantFrom(" = ", ": ", "=", ":");
  const word = fc.constantFrom("user", "session", "parser", "next", "body", "field", "login", "header", "store");
  const name = fc.tuple(word, fc.constantFrom("", "1", "2", "Name", "_v2")).map((parts) => parts.join(""));
  const root = fc.constantFrom("req", "this", "config", "ctx", "process.env", "opts");
  const members = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join("."));
  const reference = fc.oneof(
    fc.tuple(root, members).map(([from, path]) => `${from}.${path}`),
    fc
      .tuple(word, members, fc.constantFrom("", "1", "12", "kind=1", "user.field1"))
      .map(([of, path, args]) => `${of}.${path.replace(/\d+$/, "")}(${args})`),
    fc.constantFrom("DB_PASSWORD", "TOKEN_V2", "API_KEY_2").map((variable) => `os.environ["${variable}"]`),
    fc
      .tuple(fc.constantFrom("/home", "/srv", "/etc", "~", "."), fc.array(name, { minLength: 1, maxLength: 4 }))
      .map(([top, path]) => `${top}/${path.join("/")}`),
    members.map((path) => `\${${path}}`),
  );
  const ending = fc.constantFrom("", ",", ";", " # as before", "\nnext line");

  test("any reference can be stored under any key", () => {
    fc.assert(
      fc.property(key, separated, reference, ending, (of, sign, value, end) => {
        expect(findSecret(of + sign + value + end)).toBeUndefined();
      }),
      { numRuns: 1000 },
    );
  });

  // Ends in a digit and a letter, so that no name, number or closed call comes out by chance.
  const secret = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9.()/+]{5,20}[0-9][a-z]$/);
  const dotted = fc.stringMatching(/^[b-df-hj-np-tv-z]{4,9}\.[b-df-hj-np-tv-z]{4,9}[0-9]{2}$/);
  const password = fc.constantFrom("password", "DB_PASSWORD", "passwd", "clientSecret", "pwd");

  test("a secret is refused quoted, in JSON, in an environment file, bare, and as the default behind a reference", () => {
    fc.assert(
      fc.property(password, separated, secret, dotted, reference, fc.constantFrom('"', "'", "`"), (of, sign, value, dots, code, quote) => {
        const plain = value.replace(/[^A-Za-z0-9]/g, "x");
        for (const text of [
          `${of}${sign}${quote}${value}${quote}`,
          `${of}${sign}${quote}${code}${quote} ${of}=${plain}`,
          JSON.stringify({ name: "a", [of]: value }),
          JSON.stringify({ name: "a", [of]: value }, null, 2),
          `PORT=5432\nDB_PASSWORD=${value}\nTZ=UTC`,
          `${of}${sign}${plain}`,
          `${of}${sign}${dots}`,
          `DB_PASSWORD=${dots}`,
          `${of} = process.env.DB_PASSWORD || ${quote}${value}${quote}`,
          `${of} = os.getenv("DB_PASSWORD", ${quote}${value}${quote})`,
          `${of} = decrypt(${quote}${value}${quote})`,
          `PASSWORD=\${DB_PASSWORD:-${plain}}`,
        ]) {
          expect([text, findSecret(text) === undefined]).toEqual([text, false]);
          expect(redact(text)).not.toBe(text);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("every provider's token is refused inside of code as well", () => {
    for (const token of [
      "ghp_abcdefghijklmnop",
      "glpat-abcdefghij12",
      "xoxb-1234567890-abc",
      "AKIAIOSFODNN7EXAMPLE",
      `AIza${"b1".repeat(16)}`,
      `npm_${"aB1".repeat(12)}`,
      `hf_${"aB1".repeat(10)}`,
      `sk_live_${"aB1".repeat(8)}`,
      `sk-ant-${"aB1".repeat(8)}`,
      "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4",
      "postgres://app:hunter22x@db/brain",
    ])
      for (const text of [
        token,
        `token = ${token}`,
        `TOKEN=${token}`,
        `token = read("${token}")`,
        `token: read(${token})`,
        `{"token":"${token}"}`,
        `pwd=/home/${token}`,
      ])
        expect([text, findSecret(text) === undefined]).toEqual([text, false]);
  });
});

describe("code that hands a secret on under its own name", () => {
  for (const text of [
    "self.master_user_password = master_user_password",
    "self._fail_on_invalid_token = fail_on_invalid_token",
    "f(client_request_token=client_request_token)",
    "client_request_token=client_request_token,",
    "new Foo({ masterUserPassword: master_user_password })",
    'WaitForTaskToken = "waitForTaskToken"',
    "see `client_request_token=client_request_token`. It is handed on.",
    "POSTGRES_ROOT_PASSWORD=POSTGRES_ROOT_PASSWORD",
    "token = token[:-1]",
    'password = password.encode("latin1")',
    "def f(password: Optional[HiddenText] = None):",
  ])
    test(`is none in ${JSON.stringify(text)}`, () => expect(findSecret(text)).toBeUndefined());

  for (const [text, label] of [
    ["self.master_user_password = master_user_password1", "password field"],
    ["POSTGRES_ROOT_PASSWORD=postgresrootpassword", "password field"],
    ["db_password = other_root_password", "password field"],
    ['password = f("latin1x9")', "password field"],
    ["token = a9f3k2[-1]", "token field"],
    ["password: Optional[hunter2hunter2x]", "password field"],
  ] as const)
    test(`is one in ${JSON.stringify(text)}`, () => expect(findSecret(text)?.label).toBe(label));
});
