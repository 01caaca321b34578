/** Tokens of providers, made up but of the right form: refused wherever they stand, and what only begins like one is not. */
import { describe, expect, test } from "bun:test";
import { findSecret, redact } from "../../src/kernel/secrets.ts";

const hex = (length: number) => "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0".slice(0, length);
const mixed = (length: number) =>
  "q7Rk2Wm9Xv4Zt6Yb1Nc8Pd3Lf5Hg0Js7Ka2Qw9Er4Ty6Ui1Op8As3Df5Gh0Jk7Lz2Xc9Vb4Nm6Qq1Ww8Ee3Rr5Tt0Yy".slice(0, length);

const tokens: readonly (readonly [label: string, token: string])[] = [
  ["google token", `GOCSPX-${mixed(28)}`],
  ["google token", `ya29.${mixed(60)}`],
  ["gitlab token", `glrt-${mixed(20)}`],
  ["slack token", `xoxe-${mixed(40)}`],
  ["sendgrid key", `SG.${mixed(22)}.${mixed(43)}`],
  ["mailgun key", `key-${hex(32)}`],
  ["mailchimp key", `${hex(32)}-us12`],
  ["pypi token", `pypi-AgEIcHlwaS5vcmc${mixed(60)}`],
  ["telegram token", `4253969561:AA${mixed(33)}`],
  ["discord token", `M${mixed(23)}.${mixed(6)}.${mixed(38)}`],
  ["shopify token", `shpat_${hex(32)}`],
  ["databricks token", `dapi${hex(32)}`],
  ["linear key", `lin_api_${mixed(40)}`],
  ["notion token", `ntn_${mixed(46)}`],
  ["airtable token", `pat${mixed(14)}.${hex(64)}`],
  ["vault token", `hvs.${mixed(90)}`],
  ["terraform token", `${mixed(14)}.atlasv1.${mixed(67)}`],
  ["doppler token", `dp.pt.${mixed(43)}`],
  ["provider api key", `gsk_${mixed(52)}`],
  ["provider api key", `pplx-${mixed(48)}`],
  ["provider api key", `xai-${mixed(80)}`],
  ["replicate token", `r8_${mixed(37)}`],
  ["new relic key", `NRAK-${mixed(60).toUpperCase().slice(0, 27)}`],
  ["postman key", `PMAK-${hex(24)}-${hex(34)}`],
  ["docker token", `dckr_pat_${mixed(27)}`],
  ["supabase token", `sbp_${hex(40)}`],
  ["planetscale token", `pscale_tkn_${mixed(43)}`],
  ["square token", `sq0atp-${mixed(22)}`],
  ["grafana token", `glsa_${mixed(32)}_${hex(8)}`],
  ["azure secret", `abc8Q~${mixed(34)}`],
];

describe("a token of a provider", () => {
  for (const [label, token] of tokens)
    test(`that is a ${label} is found in prose of three languages, in an address and in code, and hidden`, () => {
      for (const text of [
        `use ${token} here`,
        `令牌在这里，${token}`,
        `el valor «${token}» caduca`,
        `https://h.example/x?k=${token}`,
        `call("${token}")`,
      ]) {
        expect([text, findSecret(text)?.label]).toEqual([text, label]);
        expect(redact(text)).not.toContain(token.slice(-16));
      }
    });

  for (const harmless of [
    "SG.md and pypi-server and pat.example.org",
    "the key-value-store holds key-by-key data",
    "dapi-gateway, hvs.service.internal, ntn_config, xai-explainability-toolkit",
    `digest ${hex(32)}-user and ${hex(40)}`,
    "at 12345678:AAA and 10:30:AA",
    "www.example.org/Mozilla.docs.index.html",
    "GOCSPX-your-client-secret-here",
    "pplx-api and r8_config and gsk_settings and figd_plugin",
  ])
    test(`is not what only begins like one: ${harmless}`, () => expect(findSecret(harmless)).toBeUndefined());
});
