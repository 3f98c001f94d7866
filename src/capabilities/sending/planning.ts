import { failForNow } from "../../kernel/errors.ts";
import { MAX_PLANNED_AT_ONCE, MAX_WAITING_PLANS } from "../../kernel/limits.ts";
import { Places } from "../../kernel/places.ts";

/**
 * Asking nodes on a request: what a transaction takes, before anybody has decided on it, or what contracts hold. So many requests of one
 * organization do so at a time that they leave room for others; a few more wait. Who only looks takes no place from who sends.
 */

const RETRY_SECONDS = 1;

/**
 * @param organization its parent's other sub-organizations count with it
 * @throws KeysteadError RATE_LIMITED where too many wait already, and whatever `ask` throws
 */
type InTurn = <T>(organization: { id: string; parentId: string | null }, ask: () => Promise<T>) => Promise<T>;

/** What a transaction takes. */
export const planInTurn = turns();
/** What contracts hold, for who lists it. */
export const listInTurn = turns();

function turns(): InTurn {
  const places = new Places(MAX_PLANNED_AT_ONCE);
  const waiting = new Map<string, number>();
  return async (organization, ask) => {
    const key = organization.parentId ?? organization.id;
    const count = waiting.get(key) ?? 0;
    if (count >= MAX_WAITING_PLANS) {
      failForNow("RATE_LIMITED", { reason: "too many of this organization wait for a chain's nodes" }, RETRY_SECONDS);
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
