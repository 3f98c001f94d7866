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

/** A user's say on an activity: the submission itself, or an approval or rejection of somebody else's. */
export interface Ballot {
  principal: Principal;
  selection: VoteRecord["selection"];
  /** The exact body that was stamped. */
  message: string;
  /** Milliseconds. */
  now: number;
  /** The identifiers of what it brings into being. */
  id: IdFor;
  /** Where it came from; undefined where that is not known. */
  remoteAddress: string | undefined;
  /** Whether anybody waits for what becomes of it. */
  isWanted: () => boolean;
  budget: RequestBudget;
}

/** Fresh identifiers for one ballot. */
export function identifiers(): IdFor {
  const ids = new Map<string, string>();
  return (place) => {
    const id = ids.get(place) ?? newId();
    ids.set(place, id);
    return id;
  };
}

/** What activities are carried out with. */
export interface ActivityEngine {
  database: Database;
  signer: Pick<Signer, "ask">;
  registry: Registry;
  services: Services;
  observer: ActivityObserver;
  admission: Pick<Admission, "countDenial">;
  monthlyQuota: MonthlyQuota;
}

/** An activity that was just stored in a new state, in the transaction that stores it. */
export interface ActivityChange {
  activity: ActivityRecord;
  votes: readonly VoteRecord[];
  organization: Pick<Organization, "id" | "parentId">;
  /** What brought it there; undefined where no request did. */
  ballot?: Pick<Ballot, "principal" | "selection" | "remoteAddress">;
  /** Milliseconds. */
  now: number;
}

/** Is told of every change of an activity's status. */
export interface ActivityObserver {
  /** Asks for what `onChange` will ask for, so that it is there by then. */
  ahead(read: Reader, organization: ActivityChange["organization"]): Promise<unknown>;
  /** May add rows and jobs to the transaction. */
  onChange(tx: Transactor, change: ActivityChange): Promise<void>;
}
