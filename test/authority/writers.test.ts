import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { AUTHORITY_TABLES } from "../../src/engine/authority/known.ts";
import { readSource, sourceFiles, withoutComments } from "../support/sources.ts";

/**
 * Who writes the tables that say who may do what: the projector, and whoever is named here with the reason. It is the source that
 * is read, so that a new writer shows before it does anything.
 */

const PROJECTOR = "engine/authority/project.ts";
/** The projector's own files: what they have is for each other, so that nobody writes by way of them. */
const WRITERS = "engine/authority/project/";

const isOfProjector = (file: string): boolean => file === PROJECTOR || file.startsWith(WRITERS);

const authorityTables: readonly string[] = AUTHORITY_TABLES;

/** Addresses and accounts, work that is to be done, what was asked for and shown, and the installation's own. */
const otherTables = [
  "installation",
  "organization_quotas",
  "servers",
  "otps",
  "otp_failures",
  "used_tokens",
  "private_key_addresses",
  "wallet_accounts",
  "import_keys",
  "oauth2_credentials",
  "auth_proxies",
  "on_ramp_credentials",
  "on_ramp_transactions",
  "tvc_operators",
  "tvc_operator_sets",
  "tvc_operator_set_members",
  "tvc_apps",
  "tvc_deployments",
  "tvc_manifest_approvals",
  "tvc_runs",
  "tvc_quorum_keys",
  "tvc_quorum_key_shares",
  "tvc_provisioning_shares",
  "activities",
  "votes",
  "authentications",
  "policy_evaluations",
  "policy_lists",
  "jobs",
  "job_lanes",
  "service_keys",
  "webhook_endpoints",
  "webhook_subscriptions",
  "webhook_events",
  "webhook_deliveries",
  "webhook_attempts",
  "app_proofs",
  "audit_lines",
  "audit_sinks",
  "boot_proofs",
  "mails",
  "email_events",
  "send_transactions",
  "own_transactions",
  "send_nonces",
  "sponsored_sends",
  "gas_usage_configs",
  "gas_usage",
  "gas_costs",
  "earn_vaults",
  "earn_wrappers",
  "earn_requests",
  "earn_share_prices",
  "earn_positions",
  "daily_counts",
  "counted_sources",
  "swap_configs",
  "swap_quotes",
  "swaps",
  "sponsor_nonces",
  "followed_chains",
  "followed_blocks",
  "eth_history",
];

/** By file: the tables it names, or the expressions that stand in their place, and why it may. */
const exceptions: Record<string, { writes: string[]; because: string }> = {
  "capabilities/organizations/store.ts": {
    writes: ["organizations"],
    because: "an organization's row holds its sealed key; all that is in it comes as changes",
  },
  "capabilities/organizations/update-organization-name.ts": {
    writes: ["organizations"],
    because: "an organization's name decides nothing",
  },
  "capabilities/sub-organizations/store.ts": {
    writes: ["table as", "table as", "organizations", "organizations"],
    because:
      "a deleted organization loses everything, at once or by a job, by the list of tables that capabilities declare",
  },
  "main/root-key/rotate.ts": {
    writes: ["organizations"],
    because: "a rotation of the root key seals the keys of organizations anew; they stay the same",
  },
  "engine/identity/seniority.ts": {
    writes: ["table as", "table as"],
    because: "when a credential was first used is noted with its first stamp, and says whose it is among organizations",
  },
  "engine/identity/revocations.ts": { writes: ["stamps as"], because: "its tables are those of stamps" },
  "capabilities/otp/prune.ts": { writes: ["table as"], because: "its tables are those of codes" },
  "engine/activities/archived.ts": { writes: ["table"], because: "its tables are those under an activity" },
  "capabilities/messages/prune.ts": { writes: ["table"], because: "its tables are those of mail" },
};

/** What a source writes that may be a table of authority: by a builder, or in SQL. */
function writesIn(source: string): string[] {
  const code = withoutComments(source);
  const built = code.matchAll(
    /\b(?:insertInto|replaceInto|mergeInto|updateTable|deleteFrom|laterInsert|laterUpdate)\(\s*("?)([\w.[\]]+)\1( as\b)?/g,
  );
  const spelled = code.matchAll(/\b(?:insert\s+into\s+"?(\w+)|delete\s+from\s+"?(\w+)|update\s+"?(\w+)"?\s+set\b)/gi);
  return [
    ...[...built].flatMap(([, quote, name = "", as = ""]) =>
      quote === "" || authorityTables.includes(name) ? [`${name}${as}`] : [],
    ),
    ...[...spelled].flatMap(([, ...names]) => names.filter((name) => authorityTables.includes(name))),
  ];
}

/** The files that a source names: what it imports, now or later, of types too. */
const importsOf = (file: string): string[] =>
  [...readSource(file).matchAll(/"(\.\.?\/[^"]+\.ts)"/g)].map(([, path = ""]) => join(dirname(file), path));

describe("the tables of authority", () => {
  it("are told apart from all others", () => {
    const schema = readSource("storage/schema.ts");
    const tables = [...schema.slice(schema.indexOf("interface Schema")).matchAll(/^ {2}(\w+): \{/gm)].map(
      ([, name]) => name,
    );
    assert.deepEqual([...authorityTables, ...otherTables].sort(), tables.sort());
  });

  it("are written by the projector and by nobody else but for a reason", () => {
    const found = sourceFiles()
      .filter((file) => !isOfProjector(file) && !file.startsWith("storage/migrations/"))
      .map((file) => [file, writesIn(readSource(file))] as const)
      .filter(([, writes]) => writes.length > 0);
    const expected = Object.entries(exceptions).map(([file, { writes }]) => [file, writes] as const);
    const byFile = (all: readonly (readonly [string, string[]])[]) =>
      Object.fromEntries(all.map(([file, writes]) => [file, [...writes].sort()]));
    assert.deepEqual(byFile(found), byFile(expected));
  });

  it("are written by way of the projector alone", () => {
    const importers = sourceFiles().filter((file) => importsOf(file).some((imported) => imported.startsWith(WRITERS)));
    assert.ok(importers.includes(PROJECTOR));
    assert.deepEqual(
      importers.filter((file) => !isOfProjector(file)),
      [],
    );
  });

  it("have a writer that is read as one", () => {
    const writes = new Set(
      sourceFiles()
        .filter(isOfProjector)
        .flatMap((file) => writesIn(readSource(file))),
    );
    const unwritten = authorityTables.filter((table) => !writes.has(table));
    // These two by the kind of tag.
    assert.deepEqual(unwritten, ["user_tag_members", "private_key_tag_members"]);
    assert.deepEqual(writesIn("sql`update users set name = 'x'`; // delete from tags"), ["users"]);
    assert.deepEqual(writesIn("db.insertInto(\n  table as 'x')"), ["table as"]);
  });
});
