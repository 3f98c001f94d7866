import type { DatabaseSync } from "node:sqlite";
import { PULL_SECRET_KIND } from "../../capabilities/deployments/pull-secrets.ts";
import { sponsorKeys } from "../../capabilities/sponsoring/sponsor-keys.ts";
import type { Curve } from "../../crypto/curves.ts";
import { INSTALLATION, type SealedItem } from "../../signer/protocol.ts";
import { SERVICE_OWNER_KEY } from "../../storage/installation-rows.ts";

/** Lists everything sealed in a database: where it is, and as what it was sealed. */

/** A value sealed for an organization, or for `INSTALLATION`. */
export interface SealedRow {
  table: string;
  organizationId: string;
  /** In base64. */
  organizationKey: string;
  item: SealedItem;
  /** The stored public keys, in the signer's format and in the order of the item's keys; empty if the item has none. */
  publicKeys: string[];
  /** Whether it continues the sealed value before it: a wallet with many accounts is split into several rows. */
  isMore?: boolean;
}

type Row = Record<string, string | number | Uint8Array | null>;

interface SealedKind {
  table: string;
  column: string;
  item: (row: Row) => SealedItem;
}

const secret =
  (purpose: Extract<SealedItem, { of: "secret" }>["purpose"], column: string, ...more: ((row: Row) => string)[]) =>
  (row: Row): SealedItem => ({
    of: "secret",
    purpose,
    ids: [row.id as string, ...more.map((each) => each(row))],
    sealed: base64Of(row[column]),
  });

const key = (row: Row): Extract<SealedItem, { of: "key" }> => ({
  of: "key",
  keyId: row.id as string,
  curve: row.curve as Curve,
  sealed: base64Of(row.sealed_key),
  sign: false,
});

const textIn = (column: string) => (row: Row) => String(row[column]);

const jobSecret =
  (column: string, kind: (row: Row) => string) =>
  (row: Row): SealedItem => {
    const { id, sealed } = JSON.parse(row[column] as string) as { id: string; sealed: string };
    return { of: "secret", purpose: "job secret", ids: [id, kind(row)], sealed };
  };

const onRampProvider = ({ provider }: Row): string =>
  provider === "FIAT_ON_RAMP_PROVIDER_COINBASE" ? "coinbase" : "moonpay";

const ofOrganizations: readonly SealedKind[] = [
  { table: "private_keys", column: "sealed_key", item: key },
  {
    table: "import_keys",
    column: "sealed_key",
    item: secret("import key", "sealed_key", ...["purpose", "user_id", "created_at"].map(textIn)),
  },
  { table: "secrets", column: "sealed_secret", item: secret("secret", "sealed_secret") },
  { table: "otps", column: "sealed_target_key", item: secret("import key", "sealed_target_key") },
  { table: "auth_proxies", column: "sealed_key", item: secret("auth proxy key", "sealed_key") },
  {
    table: "oauth2_credentials",
    column: "sealed_client_secret",
    item: secret("client secret", "sealed_client_secret"),
  },
  { table: "on_ramp_credentials", column: "sealed_keys", item: secret("on-ramp keys", "sealed_keys", onRampProvider) },
];

/** Keys with these purposes are sealed so that they can only be used for sponsoring. */
const sponsorPurposes = new Set(sponsorKeys.map(({ purpose }) => purpose));

const ofInstallation: readonly SealedKind[] = [
  {
    table: "service_keys",
    column: "sealed_key",
    item: (row) => ({ ...key(row), ...(sponsorPurposes.has(row.purpose as string) ? { purpose: "sponsor key" } : {}) }),
  },
  { table: "jobs", column: "sealed_secret", item: jobSecret("sealed_secret", textIn("kind")) },
  {
    table: "tvc_deployments",
    column: "sealed_pull_secret",
    item: jobSecret("sealed_pull_secret", () => PULL_SECRET_KIND),
  },
];

/** The columns that are read, for the test that compares them with the tables. */
export const sealedColumns: readonly string[] = [
  "organizations.sealed_key",
  "wallets.sealed_wallet",
  ...[...ofOrganizations, ...ofInstallation].map(({ table, column }) => `${table}.${column}`),
].sort();

/** All organizations except deleted ones, whose keys are destroyed. */
export function* organizationsOf(database: DatabaseSync): Generator<{ id: string; organizationKey: string }> {
  const rows = database.prepare("select id, sealed_key from organizations where deleted_at is null order by id");
  for (const { id, sealed_key } of rows.iterate() as Iterable<Row>) {
    yield { id: id as string, organizationKey: base64Of(sealed_key) };
  }
}

/** All sealed rows, ordered by table and organization. */
export function* sealedRowsOf(database: DatabaseSync): Generator<SealedRow> {
  for (const { table, column, item } of ofOrganizations) {
    const rows = database.prepare(
      `select r.*, o.sealed_key as organization_key from ${table} r join organizations o on o.id = r.organization_id
        where r.${column} is not null and o.deleted_at is null order by r.organization_id`,
    );
    for (const row of rows.iterate() as Iterable<Row>)
      yield { table, ...ownerOf(row), item: item(row), publicKeys: keysOf(row) };
  }
  yield* walletsOf(database);
  yield* installationRowsOf(database);
}

const ACCOUNTS_AT_ONCE = 100;

function* walletsOf(database: DatabaseSync): Generator<SealedRow> {
  const wallets = database.prepare(
    `select w.*, o.sealed_key as organization_key from wallets w join organizations o on o.id = w.organization_id
      where o.deleted_at is null order by w.organization_id`,
  );
  const accounts = database.prepare(
    `select id, curve, path, public_key from wallet_accounts where organization_id = ? and wallet_id = ? and id > ? order by id limit ${ACCOUNTS_AT_ONCE}`,
  );
  for (const wallet of wallets.iterate() as Iterable<Row>) {
    const owner = ownerOf(wallet);
    let last = "";
    for (;;) {
      const rows = accounts.all(owner.organizationId, wallet.id as string, last) as Row[];
      if (rows.length === 0 && last !== "") break;
      yield {
        table: "wallets",
        ...owner,
        item: {
          of: "wallet",
          walletId: wallet.id as string,
          sealed: base64Of(wallet.sealed_wallet),
          accounts: rows.map(({ curve, path }) => ({ curve: curve as Curve, path: path as string })),
          sign: false,
        },
        publicKeys: rows.map(({ public_key }) => public_key as string),
        isMore: last !== "",
      };
      if (rows.length < ACCOUNTS_AT_ONCE) break;
      last = rows.at(-1)?.id as string;
    }
  }
}

function* installationRowsOf(database: DatabaseSync): Generator<SealedRow> {
  const stored = database.prepare(`select value from installation where name = '${SERVICE_OWNER_KEY}'`).get() as
    | Row
    | undefined;
  if (!stored) return;
  const owner = { organizationId: INSTALLATION, organizationKey: stored.value as string };
  for (const { table, column, item } of ofInstallation) {
    const rows = database.prepare(`select * from ${table} where ${column} is not null order by id`);
    for (const row of rows.iterate() as Iterable<Row>)
      yield { table, ...owner, item: item(row), publicKeys: keysOf(row) };
  }
}

const ownerOf = (row: Row) => ({
  organizationId: row.organization_id as string,
  organizationKey: base64Of(row.organization_key),
});

const keysOf = ({ curve, public_key }: Row): string[] => (typeof curve === "string" ? [public_key as string] : []);

/** A column in base64; some contain base64 already. */
const base64Of = (value: Row[string] | undefined): string =>
  value instanceof Uint8Array ? Buffer.from(value).toString("base64") : (value as string);
