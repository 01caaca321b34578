import { chineseTrigrams, databaseLocale, databaseLocaleBefore17 } from "../../store/queries/diagnosis.ts";
import { databaseCheck, fail, ok } from "../check.ts";

/** First server whose catalogue calls the locale `datlocale`. */
const LOCALE_COLUMN_SINCE = 170_000;

export default databaseCheck("locale", async ({ db, scope }) => {
  const [locale, trigrams] = await db.read(scope, async (tx) => [
    await tx.first(db.traits.serverVersion >= LOCALE_COLUMN_SINCE ? databaseLocale(undefined) : databaseLocaleBefore17(undefined)),
    await tx.first(chineseTrigrams(undefined)),
  ]);
  const detail = `PostgreSQL ${locale?.server}, ${locale?.encoding}, ${locale?.ctype}`;
  if (locale?.encoding !== "UTF8") return fail(`${detail}: UTF8 is needed`, "Create the database again with ENCODING 'UTF8'.");
  if ((trigrams?.n ?? 0) === 0)
    return fail(
      `${detail}: no trigrams for Chinese, so misspelt names in such scripts are not found`,
      "Create the database with LC_CTYPE 'C.UTF-8'.",
    );
  return ok(detail);
});
