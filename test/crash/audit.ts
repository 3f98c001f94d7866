import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import secp256k1 from "secp256k1";
import { activityOfRow } from "../../src/engine/activities/rows.ts";
import type { Database } from "../../src/storage/database.ts";
import type { Json } from "../support/client.ts";
import type { Sent, Subjects } from "./load.ts";

/** Holds a database against the book of the load: everything in it is whole, and everything acknowledged is in it. */

export type Stored = Awaited<ReturnType<typeof readStore>>;

export async function readStore({ read }: Database) {
  return {
    activities: await read.selectFrom("activities").selectAll().orderBy("id").execute(),
    votes: await read.selectFrom("votes").selectAll().execute(),
    users: await read.selectFrom("users").selectAll().execute(),
    tags: await read.selectFrom("tags").selectAll().execute(),
    userTagMembers: await read.selectFrom("user_tag_members").selectAll().execute(),
    privateKeyTagMembers: await read.selectFrom("private_key_tag_members").selectAll().execute(),
    privateKeys: await read.selectFrom("private_keys").selectAll().execute(),
    addresses: await read.selectFrom("private_key_addresses").selectAll().execute(),
  };
}

/** What was there before the load. */
export interface Stage {
  subjects: Subjects;
  /** Of the key that the load signs with. */
  publicKey: Buffer;
  before: Stored;
}

export function checkWhole(stored: Stored, stage: Stage, history: readonly Sent[]): void {
  const effects = new Effects(stored, stage);
  const sentByBody = new Map(history.map((one) => [one.body, one]));
  const activityByBody = new Map<string, Stored["activities"][number]>();
  for (const activity of without(stored.activities, stage.before.activities)) {
    const [vote, ...more] = effects.votesOf(activity.id);
    assert.ok(vote && more.length === 0, "an activity has the one vote of its submitter");
    assert.equal(vote.selection, "VOTE_SELECTION_APPROVED");
    const { body } = activity;
    assert.ok(body !== null && vote.message === "", "the body is stored once");
    assert.equal(activity.fingerprint, `sha256:${createHash("sha256").update(body).digest("hex")}`);
    const sent = sentByBody.get(body);
    assert.ok(sent, "an activity is of a body that was sent");
    assert.deepEqual(Object.values(activityOfRow(activity).intent), [sent.parameters]);
    assert.equal(activity.status, "ACTIVITY_STATUS_COMPLETED");
    effects.claim(sent, Object.values(JSON.parse(activity.result as string))[0]);
    activityByBody.set(sent.body, activity);
  }
  effects.checkNothingIsLeft();
  for (const { body, acknowledged } of history) {
    if (!acknowledged) continue;
    const activity = activityByBody.get(body);
    assert.equal(activity?.id, acknowledged.id, "an acknowledged activity is there");
    assert.deepEqual(JSON.parse(activity?.result as string), acknowledged.result);
  }
  checkRenames(stored, stage.subjects, history, activityByBody);
}

const without = <T extends { id: string }>(rows: readonly T[], known: readonly T[]): T[] => {
  const ids = new Set(known.map(({ id }) => id));
  return rows.filter(({ id }) => !ids.has(id));
};

/** The rows that activities have made, each to be claimed by exactly one. */
class Effects {
  readonly #stored: Stored;
  readonly #publicKey: Buffer;
  readonly #votes: Map<string, Stored["votes"]>;
  readonly #privateKeys: Map<string, Stored["privateKeys"][number]>;
  readonly #tags: Map<string, Stored["tags"][number]>;

  constructor(stored: Stored, { before, publicKey }: Stage) {
    this.#stored = stored;
    this.#publicKey = publicKey;
    this.#votes = Map.groupBy(stored.votes, ({ activity_id }) => activity_id);
    this.#privateKeys = new Map(without(stored.privateKeys, before.privateKeys).map((key) => [key.id, key]));
    this.#tags = new Map(stored.tags.map((tag) => [tag.id, tag]));
  }

  votesOf = (activityId: string): Stored["votes"] => this.#votes.get(activityId) ?? [];

  claim({ path, parameters }: Sent, result: Json): void {
    if (path === "create_private_keys") this.#claimPrivateKeys(parameters, result);
    if (path === "create_user_tag") this.#claimTag(result.userTagId, parameters.userTagName, parameters.userIds);
    if (path === "create_private_key_tag") {
      this.#claimTag(result.privateKeyTagId, parameters.privateKeyTagName, parameters.privateKeyIds);
    }
    if (path === "sign_raw_payload") this.#checkSignature(parameters.payload, result);
  }

  checkNothingIsLeft(): void {
    assert.deepEqual([...this.#privateKeys.keys()], [], "every private key belongs to an activity");
    assert.deepEqual([...this.#tags.keys()], [], "every tag belongs to an activity");
  }

  #claimPrivateKeys({ privateKeys }: Json, result: Json): void {
    assert.equal(result.privateKeys.length, privateKeys.length);
    for (const [index, { privateKeyId, addresses }] of result.privateKeys.entries()) {
      const row = this.#privateKeys.get(privateKeyId);
      assert.equal(row?.name, privateKeys[index].privateKeyName, "a private key of an activity is there, and once");
      const stored = this.#stored.addresses.filter(({ private_key_id }) => private_key_id === privateKeyId);
      assert.deepEqual(stored.map(({ address }) => address).sort(), addresses.map((one: Json) => one.address).sort());
      this.#privateKeys.delete(privateKeyId);
    }
  }

  #claimTag(id: string, name: string, memberIds: string[]): void {
    assert.equal(this.#tags.get(id)?.name, name, "a tag of an activity is there, and once");
    const members = [...this.#stored.userTagMembers, ...this.#stored.privateKeyTagMembers];
    const stored = members.filter(({ tag_id }) => tag_id === id).map(({ member_id }) => member_id);
    assert.deepEqual(stored.sort(), [...memberIds].sort());
    this.#tags.delete(id);
  }

  #checkSignature(payload: string, { r, s }: Json): void {
    const digest = createHash("sha256").update(payload).digest();
    assert.ok(secp256k1.ecdsaVerify(Buffer.from(r + s, "hex"), digest, this.#publicKey));
  }
}

/** Each user is renamed by one sender, one rename after the other: the last that was stored shows. */
function checkRenames(
  stored: Stored,
  { userIds }: Subjects,
  history: readonly Sent[],
  activityByBody: ReadonlyMap<string, unknown>,
): void {
  for (const userId of userIds) {
    const renames = history.filter(
      ({ path, parameters }) => path === "update_user_name" && parameters.userId === userId,
    );
    const last = renames.findLast(({ body }) => activityByBody.has(body));
    if (!last) continue;
    assert.equal(stored.users.find(({ id }) => id === userId)?.name, last.parameters.userName);
  }
}
