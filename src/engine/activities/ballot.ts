import { type IdFor, newId } from "../../kernel/ids.ts";
import type { Signer } from "../../signer/client.ts";
import type { Database } from "../../storage/database.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import type { Admission } from "../admission.ts";
import type { RequestBudget } from "../decisions/budget.ts";
import type { Principal } from "../identity/authenticate.ts";
import type { Organization, Registry } from "../operations.ts";
import type { Services } from "../services.ts";
import type { MonthlyQuota } from "./monthly-quota.ts";
import type { ActivityRecord, VoteRecord } from "./rows.ts";

/** A user's request about an activity: its submission, an approval or a rejection. */
export interface Ballot {
  principal: Principal;
  selection: VoteRecord["selection"];
  /** The exact body that was stamped. */
  message: string;
  /** Milliseconds. */
  now: number;
  /** The identifiers of what it creates. */
  id: IdFor;
  /** The client's IP address, if it is known. */
  remoteAddress: string | undefined;
  /** Whether the client is still connected. */
  isWanted: () => boolean;
  budget: RequestBudget;
}

/** New identifiers for one ballot: the same name always yields the same identifier. */
export function identifiers(): IdFor {
  const ids = new Map<string, string>();
  return (place) => {
    const id = ids.get(place) ?? newId();
    ids.set(place, id);
    return id;
  };
}

/** What carrying out activities depends on. */
export interface ActivityEngine {
  database: Database;
  signer: Pick<Signer, "ask">;
  registry: Registry;
  services: Services;
  observer: ActivityObserver;
  admission: Pick<Admission, "countDenial">;
  monthlyQuota: MonthlyQuota;
}

/** A change of an activity's status, passed to observers in the transaction that stores it. */
export interface ActivityChange {
  activity: ActivityRecord;
  votes: readonly VoteRecord[];
  organization: Pick<Organization, "id" | "parentId">;
  /** The ballot that caused it; undefined if no request did. */
  ballot?: Pick<Ballot, "principal" | "selection" | "remoteAddress">;
  /** Milliseconds. */
  now: number;
}

/** Is notified of every change of an activity's status. */
export interface ActivityObserver {
  /** Reads in advance what `onChange` will read, so that it need not wait for the database. */
  ahead(read: Reader, organization: ActivityChange["organization"]): Promise<unknown>;
  /** May add rows and jobs to the transaction. */
  onChange(tx: Transactor, change: ActivityChange): Promise<void>;
}
