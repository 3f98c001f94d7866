import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pruneEmailEvents } from "../../src/capabilities/messages/prune.ts";
import { SEND_MAIL, SEND_SMS } from "../../src/capabilities/messages/store.ts";
import { pruneOtps } from "../../src/capabilities/otp/prune.ts";
import { pruneSwapQuotes } from "../../src/capabilities/swaps/prune-quotes.ts";
import { pruneImportKeys } from "../../src/engine/keys/import-keys.ts";
import { DAY_MS, HOUR_MS } from "../../src/kernel/durations.ts";
import {
  IMPORT_KEY_LIFETIME_MS,
  MAX_OTP_SECONDS,
  OTP_WINDOW_MS,
  USED_TOKENS_KEPT_MS,
} from "../../src/kernel/limits.ts";
import { openDatabase } from "../../src/storage/database.ts";
import type { Schema } from "../../src/storage/schema.ts";
import { engines, freshDatabaseUrl } from "../support/server.ts";
import { temporaryFolder } from "../support/server-process.ts";

const NOW = 1_800_000_000_000;
const RETENTION_MS = 30 * DAY_MS;
/** More than one portion, so that there is a second one. */
const OLD = 620;

type Pruned =
  | "email_events"
  | "mails"
  | "jobs"
  | "otps"
  | "otp_failures"
  | "used_tokens"
  | "swap_quotes"
  | "import_keys";

const organization_id = "organization";
const organization = {
  id: organization_id,
  name: "prunes",
  parent_id: null,
  quorum_threshold: 1,
  sealed_key: Buffer.alloc(0),
  deleted_at: null,
  created_at: NOW,
  updated_at: NOW,
};
const mail = { organization_id, to_address: "ann@example.com", message_id: null };
const event = {
  organization_id,
  lookup: "l",
  message_id: "m",
  event_type: "BOUNCE",
  from_address: "us@example.com",
  to_address: "ann@example.com",
  sender_tenant: null,
  details: "{}",
  occurred_at: NOW,
};
const deadJob = {
  lane: "lane",
  payload: "{}",
  sealed_secret: null,
  organization_id: null,
  key: null,
  run_at: NOW,
  attempts: 1,
  last_error: null,
  updated_at: NOW,
};
const otp = {
  organization_id,
  root_id: organization_id,
  type: "OTP_TYPE_EMAIL",
  contact: "ann@example.com",
  user_id: null,
  user_identifier: null,
  mac: "00",
  sealed_target_key: null,
  tries: 0,
  used_at: null,
  created_at: NOW,
};
const user = { id: "user", organization_id, name: "Ann", version: 0, created_at: NOW, updated_at: NOW };
const importKey = {
  organization_id,
  user_id: user.id,
  purpose: "key",
  sealed_key: Buffer.alloc(0),
  target_public_key: "04",
};
const quote = { organization_id, terms: "{}", provider: "p", offer: "{}", created_at: NOW, updated_at: NOW };

const oldMs = NOW - RETENTION_MS;
const rowsOf = (what: string, count: number, row: object) =>
  Array.from({ length: count }, (_, number) => ({ id: `${what}-${String(number).padStart(4, "0")}`, ...row }));
/** Those that go, and by their names those that stay: the first of them lies on the bound. */
const old = (row: object) => rowsOf("old", OLD, row);
const stays = (name: string, row: object) => ({ id: `stays-${name}`, ...row });

const rows: Readonly<Record<Pruned, object[]>> = {
  mails: [...old({ ...mail, created_at: oldMs - 1 }), stays("bound", { ...mail, created_at: oldMs })],
  email_events: [
    ...old({ ...event, created_at: oldMs - 1 }),
    stays("bound", { ...event, source: "bound", created_at: oldMs }),
  ].map((row) => ({ source: (row as { id: string }).id, ...row })),
  jobs: [
    ...rowsOf("old", OLD, { ...deadJob, kind: SEND_MAIL, state: "dead", created_at: oldMs - 1 }),
    ...rowsOf("old-sms", 3, { ...deadJob, kind: SEND_SMS, state: "dead", created_at: oldMs - 1 }),
    stays("bound", { ...deadJob, kind: SEND_MAIL, state: "dead", created_at: oldMs }),
    stays("waiting", { ...deadJob, kind: SEND_MAIL, state: "waiting", created_at: oldMs - 1 }),
    stays("other-kind", { ...deadJob, kind: "perform_activity", state: "dead", created_at: oldMs - 1 }),
  ],
  otps: [
    ...old({ ...otp, expires_at: NOW - 2 * MAX_OTP_SECONDS * 1000 - 1 }),
    stays("bound", { ...otp, expires_at: NOW - 2 * MAX_OTP_SECONDS * 1000 }),
  ],
  otp_failures: [
    ...old({ root_id: organization_id, contact: "c", created_at: NOW - OTP_WINDOW_MS - 1 }),
    stays("bound", { root_id: organization_id, contact: "c", created_at: NOW - OTP_WINDOW_MS }),
  ],
  used_tokens: [
    ...old({ organization_id, usage: "LOGIN", expires_at: NOW - USED_TOKENS_KEPT_MS - 1 }),
    // The same token, used for something else as well.
    { id: "old-0000", organization_id, usage: "SIGNUP", expires_at: NOW - USED_TOKENS_KEPT_MS - 1 },
    stays("bound", { organization_id, usage: "LOGIN", expires_at: NOW - USED_TOKENS_KEPT_MS }),
  ],
  swap_quotes: [
    ...old({ ...quote, expires_at: NOW - HOUR_MS - 1 }),
    stays("bound", { ...quote, expires_at: NOW - HOUR_MS }),
  ],
  import_keys: [
    ...old({ ...importKey, created_at: NOW - IMPORT_KEY_LIFETIME_MS }),
    stays("bound", { ...importKey, created_at: NOW - IMPORT_KEY_LIFETIME_MS + 1 }),
  ],
};

const pruners = [
  ["messages", pruneEmailEvents, ["mails", "email_events", "jobs"]],
  ["one-time codes", pruneOtps, ["otps", "otp_failures", "used_tokens"]],
  ["swap quotes", pruneSwapQuotes, ["swap_quotes"]],
  ["import keys", pruneImportKeys, ["import_keys"]],
] as const;

for (const engine of engines) {
  describe(`what is old is deleted (${engine})`, () => {
    for (const [what, pruner, tables] of pruners) {
      it(`of ${what}, and nothing else`, async (test) => {
        const database = openDatabase({ url: await freshDatabaseUrl(engine, temporaryFolder()) });
        test.after(() => database.close());
        await database.migrate();
        await database.transact(undefined, async (tx) => {
          await tx.insertInto("organizations").values(organization).execute();
          await tx.insertInto("users").values(user).execute();
        });
        for (const table of tables) {
          for (let start = 0; start < rows[table].length; start += 100) {
            const some = rows[table].slice(start, start + 100) as unknown as Schema["mails"][];
            await database.transact(undefined, (tx) =>
              tx
                .insertInto(table as "mails")
                .values(some)
                .execute(),
            );
          }
        }
        const retention = { mailEventsMs: RETENTION_MS };
        await pruner.run({ database, clock: () => NOW, retention } as never);
        for (const table of tables) {
          const left = await database.read
            .selectFrom(table as "mails")
            .select("id")
            .orderBy("id")
            .execute();
          const kept = (rows[table] as { id: string }[]).map(({ id }) => id).filter((id) => id.startsWith("stays-"));
          assert.deepEqual(left.map(({ id }) => id).sort(), kept.sort(), table);
        }
      });
    }
  });
}
