/** How the tokens of providers begin. Each entry is what its provider documents, or what scanners of leaked keys look for. */

export interface ProviderToken {
  /** Where it is looked for; `text` and what `behind` matches before it are part of the token. */
  readonly text: string;
  readonly label: string;
  /** Matches only where no letter, digit or `-` stands before it. */
  readonly boundary?: boolean;
  /** What must follow directly, instead of the usual "more than eight characters". */
  readonly follows?: RegExp;
  /** What must stand directly before it, for tokens that are known by their middle. Anchored at its end, of bounded length. */
  readonly behind?: RegExp;
}

/** UTF-16 units that `behind` is tried on. */
export const LONGEST_BEHIND = 40;

const upperOrDigit = /^[A-Z0-9]{9,}/;
const providerKey = "provider api key";
const github = "github token";
// The first capital or digit is looked for no farther than any such token is long: without an end, each prefix of a word would read the whole rest of it.
const mixedWord = /^(?=[a-z]{0,200}[0-9A-Z])[A-Za-z0-9]{16,}/;

export const tokens: readonly ProviderToken[] = [
  { text: "sk-ant-", label: providerKey },
  { text: "sk-proj-", label: providerKey },
  { text: "sk-live-", label: providerKey },
  // `sk-` alone stands inside ordinary words (task-scheduler, risk-based): it needs an edge and a tail that no word has.
  { text: "sk-", label: providerKey, boundary: true, follows: /^(?=[a-z_-]{0,200}[0-9A-Z])[A-Za-z0-9_-]{16,}/ },
  { text: "sk_live_", label: providerKey },
  { text: "rk_live_", label: providerKey },
  { text: "sk_test_", label: providerKey, follows: /^[A-Za-z0-9]{16,}/ },
  { text: "rk_test_", label: providerKey, follows: /^[A-Za-z0-9]{16,}/ },
  { text: "whsec_", label: "webhook secret", boundary: true, follows: /^(?=[a-z+/]{0,200}[0-9A-Z])[A-Za-z0-9+/]{16,}/ },
  { text: "ghp_", label: github },
  { text: "gho_", label: github },
  { text: "ghs_", label: github },
  { text: "ghu_", label: github },
  { text: "ghr_", label: github },
  { text: "github_pat_", label: github },
  { text: "glpat-", label: "gitlab token" },
  { text: "npm_", label: "npm token", boundary: true, follows: mixedWord },
  { text: "hf_", label: "model hub token", boundary: true, follows: mixedWord },
  { text: "xoxb-", label: "slack token" },
  { text: "xoxp-", label: "slack token" },
  { text: "xoxa-", label: "slack token" },
  { text: "xapp-", label: "slack token" },
  { text: "hooks.slack.com/services/", label: "slack webhook", follows: /^T[A-Z0-9]+\/B[A-Z0-9]+\/[A-Za-z0-9]{16,}/ },
  { text: "AKIA", label: "aws access key id", follows: upperOrDigit },
  { text: "ASIA", label: "aws access key id", boundary: true, follows: upperOrDigit },
  { text: "AIza", label: "google api key", boundary: true, follows: /^[A-Za-z0-9_-]{20,}/ },
  { text: "dop_v1_", label: "digitalocean token" },
];

const google = "google token";
const gitlab = "gitlab token";
const shopify = "shopify token";
const hex32 = /^[0-9a-f]{32}/;

/** Those that are always {@link SHORTEST_LONG} or longer: most words of a text are shorter and are not looked at for them. */
export const longTokens: readonly ProviderToken[] = [
  { text: "GOCSPX-", label: google, follows: /^[\w-]{20,}/ },
  { text: "ya29.", label: google, boundary: true, follows: /^[\w-]{24,}/ },
  { text: "glrt-", label: gitlab, boundary: true, follows: /^(?=[a-z_-]{0,40}[0-9A-Z])[\w-]{20,}/ },
  { text: "gldt-", label: gitlab, boundary: true, follows: /^(?=[a-z_-]{0,40}[0-9A-Z])[\w-]{20,}/ },
  { text: "glptt-", label: gitlab, boundary: true, follows: /^[0-9a-f]{40}/ },
  { text: "xoxe.", label: "slack token", follows: /^xox[bp]-/ },
  { text: "xoxe-", label: "slack token", follows: /^[\w-]{24,}/ },
  { text: "SG.", label: "sendgrid key", boundary: true, follows: /^[\w-]{16,32}\.[\w-]{32,}/ },
  { text: "key-", label: "mailgun key", boundary: true, follows: /^[0-9a-f]{32}(?![\w-])/ },
  { text: "-us", label: "mailchimp key", behind: /[0-9a-f]{32}$/, follows: /^[0-9]{1,2}(?!\w)/ },
  { text: "pypi-", label: "pypi token", boundary: true, follows: /^AgE[\w-]{24,}/ },
  { text: ":AA", label: "telegram token", behind: /(?<![0-9])[0-9]{8,10}$/, follows: /^[\w-]{33}(?![\w-])/ },
  { text: ".", label: "discord token", behind: /(?<![\w-])[MNO][\w-]{23,25}$/, follows: /^[\w-]{6}\.[\w-]{27,}/ },
  { text: "shpat_", label: shopify, follows: /^[0-9a-fA-F]{32}/ },
  { text: "shpss_", label: shopify, follows: /^[0-9a-fA-F]{32}/ },
  { text: "shpca_", label: shopify, follows: /^[0-9a-fA-F]{32}/ },
  { text: "shppa_", label: shopify, follows: /^[0-9a-fA-F]{32}/ },
  { text: "dapi", label: "databricks token", boundary: true, follows: hex32 },
  { text: "lin_api_", label: "linear key", follows: /^[A-Za-z0-9]{32,}/ },
  { text: "ntn_", label: "notion token", boundary: true, follows: /^[A-Za-z0-9]{40,}/ },
  { text: "pat", label: "airtable token", boundary: true, follows: /^[A-Za-z0-9]{14}\.[0-9a-f]{64}/ },
  { text: "hvs.", label: "vault token", boundary: true, follows: /^[\w-]{24,}/ },
  { text: "hvb.", label: "vault token", boundary: true, follows: /^[\w-]{24,}/ },
  { text: ".atlasv1.", label: "terraform token", behind: /(?<![A-Za-z0-9])[A-Za-z0-9]{14}$/, follows: /^[\w-]{60,}/ },
  { text: "dp.pt.", label: "doppler token", boundary: true, follows: /^[A-Za-z0-9]{40,}/ },
  { text: "dp.ct.", label: "doppler token", boundary: true, follows: /^[A-Za-z0-9]{40,}/ },
  { text: "dp.sa.", label: "doppler token", boundary: true, follows: /^[A-Za-z0-9]{40,}/ },
  { text: "gsk_", label: providerKey, boundary: true, follows: /^[A-Za-z0-9]{40,}/ },
  { text: "pplx-", label: providerKey, boundary: true, follows: /^[A-Za-z0-9]{40,}/ },
  { text: "xai-", label: providerKey, boundary: true, follows: /^[A-Za-z0-9]{60,}/ },
  { text: "nvapi-", label: providerKey, boundary: true, follows: /^[\w-]{40,}/ },
  { text: "tvly-", label: providerKey, boundary: true, follows: /^(?=[a-z-]{0,40}[0-9A-Z])[\w-]{20,}/ },
  { text: "lsv2_", label: providerKey, boundary: true, follows: /^[ps][tk]_[0-9a-f]{32}_[0-9a-f]{10}/ },
  { text: "r8_", label: "replicate token", boundary: true, follows: /^[A-Za-z0-9]{37}/ },
  { text: "sntrys_", label: "sentry token", follows: /^[\w+/=-]{40,}/ },
  { text: "sntryu_", label: "sentry token", follows: /^[0-9a-f]{64}/ },
  { text: "NRAK-", label: "new relic key", follows: /^[A-Z0-9]{27}/ },
  { text: "PMAK-", label: "postman key", follows: /^[0-9a-f]{24}-[0-9a-f]{34}/ },
  { text: "dckr_pat_", label: "docker token", follows: /^[\w-]{20,}/ },
  { text: "dckr_oat_", label: "docker token", follows: /^[\w-]{20,}/ },
  { text: "fo1_", label: "fly token", boundary: true, follows: /^[\w-]{40,}/ },
  { text: "sbp_", label: "supabase token", boundary: true, follows: /^[0-9a-f]{40}/ },
  { text: "sb_secret_", label: "supabase token", boundary: true, follows: /^[\w-]{20,}/ },
  { text: "pscale_tkn_", label: "planetscale token", follows: /^[\w=.-]{32,}/ },
  { text: "pscale_pw_", label: "planetscale token", follows: /^[\w=.-]{32,}/ },
  { text: "sq0atp-", label: "square token", follows: /^[\w-]{22}/ },
  { text: "sq0csp-", label: "square token", follows: /^[\w-]{40}/ },
  { text: "HRKU-", label: "heroku key", follows: /^[\w-]{30,}/ },
  { text: "glsa_", label: "grafana token", boundary: true, follows: /^[A-Za-z0-9]{32}_[0-9a-fA-F]{8}/ },
  { text: "rubygems_", label: "rubygems key", boundary: true, follows: /^[0-9a-f]{48}/ },
  { text: "figd_", label: "figma token", boundary: true, follows: /^[\w-]{40}/ },
  { text: "ATATT3", label: "atlassian token", boundary: true, follows: /^[\w=-]{60,}/ },
  { text: "doo_v1_", label: "digitalocean token", follows: /^[0-9a-f]{64}/ },
  { text: "dor_v1_", label: "digitalocean token", follows: /^[0-9a-f]{64}/ },
  { text: "Q~", label: "azure secret", behind: /(?<![\w.~-])[\w.~-]{3}[0-9]$/, follows: /^[\w.~-]{31,34}(?![\w.~-])/ },
  { text: "AGE-SECRET-KEY-1", label: "private key", follows: /^[A-Z0-9]{50,}/ },
];

/** UTF-16 units of the shortest of the long ones: a token of gitlab. */
export const SHORTEST_LONG = 25;
