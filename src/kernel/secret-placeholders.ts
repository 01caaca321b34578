/** Texts that stand in a secret's place: documents and examples are full of them. */

const setOf = (words: string) => new Set(words.split(" "));
/** Words that say of a text that something else belongs in its place. */
const markers = setOf(
  "your tu tus su here aqui aquí insert enter put paste replace change changeme replaceme placeholder example sample dummy fake redacted ejemplo inserta reemplaza cambia pon",
);
/** Words that may stand beside them. Whoever knows this list knows every text that passes, so none of them is a secret. */
const companions = setOf(
  "a an the my me mi this that with by to in of de la el for and or from goes value valor string text real own actual " +
    "api key keys apikey token tokens secret secreto secreta password passwd pass passphrase clave contraseña contrasena credential credentials " +
    "access auth authentication bearer refresh client app application user username usuario account service server project org bot session admin root login " +
    "id name db database private public live test prod production dev " +
    "sk pk rk ant proj ghp gho ghs pat glpat xoxb xoxp npm hf whsec " +
    "openai anthropic claude github gitlab google gemini aws azure stripe slack discord telegram huggingface hugging face pypi docker mapbox cohere mistral groq deepseek " +
    "openrouter sentry twilio sendgrid supabase firebase notion jira linear figma cloudflare vercel netlify heroku datadog postgres mysql redis mongo jwt oauth",
);
/** UTF-16 units of the longest text in a secret's place. */
const LONGEST_PLACEHOLDER = 80;
/** The same sign in the place of each that is hidden. */
const masked = /^(?:x{4,}|X{4,}|\*{3,}|•{3,}|\.{3,}|…+)$/;
/** `YourApiKey` in words. */
const humps = (part: string) => (/^[A-Za-z]+$/.test(part) ? (part.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? []) : [part]);

/**
 * True for a text that stands where a secret belongs: `your-api-key-here`, `<YOUR_TOKEN>`, `TU_CLAVE_AQUI`, `sk-xxxxxxxxxxxx`. Every word of it must be
 * known here, and one must say so: `your-` before anything else proves nothing.
 */
export function isPlaceholder(raw: string): boolean {
  if (raw.length > LONGEST_PLACEHOLDER) return false;
  const value = raw.replace(/^[\s"'`<[({]+|[\s"'`\])}>,;]+$/g, "");
  const parts = value.split(/[-_.\s]+/).filter((part) => part !== "");
  const words = parts.flatMap((part) =>
    companions.has(part.toLowerCase()) || markers.has(part.toLowerCase()) || masked.test(part) ? [part] : humps(part),
  );
  const isMarker = (word: string) => masked.test(word) || markers.has(word.toLowerCase());
  return words.some(isMarker) && words.every((word) => isMarker(word) || companions.has(word.toLowerCase()));
}
