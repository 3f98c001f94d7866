import type { Kysely } from "kysely";
import type { Engine } from "../engine.ts";
import * as foundation from "./0001-foundation.ts";
import * as jobsAndWebhooks from "./0002-jobs-and-webhooks.ts";

/** Append-only: a released migration is never edited. The name is what the database remembers. */
export const migrations: Record<string, { up: (db: Kysely<unknown>, engine: Engine) => Promise<void> }> = {
  "0001-foundation": foundation,
  "0002-jobs-and-webhooks": jobsAndWebhooks,
};
