import { failForNow } from "../../kernel/errors.ts";
import { MAX_PLANNED_AT_ONCE, MAX_WAITING_PLANS } from "../../kernel/limits.ts";
import { Places } from "../../kernel/places.ts";

/**
 * Limits the requests that call nodes before anybody has decided on them: to plan a transaction, or to list what contracts hold. Only so many
 * of one organization run at a time that there is room for others, and a few more wait. Planning and listing have separate limits.
 */

const RETRY_SECONDS = 1;

/**
 * @param organization a parent and all its sub-organizations share one limit
 * @throws KeysteadError RATE_LIMITED if too many wait already, and whatever `ask` throws
 */
type InTurn = <T>(organization: { id: string; parentId: string | null }, ask: () => Promise<T>) => Promise<T>;

/** For planning a transaction. */
export const planInTurn = turns();
/** For listing what contracts hold. */
export const listInTurn = turns();

function turns(): InTurn {
  const places = new Places(MAX_PLANNED_AT_ONCE);
  const waiting = new Map<string, number>();
  return async (organization, ask) => {
    const key = organization.parentId ?? organization.id;
    const count = waiting.get(key) ?? 0;
    if (count >= MAX_WAITING_PLANS) {
      failForNow(
        "RATE_LIMITED",
        { reason: "too many requests of this organization are waiting for a chain's nodes" },
        RETRY_SECONDS,
      );
    }
    waiting.set(key, count + 1);
    const leave = await places.enter(key);
    try {
      return await ask();
    } finally {
      leave();
      const left = (waiting.get(key) ?? 1) - 1;
      if (left > 0) waiting.set(key, left);
      else waiting.delete(key);
    }
  };
}
