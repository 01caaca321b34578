/** Secrets that a sentence tells, in three languages and in XML; and the same sentences without one, which must stay storable. */
import { describe, expect, test } from "bun:test";
import { findSecret, redact } from "../../src/kernel/secrets.ts";

describe("a sentence that tells a secret", () => {
  for (const [text, redacted] of [
    ["La contraseña del servidor es Abc12345!xyz y no cambia", "La contraseña del servidor es *** y no cambia"],
    ["The admin password is Abc12345!xyz and stays", "The admin password is *** and stays"],
    ["生产环境的密码是 301vCVJqYTyU3jMdkaT1mWtl，请不要外传", "生产环境的密码是 ***"],
    ["密码是301vCVJqYTyU3jMdkaT1mWtl。", "密码是***。"],
    ["API密钥：301vCVJqYTyU3jMdkaT1mWtl", "API密钥：***"],
    ["令牌: 301vCVJqYTyU3jMdkaT1mWtl", "令牌: ***"],
    ["clave de API: 301vCVJqYTyU3jMdkaT1mWtl", "clave de API: ***"],
    ["contrasena: hunter22x", "contrasena: ***"],
    ["API key: 301vCVJqYTyU3jMdkaT1mWtl", "API key: ***"],
    ["The access key of the build is 301vCVJqYTyU3jMdkaT1mWtl", "The access key of the build is ***"],
    ["<password>hunter2345</password>", "<password>***</password>"],
    ["<server><id>x</id><password>301vCVJqYTyU3j</password></server>", "<server><id>x</id><password>***</password></server>"],
  ] as const)
    test(`is refused, and hidden: ${text}`, () => {
      expect(findSecret(text)).toBeDefined();
      expect(redact(text)).toBe(redacted);
      expect(redact(redacted)).toBe(redacted);
    });

  for (const [name, label] of [
    ["密码", "password field"],
    ["口令", "password field"],
    ["密钥", "secret field"],
    ["令牌", "token field"],
  ] as const)
    for (const blank of ["", " "])
      test(`is called what it is, a ${label}: ${name}是${blank}`, () => {
        expect(findSecret(`生产环境的${name}是${blank}301vCVJqYTyU3jMdkaT1mWtl`)?.label).toBe(label);
      });

  for (const text of [
    "The password is hashed with PBKDF2WithHmacSHA256",
    "The password algorithm is PBKDF2WithHmacSHA256",
    "la contraseña es obligatoria (mínimo 8 caracteres)",
    "the secret is stored in AWS_SECRET_V2_NAME",
    "the session token is b8bc97fc-6b85-4ba2-98c7-1877d8a037dd",
    "The token expired. The build is 301vCVJqYTyU3jMdkaT1mWtl",
    "the password is user@Host1.com's",
    "密码是加密的，使用 Argon2id",
    "API密钥：存放在环境变量 OPENAI_API_KEY 中",
    "令牌桶算法：每秒1000个请求",
    "<password>${db.password}</password>",
    "<token>string</token>",
    "<secret>your-secret-here</secret>",
    "API key: process.env.OPENAI_API_KEY",
    "clave de API: se guarda en la bóveda",
    "access key: stored in ~/.aws/credentials",
    "private key: /etc/ssl/private/server1.pem",
    "secret key: base64-encoded 32 bytes",
    "el token es válido 24h",
    "primary key: user_id_2024",
  ])
    test(`is not one about secrets: ${text}`, () => expect(findSecret(text)).toBeUndefined());
});
