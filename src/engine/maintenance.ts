import { failForNow } from "../kernel/errors.ts";
import type { Reader, Transactor } from "../storage/engine.ts";
import { storeInstallationRow } from "../storage/installation-rows.ts";
import type { Operator } from "./activities/operator-activities.ts";

/** Maintenance mode: an operator has told all servers of a database to refuse writes. */
export interface Maintenance {
  /** Milliseconds. */
  since: number;
  reason?: string;
  operator: Operator;
}

/** The name of its row in `installation`. */
export const MAINTENANCE = "maintenance";
const RETRY_AFTER_SECONDS = 30;

export async function findMaintenance(read: Reader): Promise<Maintenance | undefined> {
  const row = await read.selectFrom("installation").select("value").where("name", "=", MAINTENANCE).executeTakeFirst();
  return row && (JSON.parse(row.value) as Maintenance);
}

/** Stores the mode; undefined ends it. */
export const storeMaintenance = (tx: Transactor, maintenance: Maintenance | undefined): Promise<void> =>
  storeInstallationRow(tx, MAINTENANCE, maintenance && JSON.stringify(maintenance));

/** @throws KeysteadError MAINTENANCE */
export function refuseDuring(maintenance: Maintenance | undefined): void {
  if (maintenance) failForNow("MAINTENANCE", { reason: shownReason(maintenance) }, RETRY_AFTER_SECONDS);
}

export const shownReason = ({ reason }: Maintenance): string => (reason === undefined ? "" : ` (${reason})`);
