import { type Clock, systemClock } from "../../kernel/clock.ts";
import { DAY_MS } from "../../kernel/durations.ts";
import type { CertificateEnd } from "../../storage/certificates.ts";
import { connectionsOf } from "../../storage/database.ts";
import type { Inspection } from "../../storage/inspection.ts";
import type { PostgresSettings } from "../../storage/postgres-settings.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

/** Checks the settings of a PostgreSQL server that determine whether acknowledged data is durable and whether long operations are interrupted. */

/** Settings by name, in PostgreSQL's base units: times in milliseconds. Older versions have fewer settings. */
type Settings = ReadonlyMap<string, string>;

const names = [
  "server_version",
  "server_version_num",
  "fsync",
  "full_page_writes",
  "synchronous_commit",
  "default_transaction_read_only",
  "max_connections",
  "superuser_reserved_connections",
  "reserved_connections",
  "statement_timeout",
  "lock_timeout",
  "transaction_timeout",
  "idle_session_timeout",
];

export async function checkPostgres(
  inspection: Inspection,
  ours: PostgresSettings,
  clock: Clock = systemClock,
): Promise<Finding[]> {
  const rows = await inspection.all<{ name: string; setting: string }>(
    "select name, setting from pg_settings where name = any($1)",
    [names],
  );
  const settings: Settings = new Map(rows.map(({ name, setting }) => [name, setting]));
  const checks = [checkVersion, checkFsync, checkFullPages, checkCommits, checkTimeouts];
  return [
    ...checks.map((check) => check(settings)),
    checkEncryption(inspection),
    ...inspection.certificates.map((certificate) => checkCertificate(certificate, clock)),
    await checkPooler(inspection, ours),
    await checkWritable(inspection, settings),
    await checkConnections(inspection, settings, connectionsOf(ours)),
  ];
}

/** The oldest release that still receives fixes, and the oldest that Keystead works with. */
const MENDED = 140_000;
const KNOWN = 120_000;

function checkVersion(settings: Settings): Finding {
  const check = "postgresql version";
  const number = Number(settings.get("server_version_num"));
  const shown = settings.get("server_version") ?? "unknown";
  if (number >= MENDED) return ok(check, shown);
  const text = `${shown} no longer gets updates; upgrade to 14 or newer`;
  return number >= KNOWN ? warn(check, text) : fail(check, text);
}

function checkFsync(settings: Settings): Finding {
  const check = "postgresql fsync";
  if (settings.get("fsync") === "on") return ok(check, "on");
  return fail(check, "off: a power cut destroys the database; set fsync = on and restart PostgreSQL");
}

function checkFullPages(settings: Settings): Finding {
  const check = "postgresql full_page_writes";
  if (settings.get("full_page_writes") === "on") return ok(check, "on");
  const text =
    "off: a power cut can leave half-written pages; set full_page_writes = on unless the file system prevents it";
  return warn(check, text);
}

function checkCommits(settings: Settings): Finding {
  const check = "postgresql synchronous_commit";
  const value = settings.get("synchronous_commit") ?? "unknown";
  if (value !== "off") return ok(check, value);
  const text =
    "off: activities are acknowledged before they are on disk, and a crash loses them; set synchronous_commit = on for the server, the database and the role";
  return fail(check, text);
}

/** A server's own connections set their statement timeout themselves; those of migrations and backups set none. */
function checkTimeouts(settings: Settings): Finding {
  const check = "postgresql time-outs";
  const set = ["statement_timeout", "lock_timeout", "transaction_timeout", "idle_session_timeout"].filter(
    (name) => Number(settings.get(name) ?? 0) > 0,
  );
  if (set.length === 0) return ok(check, "none would cut off migrations, backups or idle connections");
  const shown = set.map((name) => `${name} = ${settings.get(name)} ms`).join(", ");
  const which = set.join(", ");
  const text = `${shown}: long migrations and backups, waits for an organization and idle connections may be cut off. For the role in DATABASE_URL, set these to 0: ${which}`;
  return warn(check, text);
}

/** Most are for 90 days or more, and are renewed when a third of that is left. */
const CERTIFICATE_WARNING_MS = 14 * DAY_MS;

export const POSTGRES_WRITES = "postgresql writes";

async function checkWritable({ all }: Pick<Inspection, "all">, settings: Settings): Promise<Finding> {
  const check = POSTGRES_WRITES;
  const rows = await all<{ standby: boolean }>("select pg_is_in_recovery() as standby");
  if (rows[0]?.standby)
    return fail(check, "it is a standby and does not accept writes; set DATABASE_URL to the primary");
  if (settings.get("default_transaction_read_only") === "off") return ok(check, "it accepts writes");
  return fail(check, "default_transaction_read_only is on; turn it off for the server, the database and the role");
}

function checkEncryption({ encryption }: Inspection): Finding {
  const check = "postgresql tls";
  const remedy =
    "set sslmode=verify-full in DATABASE_URL, and sslrootcert=<file> if the certificate is signed by an authority of your own";
  switch (encryption) {
    case "verified":
      return ok(check, "its certificate and the name in it are verified");
    case "local":
      return ok(check, "not encrypted, but on this machine");
    case "nameless":
      return warn(check, `its certificate is verified, but not the name in it; ${remedy}`);
    case "unverified":
      return warn(check, `encrypted, but anybody in between can pose as the server; ${remedy}`);
    case "none":
      return warn(check, `not encrypted: anybody in between can read and change everything; ${remedy}`);
  }
}

/** Of one that has ended there is no connection, which the check of the database tells. */
function checkCertificate({ whose, endsAt }: CertificateEnd, clock: Clock): Finding {
  const check = "postgresql certificate";
  const name =
    whose === "PostgreSQL"
      ? "PostgreSQL's certificate, or its authority's,"
      : "the client's certificate, in `sslcert`,";
  const text = `${name} is valid until ${new Date(endsAt).toISOString()}`;
  if (endsAt - clock() >= CERTIFICATE_WARNING_MS) return ok(check, text);
  return warn(check, `${text}; after that, no connection succeeds. ${CERTIFICATE_REMEDY[whose]}`);
}

const CERTIFICATE_REMEDY: Record<CertificateEnd["whose"], string> = {
  PostgreSQL: "Renew it and reload PostgreSQL; servers need no restart",
  client: "Replace it in its file; servers read the file for each new connection",
};

async function checkPooler(inspection: Inspection, { prepared }: PostgresSettings): Promise<Finding> {
  const check = "postgresql pooler";
  const pooler = await inspection.pooler();
  if (pooler === "none") {
    if (prepared) return ok(check, "there is none");
    return warn(check, "there is none, so KEYSTEAD_POSTGRES_PREPARED=off only costs time; remove it");
  }
  if (!prepared) return ok(check, "there is one, and KEYSTEAD_POSTGRES_PREPARED is off");
  if (pooler === "sessions") {
    const text = "there is one; if it gives each transaction another session, set KEYSTEAD_POSTGRES_PREPARED=off";
    return warn(check, text);
  }
  const text =
    "there is one that gives each transaction another session (PgBouncer with pool_mode = transaction), so the server does not start; set KEYSTEAD_POSTGRES_PREPARED=off";
  return fail(check, text);
}

export const MORE_CONNECTIONS =
  "raise max_connections, or the connection limits of the role and the database, or lower KEYSTEAD_POSTGRES_CONNECTIONS";

/** A negative limit of a role or a database means no limit. */
const LIMITS = `select
  (select rolconnlimit from pg_roles where rolname = current_user) as of_role,
  (select datconnlimit from pg_database where datname = current_database()) as of_database,
  (select count(*)::int from pg_stat_activity where coalesce(backend_type, 'client backend') = 'client backend' and usename is not null and application_name not like 'keystead%') as of_others`;

async function checkConnections(
  { all }: Pick<Inspection, "all">,
  settings: Settings,
  needed: number,
): Promise<Finding> {
  const check = "postgresql max_connections";
  const [found] = await all<{ of_role: number; of_database: number; of_others: number }>(LIMITS);
  const numberOf = (name: string) => Number(settings.get(name) ?? 0);
  const open =
    numberOf("max_connections") - numberOf("superuser_reserved_connections") - numberOf("reserved_connections");
  const limits = [found?.of_role ?? -1, found?.of_database ?? -1].filter((limit) => limit >= 0);
  const most = Math.min(open, ...limits);
  const needs = `each server uses up to ${needed}`;
  if (most < needed) return fail(check, `there is room for ${most} connections, but ${needs}; ${MORE_CONNECTIONS}`);
  const others = found?.of_others ?? 0;
  if (open - others < needed) {
    return warn(
      check,
      `there is room for ${most} connections, other clients hold ${others}, and ${needs}; ${MORE_CONNECTIONS}`,
    );
  }
  return ok(check, `room for ${most} connections; ${needs}`);
}
