import { flag } from "../arguments.ts";
import { PASSWORD_PLACE } from "../command.ts";
import { command } from "../define.ts";

export default command({
  name: "secure",
  summary: "make the unprivileged login of a PostgreSQL server",
  needs: "nothing",
  writes: "database",
  args: { rotate: flag("new random passwords for it and for the login of DATABASE_URL: files first, then the server") },
  details: [
    "DATABASE_URL must be a superuser's. The login cuba_app may read and write rows, and nothing else; a role that has a password keeps it.",
    "--rotate ends what others do with the old password of the login in DATABASE_URL; one that comes in without a password gets none.",
    "The embedded database has no login: it takes the role in every transaction by itself.",
  ],
  run: async ({ rotate }, { host, out }) => {
    const done = await host.secure({ rotate });
    if (done.kind === "embedded") {
      out.line("The embedded database has no login and no password; there is nothing to secure.");
      return 0;
    }
    out.line(`The role ${done.role} was ${done.created ? "made" : "there; its rights were set again"}.`);
    if (done.passwordSet) out.line(`Its password is new; it lies in ${done.file}, readable by you alone.`);
    if (!done.granted) out.tell("The tables are not there yet, so nothing was granted: run memory-industry migrate, then this again.");
    if (done.url === undefined)
      out.tell("It has a password that is not known here. It was kept; memory-industry secure --rotate sets a new one.");
    else {
      out.line(
        done.passwordSet
          ? "What the product runs with from now on:"
          : `Its password was kept; it lies in ${done.file}. What the product runs with, with that for ${PASSWORD_PLACE}:`,
      );
      out.line(`  DATABASE_URL=${done.url}`);
      out.line("  CUBA_SKIP_MIGRATIONS=1");
    }
    if (done.admin !== undefined) {
      out.line(
        `The login ${done.admin.login} has a new password too; it lies in ${done.admin.file}, readable by you alone. Whoever used the old one, DATABASE_URL`,
      );
      out.line("of this shell included, is locked out until they have it. To migrate or secure from now on, with that for PASSWORD:");
      out.line(`  DATABASE_URL=${done.admin.url}`);
    } else if (rotate) out.tell("The login of DATABASE_URL comes in without a password; it was left as it is.");
    return done.granted ? 0 : 1;
  },
});
