import { createHash } from "node:crypto";
import { canonicalJson } from "../../kernel/json.ts";
import { MAX_TOLD_AT_ONCE } from "../../kernel/limits.ts";
import type { Chain } from "../../nodes/families.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { prepared, preparedWrite } from "../../storage/prepared.ts";
import { announceEvent } from "../webhooks/store.ts";
import type { EntryChange } from "./entries.ts";
import { TOLD } from "./following.ts";
import { spelledOn } from "./model.ts";
import { beginOf, blockNumberOf } from "./position.ts";

/**
 * Balance events: each change of a known asset is announced as confirmed, and as finalized once nothing can undo it. If a reorganization drops
 * an entry's block, the entry is deleted and nothing more is announced about it.
 */

const kinds = {
  confirmed: { eventType: "BALANCE_CONFIRMED_UPDATES", type: "balances:confirmed", before: TOLD.nothing },
  finalized: { eventType: "BALANCE_FINALIZED_UPDATES", type: "balances:finalized", before: TOLD.confirmed },
} as const;
type Kind = keyof typeof kinds;

/** Announces a bounded number of due changes, and marks them in the same transaction. */
export async function tellChanges(
  tx: Transactor,
  { caip2, finalizedNumber, now }: { caip2: Chain; finalizedNumber: number; now: number },
): Promise<void> {
  for (const kind of ["confirmed", "finalized"] as const) await tellOf(tx, kind, { caip2, finalizedNumber, now });
}

/** Whether changes wait to be announced. */
export async function isAnythingDue(
  read: Reader,
  { caip2, finalizedNumber }: { caip2: Chain; finalizedNumber: number },
): Promise<boolean> {
  const unconfirmed = { caip2, told: kinds.confirmed.before, end: endOf("confirmed", finalizedNumber) };
  if ((await selectOneDue(read, unconfirmed)).length > 0) return true;
  const unfinalized = { caip2, told: kinds.finalized.before, end: endOf("finalized", finalizedNumber) };
  return (await selectOneDue(read, unfinalized)).length > 0;
}

/** Entries below this position are due for a kind of event. */
const endOf = (kind: Kind, finalizedNumber: number): number =>
  kind === "confirmed" ? Number.MAX_SAFE_INTEGER : beginOf(finalizedNumber + 1);

async function tellOf(
  tx: Transactor,
  kind: Kind,
  { caip2, finalizedNumber, now }: { caip2: Chain; finalizedNumber: number; now: number },
): Promise<void> {
  const { before } = kinds[kind];
  const due = await selectDue(tx, { caip2, told: before, end: endOf(kind, finalizedNumber) });
  for (const row of due) {
    const changes = JSON.parse(row.changes as string) as EntryChange[];
    for (const change of changes) await announce(tx, kind, { caip2, row, change, now });
    const { organization_id: organizationId, address, position } = row;
    await markTold(tx, { organizationId, caip2, address, position, told: before + 1 });
  }
}

type Due = Awaited<ReturnType<typeof selectDue>>[number];

function announce(
  tx: Transactor,
  kind: Kind,
  { caip2, row, change, now }: { caip2: Chain; row: Due; change: EntryChange; now: number },
): Promise<void> {
  const { eventType, type } = kinds[kind];
  const { operation, asset, amount } = change;
  const { organization_id: organizationId, transaction_hash: txHash, block_hash: blockHash } = row;
  const address = spelledOn(caip2, row.address);
  const identity = { organizationId, caip2, txHash, blockHash, address, operation, caip19: asset.caip19 };
  const digest = createHash("sha256").update(canonicalJson(identity)).digest("hex");
  const msg = {
    operation,
    caip2,
    txHash,
    address,
    idempotencyKey: `${digest}:${type}`,
    asset: { ...asset, amount },
    block: {
      number: blockNumberOf(row.position),
      hash: blockHash,
      timestamp: new Date(row.block_time).toISOString(),
    },
  };
  const facts = { caip2, address };
  const organization = { id: organizationId, parentId: row.parent_id };
  return announceEvent(tx, { eventType, organization, type, facts, msg, now });
}

const selectDue = prepared<{ caip2: string; told: number; end: number }>()((db, { caip2, told, end }) =>
  db
    .selectFrom("eth_history as h")
    .innerJoin("organizations as o", "o.id", "h.organization_id")
    .select([
      "h.organization_id",
      "h.address",
      "h.position",
      "h.block_hash",
      "h.block_time",
      "h.transaction_hash",
      "h.changes",
      "o.parent_id",
    ])
    .where("h.caip2", "=", caip2)
    .where("h.told", "=", told)
    .where("h.position", "<", end)
    .orderBy("h.position")
    .limit(MAX_TOLD_AT_ONCE),
);

const selectOneDue = prepared<{ caip2: string; told: number; end: number }>()((db, { caip2, told, end }) =>
  db
    .selectFrom("eth_history")
    .select("position")
    .where("caip2", "=", caip2)
    .where("told", "=", told)
    .where("position", "<", end)
    .limit(1),
);

const markTold = preparedWrite<{
  organizationId: string;
  caip2: string;
  address: string;
  position: number;
  told: number;
}>()((db, row) =>
  db
    .updateTable("eth_history")
    .set({ told: row.told })
    .where("organization_id", "=", row.organizationId)
    .where("caip2", "=", row.caip2)
    .where("address", "=", row.address)
    .where("position", "=", row.position)
    .returning("position"),
);
