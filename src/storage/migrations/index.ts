import type { Kysely } from "kysely";
import type { Engine } from "../engine.ts";
import { up as foundation } from "./0001-foundation.ts";
import { up as jobsAndWebhooks } from "./0002-jobs-and-webhooks.ts";
import { up as policies } from "./0003-policies.ts";
import { up as interfacesAndInvitations } from "./0004-interfaces-and-invitations.ts";

/** Append-only: a released migration is never edited. The name is what the database remembers. */
export const migrations: Record<string, { up: (db: Kysely<unknown>, engine: Engine) => Promise<void> }> = {
  "0001-foundation": { up: foundation },
  "0002-jobs-and-webhooks": { up: jobsAndWebhooks },
  "0003-policies": { up: policies },
  "0004-interfaces-and-invitations": { up: interfacesAndInvitations },
};
