import { setTimeout } from "node:timers/promises";
import type { Readiness } from "../http/pages.ts";
import { HEALTH_DEADLINE_MS } from "../kernel/limits.ts";
import type { Database } from "../storage/database.ts";
import type { Health } from "../storage/health.ts";
import type { Opened } from "./open.ts";

/** What `/readyz` answers: each part, and of those that are not ready why, and what to do. */
export function createReadiness({ database, signer }: Pick<Opened, "database" | "signer">): () => Promise<Readiness> {
  const lookForOrganization = organizationLookup(database);
  return async () => {
    const [health, found] = await Promise.all([database.health(), lookForOrganization()]);
    const parts = {
      database: databasePart(health),
      signer: signerPart(signer.state),
      organization: organizationPart(found),
    };
    const reasons = Object.entries(parts).flatMap(([part, { reason }]) =>
      reason === undefined ? [] : [[part, reason]],
    );
    return {
      status: reasons.length === 0 ? "ready" : "not ready",
      database: parts.database.state,
      signer: parts.signer.state,
      organization: parts.organization.state,
      ...(reasons.length === 0 ? {} : { reasons: Object.fromEntries(reasons) }),
    };
  };
}

interface Part<State> {
  state: State;
  reason?: string;
}

function databasePart(health: Health): Part<Readiness["database"]> {
  if (health.state === "ready") return health;
  const consequence =
    health.state === "unwritable"
      ? "reads work, and whatever changes something answers 503"
      : "every request that needs it answers 503";
  return { state: health.state, reason: `the database ${health.reason}; ${consequence}` };
}

function signerPart(state: Opened["signer"]["state"]): Part<Readiness["signer"]> {
  switch (state) {
    case "ready":
      return { state };
    case "sealed":
      return {
        state,
        reason:
          "the root key needs a passphrase: restart the server with KEYSTEAD_ROOT_KEY_PASSPHRASE; nothing is signed",
      };
    default:
      return {
        state: "failed",
        reason: "the signer process is down and is started again; the log says why it ended; nothing is signed",
      };
  }
}

function organizationPart(state: Readiness["organization"]): Part<Readiness["organization"]> {
  switch (state) {
    case "ready":
      return { state };
    case "missing":
      return {
        state,
        reason: "there is no organization yet: a start with an open root key makes one, and so does keystead init",
      };
    case "unknown":
      return { state, reason: "the database does not tell whether there is an organization" };
  }
}

/** In time, one look for all who ask together, and none once there is one: root organizations never go. */
function organizationLookup({ read }: Database): () => Promise<Readiness["organization"]> {
  let found = false;
  let looking: Promise<Readiness["organization"]> | undefined;
  const look = async () => {
    const rows = await read.selectFrom("organizations").select("id").limit(1).execute();
    found = rows.length > 0;
    return found ? "ready" : "missing";
  };
  return async () => {
    if (found) return "ready";
    looking ??= Promise.race([
      look().catch(() => "unknown" as const),
      setTimeout(HEALTH_DEADLINE_MS, "unknown" as const, { ref: false }),
    ]).finally(() => {
      looking = undefined;
    });
    return looking;
  };
}

/** The same with what is known of the nodes of chains, which changes nothing of the status. */
export const withChains =
  (readiness: () => Promise<Readiness>, evm: { health(): NonNullable<Readiness["chains"]> }) =>
  async (): Promise<Readiness> => {
    const chains = evm.health();
    return { ...(await readiness()), ...(Object.keys(chains).length > 0 ? { chains } : {}) };
  };
