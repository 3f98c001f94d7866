import pg from "pg";
import { openSqlite } from "../../src/storage/sqlite.ts";

/** Rows by the hundred thousand, as the service would have written them, and written by the database itself. */

export interface Owner {
  organizationId: string;
  walletId: string;
}

/** What a database calls the number of the row, a random address of Ethereum, no bytes, and a table of numbers from 0. */
const words = {
  sqlite: {
    address: "'0x' || lower(hex(randomblob(20)))",
    text: "cast(i as text)",
    noBytes: "x''",
    numbers: (count: number) =>
      `(with recursive numbers(i) as (select 0 union all select i + 1 from numbers where i < ${count - 1}) select i from numbers)`,
  },
  postgres: {
    address: "'0x' || substr(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 1, 40)",
    text: "i::text",
    noBytes: "''::bytea",
    numbers: (count: number) => `(select i from generate_series(0::bigint, ${count - 1}) as i)`,
  },
} as const;
const wordsOf = (url: string) => words[url.startsWith("sqlite:") ? "sqlite" : "postgres"];

async function execute(url: string, sql: string): Promise<void> {
  if (url.startsWith("sqlite:")) {
    const connection = openSqlite(url.slice("sqlite:".length));
    try {
      await connection.all(sql, []);
    } finally {
      connection.close();
    }
    return;
  }
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/**
 * Adds accounts of Ethereum at random addresses to a wallet; there are no keys to them.
 *
 * @param branch another one for each call
 */
export async function addAddresses(url: string, owner: Owner, count: number, branch = 0): Promise<void> {
  const { address, text, numbers } = wordsOf(url);
  const id = `'filler-${branch}-' || ${text}`;
  const columns =
    "id, organization_id, wallet_id, curve, path, address_format, address, lookup, public_key, name, exported, created_at, updated_at";
  await execute(
    url,
    `insert into wallet_accounts (${columns})
      select id, '${owner.organizationId}', '${owner.walletId}', 'CURVE_SECP256K1', path, 'ADDRESS_FORMAT_ETHEREUM', address, address,
        '02', null, 0, 1, 1
      from (select ${id} as id, 'm/' || ${text} || '/${branch}' as path, ${address} as address from ${numbers(count)} as n) as made`,
  );
}

/** Adds private keys of Ethereum at random addresses; nothing is sealed in them. */
export async function addPrivateKeys(url: string, organizationId: string, count: number): Promise<void> {
  const { address, text, noBytes, numbers } = wordsOf(url);
  const rows = `from ${numbers(count)} as n`;
  const id = `'filler-' || ${text}`;
  await execute(
    url,
    `insert into private_keys (organization_id, id, name, curve, public_key, sealed_key, exported, imported, created_at, updated_at)
      select '${organizationId}', ${id}, ${id}, 'CURVE_SECP256K1', '02', ${noBytes}, 0, 0, 1, 1 ${rows}`,
  );
  await execute(
    url,
    `insert into private_key_addresses (organization_id, private_key_id, position, format, address, lookup)
      select '${organizationId}', ${id}, 0, 'ADDRESS_FORMAT_ETHEREUM', address, address
      from (select i, ${address} as address ${rows}) as made`,
  );
}

/** Adds deliveries to a webhook endpoint that have come there, each of some event that its organization has. */
export async function addDelivered(
  url: string,
  { organizationId, endpointId }: { organizationId: string; endpointId: string },
  count: number,
): Promise<void> {
  const { text, numbers } = wordsOf(url);
  const columns = "organization_id, id, endpoint_id, event_id, status, attempts, created_at, updated_at";
  await execute(
    url,
    `insert into webhook_deliveries (${columns})
      select '${organizationId}', 'filler-' || ${text}, '${endpointId}',
        (select min(id) from webhook_events where organization_id = '${organizationId}'), 'DELIVERED', 0, 1, 1
      from ${numbers(count)} as n`,
  );
}

/** Gives another organization's wallet the addresses that were added to one, as the import of the same mnemonic does. */
export async function shareAddresses(url: string, from: Owner, to: Owner): Promise<void> {
  const columns = "curve, path, address_format, address, lookup, public_key, name, exported, created_at, updated_at";
  await execute(
    url,
    `insert into wallet_accounts (id, organization_id, wallet_id, ${columns})
      select id || '-${to.walletId}', '${to.organizationId}', '${to.walletId}', ${columns}
      from wallet_accounts where wallet_id = '${from.walletId}'`,
  );
}

export interface Places {
  organizationId: string;
  caip2: string;
  /** Each at another address that nobody asks for, if absent. */
  address?: string;
}

/** Adds transactions without transfers, one in each block from the first on, of which everybody was told. */
export async function addHistory(
  url: string,
  { organizationId, caip2, address }: Places,
  count: number,
): Promise<void> {
  const { address: random, text, numbers } = wordsOf(url);
  const columns =
    "organization_id, caip2, address, position, block_hash, block_time, transaction_hash, sender, recipient, fee_amount, transfers, told";
  const at = address === undefined ? random : `'${address}'`;
  await execute(
    url,
    `insert into eth_history (${columns})
      select '${organizationId}', '${caip2}', ${at}, i * 1048576, '0xb' || ${text}, 1, '0xf' || ${text}, '0x', null, '0', '[]', 2
      from ${numbers(count)} as n`,
  );
}
