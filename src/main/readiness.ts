import type { Services } from "../engine/services.ts";
import type { Readiness } from "../http/pages.ts";
import type { Database } from "../storage/database.ts";
import type { Health } from "../storage/health.ts";
import { inTime } from "./in-time.ts";
import type { Opened } from "./open.ts";

/** The answer of `/readyz`: the state of each part and, for those that are not ready, the reason and the remedy. */
export function createReadiness({ database, signer }: Pick<Opened, "database" | "signer">): () => Promise<Readiness> {
  const lookForOrganization = organizationLookup(database);
  return async () => {
    const [health, found] = await Promise.all([database.health(), lookForOrganization()]);
    const parts = {
      database: databasePart(health),
      signer: signerPart(signer),
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

/** Adds that the server is not ready once it must stop or drain, so that a load balancer uses other servers in time. */
export function untilTold(
  readiness: () => Promise<Readiness>,
  told: () => "stop" | "drain" | undefined,
): () => Promise<Readiness> {
  return async () => {
    const known = await readiness();
    const what = told();
    if (what === undefined) return known;
    const server = `it was told to ${what}, but still answers requests`;
    return { ...known, status: "not ready", reasons: { ...known.reasons, server } };
  };
}

/** Adds the state of a maintenance, during which the server stays ready because reads work. */
export const withMaintenance =
  (readiness: () => Promise<Readiness>, shown: () => string | undefined) => async (): Promise<Readiness> => {
    const maintenance = shown();
    return { ...(await readiness()), ...(maintenance === undefined ? {} : { maintenance }) };
  };

interface Part<State> {
  state: State;
  reason?: string;
}

function databasePart(health: Health): Part<Readiness["database"]> {
  if (health.state === "ready") return health;
  return { state: health.state, reason: `the database ${health.reason}; ${consequenceOf(health)}` };
}

function consequenceOf({ state, isPartial }: Exclude<Health, { state: "ready" }>): string {
  if (state === "unwritable") return "reads work, but changes get 503";
  return isPartial ? "requests that need the damaged part get 503" : "every request that needs it gets 503";
}

function signerPart({ state, problem }: Pick<Opened["signer"], "state" | "problem">): Part<Readiness["signer"]> {
  switch (state) {
    case "ready":
      return { state };
    case "sealed":
      return {
        state,
        reason:
          "the root key needs a passphrase: restart the server with KEYSTEAD_ROOT_KEY_PASSPHRASE; until then, nothing can be signed",
      };
    default:
      return {
        state: "failed",
        reason: `the signer process is down and is being restarted; nothing can be signed${problem === undefined ? "" : `: ${problem}`}`,
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
        reason:
          "there is no organization yet; a start with the passphrase of the root key creates one, and so does `keystead init`",
      };
    case "unknown":
      return { state, reason: "it could not be read from the database whether there is an organization" };
  }
}

/** Stops querying once there is one, because root organizations are never deleted. */
function organizationLookup({ read }: Database): () => Promise<Readiness["organization"]> {
  let found = false;
  const look = inTime(async () => {
    const rows = await read.selectFrom("organizations").select("id").limit(1).execute();
    found = rows.length > 0;
    return found ? "ready" : "missing";
  });
  return async () => (found ? "ready" : ((await look()) ?? "unknown"));
}

/** Adds the state of the chains' nodes, which does not affect the status. */
export const withChains =
  (readiness: () => Promise<Readiness>, nodes: { health(): NonNullable<Readiness["chains"]> }) =>
  async (): Promise<Readiness> => {
    const chains = nodes.health();
    return { ...(await readiness()), ...(Object.keys(chains).length > 0 ? { chains } : {}) };
  };

/** Adds a warning if the swap provider's last answer was not usable. Does not call the provider for this. */
export const withSwaps = (readiness: () => Promise<Readiness>, swaps: Services["swaps"]) =>
  withWarning(readiness, "swaps", () => {
    const problem = swaps?.problem();
    return problem === undefined ? undefined : `${swaps?.provider} is not available: ${problem}`;
  });

/** Adds a warning if the last mail could not be sent and not because of the mail. Names no host: anybody may read it. */
export const withMail = (readiness: () => Promise<Readiness>, mailer: Services["mailer"]) =>
  withWarning(readiness, "mail", () =>
    mailer.problem() === undefined
      ? undefined
      : "the last mail could not be sent, and is retried until it expires; the log and `keystead doctor` say why",
  );

/** Adds a warning if the last scheduled backup failed. */
export const withBackups = (
  readiness: () => Promise<Readiness>,
  backups: { problem(): string | undefined } | undefined,
) => withWarning(readiness, "backup", () => backups?.problem());

const withWarning =
  (readiness: () => Promise<Readiness>, part: string, problem: () => string | undefined) =>
  async (): Promise<Readiness> => {
    const known = await readiness();
    const text = problem();
    return text === undefined ? known : { ...known, warnings: { ...known.warnings, [part]: text } };
  };
